import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.evaluate import evaluate
from sgi.kernel.sample import Sample
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.signals import Signals
from sgi.reporting.views.evidence_checks import IN_NO_PASSAGE, Quote
from sgi.reporting.views.evidence_view import (
    MAX_CHECKS,
    MAX_SENTENCES,
    MAX_UNUSED,
    SIGNAL_MEANINGS,
    score_maps,
)
from support.evidence_maps import (
    CONTEXTS,
    OPENED,
    SOLD,
    TALL,
    details,
    fact,
    hostile_details,
    number_fact,
    sentence,
    view_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def view(**parts):
    return view_of(details(**parts))


def marks(found):
    return [(part.text, part.verdict, part.reason) for part in found.stretches if part.verdict]


def test_what_is_unsupported_is_marked_with_why():
    tall, sold, opened = view().sentences
    assert (tall.text, sold.text, opened.text) == (TALL.strip(), SOLD.strip(), OPENED)
    assert marks(tall) == [("312 m", "contradicted", "passage 3 has 330 m (other value)")]
    assert marks(sold) == [("sold to Spanish investors", "absent", IN_NO_PASSAGE)]
    assert (marks(opened), opened.is_marked, opened.is_unsupported) == ([], False, False)
    assert tall.is_unsupported
    assert [each.verdict for each in (tall, sold, opened)] == ["contradicted", "unsupported", "supported"]
    assert view().summary == "Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported."


def test_the_contradicting_number_stands_among_its_neighbours_in_the_passage():
    (found,) = view().sentences[0].checks
    before = "…the river that the city has its name of. The tower is "
    after = " tall. It opened in 1889, which was a hundred years after…"
    assert found.quote == Quote(before, "330 m", after)
    assert view().sentences[2].checks[0].quote is None


def test_the_beginning_and_the_end_of_a_passage_are_not_cut():
    other = number_fact("312 m", "yellow", verdict="contradicted", passage=0, found_start=12, found_end=18)
    (found,) = view(sentences=(sentence(TALL, checks=(other,)),)).sentences[0].checks
    assert found.quote == Quote("Bananas are ", "yellow", ".")


@pytest.mark.parametrize(("start", "end"), [(None, None), (0, 6), (-7, -1), (10**30, 10**31), (18, 12)])
def test_a_passage_that_has_it_elsewhere_is_not_quoted(start, end):
    other = number_fact(
        "312 m", "yellow", verdict="contradicted", passage=0, found_start=start, found_end=end
    )
    (found,) = view(sentences=(sentence(TALL, checks=(other,)),)).sentences[0].checks
    assert found.quote is None


def test_what_supports_a_fact_is_told():
    facts = (
        number_fact("1889", "1889", verdict="supported", how="equal"),
        number_fact("1889", "", verdict="supported", passage=None, how="question"),
        number_fact("1889", "", verdict="supported", passage=None),
        number_fact("1889", "330 m", verdict="supported", how="converted"),
    )
    supported = [
        fact_view.reason
        for fact_view in view(sentences=(sentence(OPENED, checks=facts),)).sentences[0].checks
    ]
    assert supported == [
        "passage 3 (equal)",
        "the question has it",
        "the question has it",
        "passage 3 has 330 m (converted)",
    ]


def test_unused_passages_and_signals_worst_first_without_those_that_say_nothing():
    found = view()
    assert found.unused == ((1, "Bananas are yellow."),)
    assert found.signals == (("numbers", -2.08), ("known", 0.25))


def test_a_space_between_two_marks_is_none_and_a_check_outside_a_stretch_is_marked():
    other = {"verdict": "contradicted", "passage": 0}
    checks = fact("Spanish", found="Dutch", **other), fact("investors", found="owners", **other)
    both, first = view(
        sentences=(sentence(SOLD, unbacked=((33, 50),), checks=checks), sentence(SOLD, checks=checks[:1]))
    ).sentences
    assert [part.text for part in both.stretches] == ["It was sold to ", "Spanish", " ", "investors", "."]
    assert [part.verdict for part in both.stretches] == ["", "contradicted", "", "contradicted", ""]
    assert [part.text for part in first.stretches] == ["It was sold to ", "Spanish", " investors."]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("supported", None), "No sentence is unsupported."),
        (("unsupported", "supported"), "Sentence 1 of 2 is unsupported."),
        (("unsupported",) * 3, "Sentences 1, 2 and 3 of 3 are unsupported."),
        (
            ("partly", "supported", "contradicted", "partly"),
            "Sentence 3 of 4 is contradicted. Sentences 1 and 4 of 4 are partly supported.",
        ),
        ((), "No sentence is unsupported."),
    ],
)
def test_the_summary_has_the_sentences_of_each_verdict_worst_first(verdicts, expected):
    assert view(sentences=tuple(sentence(TALL, verdict=verdict) for verdict in verdicts)).summary == expected


@pytest.mark.parametrize(
    ("verdict", "words", "is_unsupported"),
    [
        ("supported", "supported", False),
        ("partly", "partly supported", False),
        ("unsupported", "unsupported", True),
        ("contradicted", "contradicted", True),
        (None, "claims nothing", False),
    ],
)
def test_the_verdict_of_a_sentence_is_not_read_from_its_score(verdict, words, is_unsupported):
    (found,) = view(sentences=(sentence(TALL, score=0.4, verdict=verdict),)).sentences
    assert (found.verdict, found.is_unsupported) == (words, is_unsupported)


