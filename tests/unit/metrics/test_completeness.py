"""Completeness: which statements of a reference an answer states."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sgi
from sgi.kernel.metric import Score, Status
from sgi.metrics.completeness import NO_STATEMENTS, Completeness
from sgi.metrics.references import BLANK
from sgi.types import Batch, Features, Sample

BORN = "When was she born?"
CURIE = "When and where was Marie Curie born?"
OPEN = "Is the museum open on Mondays?"
FESTIVAL = "The festival takes place every summer in the old harbour of Lisbon, with concerts and a market."
FEE = "A $25 fee is charged after a late payment.\nThe account is suspended after 60 days."
COVERED = "grounding covers English, German, French, Spanish, Italian, Portuguese, Dutch"
SENTENCES = (
    "The tower is 330 m tall.",
    "Gustave Eiffel's company built it from 1887 to 1889.",
    "It was not painted red in 1968.",
    "Tickets cost 11 euros for children.",
    "The lifts are closed in January.",
)


def score(response: str, reference: Any, question: str = "") -> Score:
    row = Sample(id="1", question=question, response=response, reference=reference)
    return Completeness().score(Batch.of([row]), Features()).row(0)


def missing(scored: Score) -> list[str]:
    return [each["text"] for each in scored.details["statements"] if not each["stated"]]


@pytest.mark.parametrize(
    ("question", "response", "reference"),
    [
        (BORN, "1867", "She was born in 1867."),
        (BORN, "born 1867 in Warsaw", "She was born in 1867"),
        (CURIE, "1867, Warsaw", "Marie Curie was born in Warsaw in 1867."),
        ("", "The tower is 330 metres high.", "The height of the tower is 330 m."),
        ("", "It stands in Paris [2].", "The tower stands in Paris."),
        (
            "How long?",
            "You have 30 days after the purchase to return it.",
            "Returns within 30 days of purchase.",
        ),
        ("Wann wurde sie geboren?", "Marie Curie kam 1867 in Warschau zur Welt.", "Sie wurde 1867 geboren."),
        (OPEN, "Yes", "The museum is open on Mondays."),
        (OPEN, "No, it is closed.", "No"),
        (OPEN, "The museum is open on Mondays.", "Yes"),
        ("What happens in Porto?", FESTIVAL, FESTIVAL.replace("Lisbon", "Porto")),
    ],
)
def test_an_answer_in_other_words_states_the_reference(question: str, response: str, reference: str) -> None:
    assert score(response, reference, question).value == 1


@pytest.mark.parametrize(
    ("question", "response", "reference"),
    [
        (BORN, "1868", "She was born in 1867."),
        ("", "The tower is 312 m tall.", "The tower is 330 m tall."),
        ("", "The museum is not open on Mondays.", "The museum is open on Mondays."),
        ("What happens in summer?", FESTIVAL, FESTIVAL.replace("Lisbon", "Porto")),
        (OPEN, "Yes", "No"),
        (OPEN, "Yes, it is.", "No, it is closed on Mondays."),
        (CURIE, "I like cheese.", "Marie Curie was born."),
        (CURIE, "In 1867.", "Marie Curie was born in Warsaw in 1867."),
        ("", "The price rises by a lot this year [5].", "The tower has 5 floors."),
        (CURIE, "I don't know.", "In Warsaw in 1867."),
        ("", "The context does not say whether the tower is 330 m tall.", "The tower is 330 m tall."),
        ("", " ", "The tower is 330 m tall."),
    ],
)
def test_another_value_and_words_of_the_question_alone_do_not(
    question: str, response: str, reference: str
) -> None:
    assert score(response, reference, question).value == 0


def test_the_details_name_the_missing_statement_and_the_nearest_part() -> None:
    scored = score("You pay. A fee of 25 dollars is charged.", FEE, "What happens after a late payment?")
    assert scored.value == 0.5
    assert missing(scored) == ["The account is suspended after 60 days."]
    assert scored.details["statements"][0]["beside"] == "A fee of 25 dollars is charged."


def test_yes_is_shown_beside_the_statement_that_it_is_about() -> None:
    scored = score("Yes", "The museum is open. It has 5 rooms.", "Is it open?")
    assert [each["beside"] for each in scored.details["statements"]] == ["Yes", ""]


def test_a_statement_is_found_in_a_long_answer() -> None:
    filler = [f"Room {number} shows a painting of the {number}th painter." for number in range(20, 420)]
    scored = score(" ".join([*filler[:300], *SENTENCES[:4], *filler[300:]]), " ".join(SENTENCES))
    assert missing(scored) == [SENTENCES[4]]


def test_items_of_a_list_are_statements_and_its_lead_in_is_none() -> None:
    scored = score("A passport and a photo.", "You need:\n- a passport\n- a photo\n- a completed form")
    assert scored.value == pytest.approx(2 / 3)
    assert missing(scored) == ["- a completed form"]


def test_the_best_reference_counts() -> None:
    scored = score("In 1889.", ["", "The documents do not say.", "In 1889. In spring.", "1889"])
    assert scored.value == 1
    assert [each["text"] for each in scored.details["statements"]] == ["1889"]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (" ", BLANK),
        ("The documents do not say.", NO_STATEMENTS),
        (
            "Der Turm ist 330 m hoch und steht in Paris an der Seine.",
            "the response is in English, the reference in German; grounding needs one language",
        ),
        (
            "Башня высотой триста тридцать метров стоит в Париже.",
            f"the reference is in Russian; {COVERED}",
        ),
    ],
)
def test_a_reference_that_cannot_be_checked_is_undefined(reference: str, reason: str) -> None:
    scored = score("The tower is 330 m tall, and it stands in the city of Paris.", reference)
    assert (scored.status, scored.reason) == (Status.UNDEFINED, reason)


def test_a_row_without_reference_or_response_is_missing() -> None:
    rows = [{"response": "1889"}, {"reference": "1889"}]
    assert [*sgi.evaluate(rows, "completeness")["completeness"].status] == [Status.MISSING] * 2


FACTS = "must_have"
STATED = "The tower is 330 m tall and stands in Paris [Data: Reports (2)].\n\n### References\n- [1] lift.md"


@pytest.mark.parametrize(
    ("cell", "stated"),
    [
        (["It is 330 m tall.", "The tower stands in Paris. Its lift opened in 1889."], [True, False]),
        (
            [{"statement": "The response should state that the tower is in Paris."}, "lift"],
            [True, False],
        ),
        ("Paris\nRome", [True, False]),
        ('["Paris", "It is 312 m tall."]', [True, False]),
        (["Paris", "By law, an answer must be given in 1889."], [True, False]),
    ],
)
def test_each_fact_of_a_column_is_stated_or_not(cell: Any, stated: list[bool]) -> None:
    row = Sample(id="1", response=STATED, metadata={FACTS: cell})
    scored = Completeness(facts=FACTS).score(Batch.of([row]), Features()).row(0)
    assert [each["stated"] for each in scored.details["statements"]] == stated
    assert scored.value == 0.5


def test_a_row_without_facts_has_a_reason_that_names_the_column() -> None:
    forbidden = "The response should not state that it is old."
    cells: list[Any] = [None, [], 7, ["x", 7], ["Paris", forbidden], [" "], ["Paris", "I do not know."]]
    rows = [{"response": STATED, FACTS: cell} for cell in cells]
    rows += [
        {"response": STATED, "absent": {FACTS: "no assertion for the question"}},
        {"question": BORN, FACTS: ["x"]},
    ]
    scores = sgi.evaluate(rows, Completeness(facts=FACTS))[f'completeness(facts="{FACTS}")']
    assert list(zip(scores.status.tolist(), scores.reasons, strict=True)) == [
        *[("missing", f"the sample has no {FACTS}")] * 2,
        *[("missing", f"the column {FACTS} is not a list of texts")] * 2,
        ("missing", f"the column {FACTS} has what a response must not state"),
        ("missing", f"the facts in the column {FACTS} are blank"),
        ("undefined", NO_STATEMENTS.replace("the reference", "fact 2")),
        ("missing", f"the sample has no {FACTS} (no assertion for the question)"),
        ("missing", "the sample has no response"),
    ]


@settings(max_examples=40, deadline=None)
@given(
    reference=st.permutations(SENTENCES),
    copied=st.lists(st.sampled_from(SENTENCES), max_size=5),
    more=st.sampled_from(SENTENCES),
)
def test_a_copied_statement_is_stated_and_never_lowers_the_share(
    reference: list[str], copied: list[str], more: str
) -> None:
    text = " ".join(reference)
    before, after = (score(" ".join(answer), text) for answer in (copied, [*copied, more]))
    assert before.value == pytest.approx(len({*copied}) / len(SENTENCES))
    assert before.value is not None
    assert after.value is not None
    assert after.value >= before.value
