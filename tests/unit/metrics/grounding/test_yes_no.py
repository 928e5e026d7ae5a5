from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.metrics.grounding.prepared_row import NO_CLAIMS, PreparedRow
from sgi.metrics.grounding.yes_no import yes_no_statement


@pytest.mark.parametrize(
    ("response", "question", "text"),
    [
        ("Yes", "Is Ada Byron a writer?", "Ada Byron is a writer"),
        (
            "yes.",
            "Did Ada Byron and Ben of Wales meet in Paris?",
            "Ada Byron and Ben of Wales did meet in Paris",
        ),
        ("Yeah, she is!", "is the writer English", "the writer is English"),
        ("No, they aren't.", "Are Rome and Oslo cities?", "It is not so that Rome and Oslo are cities"),
        ("True", "Wasn't the tower built in 1889?", "the tower was built in 1889"),
    ],
)
def test_yes_and_no_say_what_the_question_asks(response, question, text):
    statement = yes_no_statement(response, question)
    assert statement is not None
    assert statement.text == text
    assert statement.denied == response.startswith("No")


@pytest.mark.parametrize(
    ("response", "question"),
    [
        ("Yes", "Who wrote it?"),
        ("Yes", ""),
        ("Yes, in 1889", "Was it built in 1889?"),
        ("Yesterday", "Was it built?"),
        ("", "Was it built?"),
        ("No. 5", "Is it first?"),
    ],
)
def test_other_answers_and_questions_have_no_statement(response, question):
    assert yes_no_statement(response, question) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_can_be_read(response, question):
    yes_no_statement(response, question)
    statement = yes_no_statement("no", f"Is {question}?")
    assert statement is None or statement.text.startswith("It is not so that")


def test_the_row_is_read_with_its_statement_and_spans_are_those_of_the_response():
    sample = Sample(
        id="1", question="Is the tower 312 m tall?", response="Yes!", contexts=["It is 330 m tall."]
    )
    row = PreparedRow.of(sample)
    assert (row.response.text, row.question, row.reason) == ("the tower is 312 m tall", "", "")
    assert row.original_spans == ((0, 4),)


def test_without_a_fitting_question_yes_claims_nothing():
    sample = Sample(id="1", question="How tall is it?", response="Yes!", contexts=["It is 330 m tall."])
    assert PreparedRow.of(sample).reason == NO_CLAIMS