def reasons(score=0.2, **parts):
    given = {"known": -1.0, "known_wide": -0.9, "copied": -0.8, "nearness": -0.001, "paired": 0.5}
    found = sentence(TALL, score=score, **{"contributions": given, **parts})
    return view(sentences=(found,)).sentences[0].reasons


def test_an_unsupported_sentence_without_a_mark_names_the_signals_that_lower_its_score_most():
    assert reasons() == (SIGNAL_MEANINGS["known"], SIGNAL_MEANINGS["copied"])
    assert reasons(verdict="partly") == reasons()
    assert reasons(contributions={"numbers": -0.2, "copied": -0.1, "paired": -0.3}) == (
        SIGNAL_MEANINGS["paired"],
        SIGNAL_MEANINGS["numbers"],
    )
    assert reasons(contributions={"known": -0.2, "known_narrow": -0.3}) == (SIGNAL_MEANINGS["known"],)


@pytest.mark.parametrize(
    "parts",
    [
        {"score": None},
        {"unbacked": ((6, 11),)},
        {"contributions": {"known": -0.004, "copied": 0.3}},
        {"contributions": {"a signal of later": -3.0}},
    ],
)
def test_no_reason_is_given_where_none_is_needed_or_known(parts):
    assert reasons(**parts) == ()


def test_there_are_words_for_every_signal():
    assert tuple(SIGNAL_MEANINGS) == Signals._fields
    assert all(words and words[0].islower() and not words.endswith(".") for words in SIGNAL_MEANINGS.values())


def test_of_many_sentences_the_first_are_shown_and_all_are_judged():
    n = MAX_SENTENCES + 25
    found = view(sentences=tuple(sentence(TALL, score=0.1 if k % 2 else 0.9) for k in range(n)))
    assert len(found.sentences) == MAX_SENTENCES
    assert found.left_out == f"Only the first {MAX_SENTENCES} of {n} sentences are shown."
    verdict = "Sentences 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 52 more of 125 are unsupported."
    assert found.summary == verdict


def test_of_many_unused_passages_the_first_are_listed():
    n = MAX_UNUSED + 3
    found = view_of(details(passages=tuple(range(n)), unused=tuple(range(n - 1))), ["a"] * n)
    assert (len(found.unused), found.more_unused) == (MAX_UNUSED, 2)


def test_of_many_facts_those_that_fail_are_shown_before_others():
    right = number_fact("1889", "1889", kind="date", verdict="supported", how="equal")
    checks = (*[right] * (MAX_CHECKS + 5), fact("Spanish"))
    (found,) = view(sentences=(sentence(TALL, checks=checks),)).sentences
    assert (len(found.checks), found.more_checks) == (MAX_CHECKS, 6)
    assert [one.verdict for one in found.checks[:2]] == ["absent", "supported"]
    (few,) = view(sentences=(sentence(TALL, checks=(right, fact("Spanish"))),)).sentences
    assert ([one.verdict for one in few.checks], few.more_checks) == (["supported", "absent"], 0)


def test_what_is_no_map_is_none():
    whole = details()
    for broken in (
        {},
        {"sentences": [{"text": "a", "sgi": 1.0}], "passages": [1.0]},
        {key: value for key, value in whole.items() if key != "unused"},
        whole | {"passages": "all"},
        whole | {"sentences": [*whole["sentences"], "… [9 more items omitted]"]},
        whole | {"sentences": [whole["sentences"][0] | {"unheard_of": 1}]},
    ):
        assert EvidenceMap.read(broken) is None
        assert score_maps({"grounding": broken}, CONTEXTS)["grounding"] == (None, broken)


def test_what_stands_beside_a_map_is_kept_apart():
    whole = details() | {"score": 0.2, "verdict": "flagged"}
    further = {"score": 0.2, "verdict": "flagged"}
    assert score_maps({"grounding": whole}, CONTEXTS)["grounding"] == (view(), further)


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_places_that_fit_no_text_are_clipped_and_no_text_is_lost(text, contexts):
    (found,) = view_of(hostile_details(text), contexts).sentences
    assert found.text == text.strip()


@given(st.dictionaries(st.sampled_from([*EvidenceMap.model_fields, "other"]), JSON))
def test_foreign_details_never_raise(body):
    maps = score_maps({"grounding": body}, ["a"])["grounding"]
    assert set(maps.further) <= {"other"} if maps.view else maps.further == body


def test_the_map_of_a_real_score():
    sample = Sample(id="1", question="How tall is it?", contexts=CONTEXTS, response=TALL + SOLD + OPENED)
    scores = evaluate([sample], "grounding")["grounding"]
    found = view_of(scores.details[0])
    tall, sold, opened = found.sentences
    assert marks(tall) == [("312 m", "contradicted", "passage 3 has 330 m (other value)")]
    assert tall.checks[0].quote.found == "330 m"
    assert marks(sold)[0][1:] == ("absent", IN_NO_PASSAGE)
    assert not opened.is_marked
    assert found.unused == ((1, "Bananas are yellow."),)
