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


def test_a_lazy_frame_is_scored_when_it_is_collected(frame):
    lazy = frame.lazy()
    scores = lazy.sgi.score("grounding")
    assert isinstance(scores, pl.LazyFrame)
    assert scores.collect_schema() == frame.sgi.score("grounding").schema
    assert scores.collect().equals(frame.sgi.score("grounding"))
    joined = pl.concat([lazy, lazy.sgi.evaluate(["grounding", "sgi"])], how="horizontal")
    assert joined.collect().equals(frame.hstack(frame.sgi.evaluate(["grounding", "sgi"])))


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_filters_and_selections_after_the_scores_do_not_change_the_input(frame, engine):
    scores = frame.lazy().sgi.score("grounding")
    assert scores.filter(pl.col("status") == "missing").select("reason").collect(engine=engine).rows() == [
        ("the sample has no contexts",)
    ]
    assert scores.slice(1, 1).collect(engine=engine)["status"].to_list() == ["undefined"]


def test_a_lazy_frame_refuses_options_that_add_columns(frame):
    with pytest.raises(sgi.UsageError, match=r"collect"):
        frame.lazy().sgi.evaluate(["grounding"], calibration="grounding.json")


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
