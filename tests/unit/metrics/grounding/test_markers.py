"""The grounding detector does not score citation markers; positions are those of the response."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from support.grounded import evidence_maps_of, grounding_scores, is_consistent

PASSAGES = ("The old tower in Paris is 330 m tall.", "Rich owners sold it in 1889.")
FIRST, SECOND = "The old tower in Paris is 312 m tall", "Spanish owners bought it in 1889"
PLAIN = f"{FIRST}. {SECOND}."
MARKERS = [
    *("[1]", "[[1]]", "([1])", "[1][2]", "[1], [2]", "[1, 2]", "[1-2]", "[^1]", "【1】", "［1］", "[99]"),
    *("【1†source】", "(Source 1)", "[Doc 1]", "(see Document 7)", "[wiki-1]"),
]


def texts_with(marker):
    return [
        f"{FIRST} {marker}. {SECOND} {marker}.",
        f"{FIRST}{marker}. {SECOND}{marker}.",
        f"{FIRST}. {marker} {SECOND}. {marker}",
        f"{marker} {FIRST}.\n{marker} {SECOND}.",
        f"{FIRST.replace('tower', f'tower {marker}')}. {SECOND}.",
        f"{FIRST}.\n{marker}\n{SECOND}.",
    ]


def sample(response):
    return Sample(id="1", contexts=PASSAGES, context_ids=("wiki-1", "wiki-2"), response=response)


def parts(evidence):
    """What a map says of the sentences, without positions and texts."""
    sentences = [
        sentence.model_dump(exclude={"text", "start", "end", "unbacked", "checks"})
        for sentence in evidence.sentences
    ]
    verdicts = [(check.kind, check.verdict, check.found) for s in evidence.sentences for check in s.checks]
    return evidence.signals, sentences, verdicts, evidence.unused


@pytest.mark.parametrize("marker", MARKERS)
def test_an_answer_has_the_same_score_with_and_without_markers(marker):
    rows = [sample(PLAIN), *map(sample, texts_with(marker))]
    scores = grounding_scores(rows)
    assert set(scores.values.tolist()) == {scores.values[0]}
    plain, *others = evidence_maps_of(scores)
    for each, evidence in zip(rows[1:], others, strict=True):
        assert is_consistent(evidence, each)
        assert parts(evidence) == parts(plain)
        assert evidence.sentences[0].checks[-1].fact == "312 m"


def test_superscripts_are_markers_too():
    scores = grounding_scores([sample(PLAIN), sample(f"{FIRST}.¹ {SECOND}.²˒³")])
    assert scores.values[0] == scores.values[1]


@pytest.mark.parametrize(
    ("response", "sentences"),
    [
        ("It is old [1]. It is red.", ["It is old [1].", "It is red."]),
        ("It is old. [1] It is red. [2]", ["It is old. [1]", "It is red. [2]"]),
        ("[1] It is old.\n[2] It is red.", ["[1] It is old.", "[2] It is red."]),
        ("It is old.\n[1]\nIt is red.", ["It is old.\n[1]", "It is red."]),
    ],
)
def test_a_sentence_of_the_map_has_the_markers_beside_it(response, sentences):
    (evidence,) = evidence_maps_of(grounding_scores([sample(response)]))
    assert [sentence.text for sentence in evidence.sentences] == sentences


def test_markers_alone_claim_nothing():
    scores = grounding_scores([sample("[1] (Source 2)")])
    assert scores.reasons == ("the response claims nothing that passages could support",)


@given(
    st.lists(
        st.tuples(st.sampled_from([FIRST, SECOND, "It is\u00a0red"]), st.sampled_from([*MARKERS, "", "²"])),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([" ", "\n", "\n\n"]),
    st.sampled_from(["{0} {1}.", "{0}. {1}", "{1} {0}."]),
)
def test_maps_of_responses_with_markers_are_consistent(pieces, between, form):
    each = sample(between.join(form.format(*piece) for piece in pieces))
    scores = grounding_scores([each])
    (evidence,) = evidence_maps_of(scores)
    assert is_consistent(evidence, each)
    spans = [(sentence.start, sentence.end) for sentence in evidence.sentences]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
