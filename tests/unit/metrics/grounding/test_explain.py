"""The grounding detector does not score citation markers; positions are those of the response."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.explain import unsupported_spans
from support.grounded import evidence_maps_of, grounding_scores, is_consistent, row

TOWER = "The old tower in Paris is 330 m tall. It was built from 1887 to 1889."


def marked(response, *passages):
    """The stretches of all sentences that no passage backs."""
    reading = ResponseAnalysis.of(response, passages)
    spans = [span for sentence in reading.sentences for span in unsupported_spans(reading, sentence)]
    return [response[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("response", "stretches"),
    [
        ("The old tower is tall.", []),
        ("The old tower was sold to rich owners.", ["sold to rich owners"]),
        ("Rich owners bought it. The old tower is tall.", ["Rich owners bought"]),
        ("The old tower is 312 m tall.", ["312 m"]),
        ("Passage 1 mentions green glowing bees.", ["green glowing bees"]),
    ],
)
def test_what_is_marked(response, stretches):
    assert marked(response, TOWER) == stretches


def test_a_fact_that_fails_within_a_stretch_is_marked_once():
    assert marked("The old tower was sold to Spanish investors in 2031.", TOWER)[0].startswith(
        "sold to Spanish"
    )
    (evidence,) = evidence_maps_of(
        grounding_scores([row("It was sold to Spanish investors for $9 million in 2031.", TOWER)])
    )
    spans = evidence.sentences[0].unbacked
    assert all(first[1] < second[0] for first, second in pairwise(spans))


def test_places_are_those_of_the_response_as_it_was_written():
    sample = row(
        "The\u00a0old  tower\u200b is 312\u202fm tall \u201cin Paris\u201d.\n\n  It opened\tin 1925.", TOWER
    )
    (evidence,) = evidence_maps_of(grounding_scores([sample]))
    assert is_consistent(evidence, sample)
    assert evidence.sentences[0].checks[0].fact == "312\u202fm"
    assert evidence.sentences[0].checks[0].found == "330 m"


def test_a_sentence_rests_on_the_passage_that_backs_it_and_not_on_the_nearest():
    (evidence,) = evidence_maps_of(
        grounding_scores([row("The old tower is 330 m tall.", "Bees sleep.", "Hives.", TOWER)])
    )
    assert (evidence.sentences[0].passage, evidence.unused) == (2, (0, 1))
    assert evidence.sentences[0].beside == "The old tower in Paris is 330 m tall."


PASSAGES = ("The old tower in Paris is 330 m tall.", "Rich owners sold it in 1889.")


FIRST, SECOND = "The old tower in Paris is 312 m tall", "Spanish owners bought it in 1889"


PLAIN = f"{FIRST}. {SECOND}."


MARKERS = [
    *("[1]", "[[1]]", "([1])", "[1][2]", "[1], [2]", "[1, 2]", "[1-2]", "[^1]", "【1】", "［1］", "[99]"),
    *("【1†source】", "(Source 1)", "[Doc 1]", "(see Document 7)", "[wiki-1]"),
    *("[Data: Reports (2, 7, 64, +more)]", "**(Data: Source 312)**"),
]


def texts_with(marker):
    return [
        f"{FIRST} {marker}. {SECOND} {marker}.",
        f"{FIRST}{marker}. {SECOND}{marker}.",
        f"{FIRST}. {marker} {SECOND}. {marker}",
        f"{marker} {FIRST}.\n{marker} {SECOND}.",
        f"{FIRST.replace('tower', f'tower {marker}')}. {SECOND}.",
        f"{FIRST}.\n{marker}\n{SECOND}.",
        f"{FIRST} {marker}. {SECOND}.\n\n### References\n- [1] guide.md\n- [2] Tolvik 1888.pdf",
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


def test_a_sentence_of_the_map_has_no_list_of_references():
    response = f"{PLAIN} [2]\n\nReferences:\n[2] guide.md"
    (evidence,) = evidence_maps_of(grounding_scores([sample(response)]))
    assert [each.text for each in evidence.sentences] == [f"{FIRST}.", f"{SECOND}. [2]"]


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
