import polars as pl
import pytest

import sgi
import sgi.integrations.polars

ROWS = {
    "question": ["Who wrote Emma?", "Who wrote Emma?", "Who wrote Ulysses?"],
    "context": ["Jane Austen wrote Emma.", "Jane Austen wrote Emma.", None],
    "answer": ["Jane Austen.", " ", "James Joyce."],
}
STATUSES = ["ok", "undefined", "missing"]


@pytest.fixture
def frame():
    return pl.DataFrame(ROWS)


def test_scores_equal_those_of_evaluate_in_the_order_of_the_frame(frame):
    scores = frame.sgi.score("grounding")
    expected = sgi.evaluate(frame, ["grounding"])["grounding"]
    assert scores.schema == {"value": pl.Float64, "status": pl.String, "reason": pl.String}
    assert scores["value"].to_list() == [expected.values[0], None, None]
    assert scores["status"].to_list() == STATUSES
    assert scores["reason"].to_list() == [None, "the response is blank", "the sample has no contexts"]


def test_a_frame_without_rows_gives_typed_columns_without_rows(frame):
    scores = frame.clear().sgi.evaluate(["grounding"])
    assert scores.is_empty()
    assert scores.schema == frame.sgi.evaluate(["grounding"]).schema
    assert scores.sgi.summary().select("mean", "rows", "coverage").rows() == [(None, 0, None)]


def test_the_summary_of_a_part_has_the_coverage_of_the_part(frame):
    scored = frame.hstack(frame.sgi.evaluate(["grounding"]))
    summary = scored.filter(pl.col("context").is_not_null()).sgi.summary()
    assert summary.select("ok", "rows", "coverage", "undefined", "missing").rows() == [(1, 2, 0.5, 1, 0)]
    assert summary["mean"].to_list() == [scored["grounding"][0]]


def test_an_unreadable_row_fails_alone_if_asked():
    contexts = pl.Series("context", ["Emma is a novel.", 3], dtype=pl.Object)
    frame = pl.DataFrame([contexts, pl.Series("answer", ["A novel.", "3"])])
    scores = frame.sgi.score("grounding", on_error="skip")
    assert scores["status"].to_list() == ["ok", "failed"]
    assert scores["value"].null_count() == 1
    assert "found number 3" in scores["reason"][1]
