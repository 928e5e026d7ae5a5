from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import sgi
import sgi.integrations.pandas

ROWS = {
    "question": ["Who wrote Emma?", "Who wrote Emma?", "Who wrote Ulysses?"],
    "context": ["Jane Austen wrote Emma.", "Jane Austen wrote Emma.", None],
    "answer": ["Jane Austen.", " ", "James Joyce."],
}
STATUSES = ["ok", "undefined", "missing"]


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, index=["b", "b", "a"])


def test_scores_equal_those_of_evaluate_and_have_the_index_of_the_frame(frame):
    scores = frame.sgi.score("grounding")
    expected = sgi.evaluate(frame, ["grounding"])["grounding"]
    assert scores.columns.tolist() == ["value", "status", "reason"]
    assert scores.index.equals(frame.index)
    assert scores["value"].iloc[0] == expected.values[0]
    assert scores["status"].tolist() == STATUSES
    assert scores["value"].isna().tolist() == [False, True, True]
    assert scores["reason"].iloc[2] == "the sample has no contexts"


def test_rows_keep_their_order_under_a_multi_index(frame):
    index = pd.MultiIndex.from_tuples([("x", 2), ("x", 1), ("w", 3)], names=["part", "number"])
    scores = frame.set_axis(index).sgi.score("grounding")
    assert scores.index.equals(index)
    assert scores["status"].tolist() == STATUSES


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_nullable_types_give_the_same_scores(frame, backend):
    converted = frame.convert_dtypes(dtype_backend=backend)
    pd.testing.assert_frame_equal(converted.sgi.score("grounding"), frame.sgi.score("grounding"))


def test_a_frame_without_rows_gives_typed_columns_without_rows(frame):
    scores = frame.iloc[:0].sgi.score("grounding")
    assert len(scores) == 0
    assert scores.dtypes.to_dict() == frame.sgi.score("grounding").dtypes.to_dict()
    summary = frame.iloc[:0].sgi.evaluate(["grounding"]).sgi.summary()
    assert summary.loc["grounding", "rows"] == 0
    assert summary[["mean", "coverage"]].isna().all(axis=None)


def test_a_frame_without_rows_needs_named_metrics(frame):
    with pytest.raises(sgi.errors.UsageError, match="Name the metrics"):
        frame.iloc[:0].sgi.evaluate()


def test_several_metrics_and_their_summary_with_coverage(frame):
    scores = frame.sgi.evaluate(["grounding", "sgi"])
    grounding = ["grounding", "grounding_status", "grounding_reason", "grounding_finding"]
    assert scores.columns.tolist() == [*grounding, "sgi", "sgi_status", "sgi_reason"]
    summary = pd.concat([frame, scores], axis=1).sgi.summary()
    means = [metric.mean for metric in sgi.evaluate(frame, ["grounding", "sgi"]).summary().metrics]
    assert summary["mean"].tolist() == means
    assert summary.loc["grounding", ["ok", "rows", "undefined", "missing", "failed"]].tolist() == [
        *(1, 3, 1, 1, 0),
    ]
    assert summary.loc["sgi", "coverage"] == 1 / 3


def test_the_summary_of_a_metric_without_a_value_has_no_mean(frame):
    scores = frame.iloc[1:2].sgi.evaluate(["grounding"])
    summary = scores.sgi.summary()
    assert summary["mean"].isna().all()
    assert summary.loc["grounding", "coverage"] == 0


def test_the_error_of_a_missing_column_names_the_columns(frame):
    with pytest.raises(sgi.errors.UsageError):
        frame.rename(columns={"answer": "text"}).sgi.score("grounding")
    renamed = frame.rename(columns={"answer": "text"})
    assert renamed.sgi.score("grounding", columns={"response": "text"})["status"].tolist() == STATUSES


def test_an_unreadable_row_fails_alone_if_asked(frame):
    frame["context"] = ["Jane Austen wrote Emma.", 3, None]
    with pytest.raises(sgi.errors.DataError, match="row 2: field 'contexts'"):
        frame.sgi.score("grounding")
    scores = frame.sgi.score("grounding", on_error="skip")
    assert scores["status"].tolist() == ["ok", "failed", "missing"]
    assert scores["value"].isna().tolist() == [False, True, True]
    assert "found number 3" in scores["reason"].iloc[1]


def test_score_takes_one_metric(frame):
    with pytest.raises(sgi.errors.UsageError):
        frame.sgi.score(["grounding", "sgi"])


def test_a_frame_with_two_responses_in_a_row_is_refused():
    frame = pd.DataFrame(
        {"question": ["q"], "knowledge": ["k"], "right_answer": ["a"], "hallucinated_answer": ["b"]}
    )
    with pytest.raises(sgi.errors.UsageError, match="two responses"):
        frame.sgi.score("grounding")


def test_a_frame_without_scores_has_no_summary(frame):
    with pytest.raises(sgi.errors.UsageError, match="no scores"):
        frame.sgi.summary()


def test_unicode_and_many_threads_give_the_same_scores():
    frame = pd.DataFrame({"response": ["Zoë 🦊 日本語"], "reference": ["zoë 🦊 日本語"]})
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda _: frame.sgi.score("squad_em"), range(8)))
    assert all(table["value"].tolist() == [1.0] for table in tables)
