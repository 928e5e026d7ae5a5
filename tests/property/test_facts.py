from hypothesis import example, given, settings
from hypothesis import strategies as st

from sgi.metrics.grounding.check_facts import Verdict, check_facts, facts_of
from sgi.metrics.grounding.facts import FactKind
from sgi.metrics.grounding.names_in_text import tells_names
from sgi.text.tokenizers import sentences

FACTS = """The bridge |of Millard Fillmore |opened in 1937| and cost |$5 million|10-15 minutes| 3 of 4
|July 4, 1776|07/04/1776|19th century|two hundred|-5 °C|½|1 1/2 cups|50%|NASA|U.S. |Dr. |1. |
2) |(Passage 1:4) |[1, 2]|COVID-19|555-1234|, |. |; |! | to | between |５ kg|٣٫٥|一二三|2,981,232 men|half a
|million| in |"The Raven" |5' 10"|İ|ß|\ud800|\x00|e\u0301|\u2028|²|①|Ⅷ|९|/|-|–|'s |%|$|°| and a half | hours
|Ǆ|1e5|9999999999999999999999999999999999999999"""
PIECES = st.sampled_from(FACTS.split("|"))
LONG_DIGITS = st.lists(
    st.text("0123456789", min_size=1, max_size=26)
    | st.sampled_from([".", ",", " ", "/", "about ", " to ", "over ", " kg ", " g ", " years ", " million "]),
    max_size=9,
).map("".join)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join)


@given(TEXTS | LONG_DIGITS, st.lists(TEXTS | LONG_DIGITS, max_size=3), TEXTS)
@example("1/0 0/0 00/00 " + "9" * 5000, ["$" * 50], "")
@example("hundred " * 300, ["million " * 300], "")
@example("9" * 5000 + "/3", ["9" * 5000 + "/3 of it"], "")
@example(
    "It weighs about 1.00000000000000000001 to 9999999999999999999999 kg.",
    ["It weighs about 1.00000000000000000001 to 9999999999999999999998 kg."],
    "",
)
@example(
    "About 99999999999999999999999 years 1.00001 seconds.",
    ["About 99999999999999999999998 years 1.00001 seconds."],
    "",
)
@settings(max_examples=200, deadline=None)
def test_any_text_has_checks_and_each_fact_is_where_it_says(sentence, passages, question):
    checks = check_facts(sentence, passages, question)

    own = facts_of(sentence)
    assert all(check.fact in own or check.fact.kind is FactKind.POLARITY for check in checks)
    for check in checks:
        assert sentence[check.fact.start : check.fact.end] == check.fact.text != ""
        if check.start is not None:
            assert passages[check.passage][check.start : check.end] != ""
        if check.verdict is Verdict.CONTRADICTED:
            assert passages[check.passage][check.start : check.end] == check.found
        if check.verdict is Verdict.ABSENT:
            assert (check.passage, check.found, check.how) == (None, "", "")


@given(TEXTS, st.lists(TEXTS, max_size=2))
@settings(max_examples=200, deadline=None)
def test_a_sentence_of_a_passage_is_supported_whole(passage, others):
    for sentence in sentences(passage):
        checks = check_facts(sentence, [*others, passage])

        flags = [check for check in checks if check.verdict is not Verdict.SUPPORTED]
        assert {check.fact.kind for check in flags} <= {FactKind.POLARITY}, (sentence, checks)


@given(TEXTS, st.lists(TEXTS, max_size=2), TEXTS)
@settings(max_examples=150, deadline=None)
def test_a_further_passage_takes_no_support_away(sentence, passages, further):
    fewer = check_facts(sentence, passages)
    for more in ([*passages, further], [further, *passages]):
        supported = {
            check.fact for check in check_facts(sentence, more) if check.verdict is Verdict.SUPPORTED
        }
        assert {check.fact for check in fewer if check.verdict is Verdict.SUPPORTED} <= supported


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_text_without_capitals_has_no_names(text):
    assert not tells_names(text.lower()) or any(sign.isupper() for sign in text.lower())
