import pytest

import sgi
from sgi.reporting.tables import refusal_tables
from sgi.reporting.views.headline import refusal_views

REFUSES, ANSWERS = "I don't know.", "In Rome."
ROWS = [
    {"id": str(number), "question": f"Question {number}?", "response": response, "answerable": answerable}
    for number, (response, answerable) in enumerate(
        [(REFUSES, True), *[(ANSWERS, True)] * 3, *[(REFUSES, False)] * 4, (ANSWERS, False)]
    )
]


@pytest.mark.parametrize("second", ["correct_refusal", "answered_unanswerable"])
def test_the_table_counts_refusals_and_answers_by_answerability(second):
    (view,) = refusal_views(sgi.evaluate(ROWS, ["needless_refusal", second]).summary().metrics)
    cells = [(part.refused, part.answered, part.share) for part in (view.answerable, view.unanswerable)]
    assert cells == [(1, 3, 0.25), (4, 1, pytest.approx(0.8))]
    part = view.unanswerable
    assert part.interval.low < 0.8 < part.interval.high
    assert part.answered_interval.low == pytest.approx(1 - part.interval.high)


def test_without_both_kinds_of_questions_there_is_no_table():
    assert refusal_tables(sgi.evaluate(ROWS, ["needless_refusal", "refusal"]).summary().metrics) == []


def test_questions_of_a_kind_may_be_absent():
    summary = sgi.evaluate(ROWS[:4], ["needless_refusal", "correct_refusal"]).summary()
    (table,) = refusal_tables(summary.metrics)
    assert table.rows[0][1:3] == ("1", "25.00 %")
    assert table.rows[1] == ("not answerable", "0", "–", "–", "0", "–", "–")
