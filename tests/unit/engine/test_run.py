from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import sgi
from sgi.engine.run import Run
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from support.scored_runs import column

ROWS = [
    {"id": "a", "question": "Where?", "response": "In Paris.", "reference": "In Paris."},
    {"id": "b", "question": "Where?", "response": "In Rome.", "reference": "In Paris."},
    {"id": "c", "question": "Who?", "response": "Austen.", "reference": ""},
]


def test_a_result_knows_which_columns_it_was_made_of():
    given = [{"input": "q", "context": "ideal", "retrieval_context": ["found"], "answer": "r", "n": 1}]
    result = sgi.evaluate(given, ["theta_rc"])
    assert result.samples[0].contexts == ("found",)
    assert result.columns.fields["contexts"] == ("retrieval_context",)
    assert result.columns.line().endswith(
        "Not used: context (contexts ← retrieval_context). In the metadata: n."
    )


def test_a_result_as_columns():
    result = sgi.evaluate(ROWS, ["squad_em", "rouge_l(beta=1.2)"])
    made = result.named("today")
    assert (made.name, made.ids, made.signature) == ("today", ("a", "b", "c"), result.signature)
    assert made.clusters.tolist() == [0, 0, 1]
    assert list(made.metrics) == ["squad_em", "rouge_l(beta=1.2)"]
    for name, found in made.metrics.items():
        np.testing.assert_array_equal(found.values, result[name].values)
        assert found.counts()[Status.UNDEFINED] == 1
        assert (found.low, found.high, found.higher_is_better, found.metric) == (0.0, 1.0, True, name)


def test_scores_of_a_run_have_mean_interval_and_coverage(tmp_path):
    """In memory and from the store; without any value there is no mean, never 0."""
    data = tmp_path / "rows.jsonl"
    rows = [{**row, "question": f"{row['id']}?"} for row in ROWS]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stored = sgi.run(data, ["squad_em", "rouge_l"], db=tmp_path / "sgi.db")
    for made in (sgi.evaluate(rows, ["squad_em", "rouge_l"]), sgi.open_run(db=tmp_path / "sgi.db"), stored):
        scores, summary = made["squad_em"], made.summary().metrics[0]
        low, high = scores.interval
        assert (scores.mean, low, high) == (0.5, summary.interval.low, summary.interval.high)
        assert (scores.coverage, scores.summary) == (2 / 3, summary)
        assert made["rouge_l"].mean == made.summary().metrics[1].mean
        part = made.take(np.array([1]))["squad_em"]
        assert (part.mean, part.coverage) == (0.0, 1.0)
    empty = made.take(np.array([2]))["squad_em"]
    assert (empty.mean, empty.interval, empty.coverage) == (None, None, 0.0)
    assert (empty.status.tolist(), bool(empty.reasons[0])) == (["undefined"], True)


def test_tables_of_a_run_have_the_texts_of_its_rows(tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for made in (sgi.evaluate(ROWS, ["squad_em"]), sgi.run(data, ["squad_em"], db=tmp_path / "sgi.db")):
        frame = made.to_pandas()
        columns = ["id", "label", "metadata", "question", "contexts", "response", "reference"]
        assert [*frame] == [*columns, "squad_em", "squad_em_status", "squad_em_reason"]
        assert frame["response"].tolist() == made.to_polars()["response"].to_list()
        assert frame["response"].tolist() == [row["response"] for row in ROWS]
        assert "response" not in made.to_pandas(inputs=False)


def test_some_rows_of_a_run_are_a_run():
    result = sgi.evaluate(ROWS, ["squad_em"])
    part = result.take(np.array([2, 0]))
    assert (part.ids, part.record.rows, part.finished) == (("c", "a"), 2, True)
    assert part["squad_em"].reasons == (result["squad_em"].reasons[2], "")
    assert part.to_dicts() == [result.to_dicts()[row] for row in (2, 0)]
    assert part.take(np.array([1])).samples == result.samples[:1]
    assert part.summary().rows == 2


def test_runs_can_be_pickled(tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for made in (sgi.evaluate(ROWS, ["squad_em"]), sgi.run(data, ["squad_em"], db=tmp_path / "sgi.db")):
        twin = pickle.loads(pickle.dumps(made))
        assert (twin.to_dicts(), str(twin)) == (made.to_dicts(), str(made))


def test_batches_have_the_scores_of_the_run():
    result = sgi.evaluate([{**ROWS[k % 3], "id": str(k)} for k in range(600)], ["squad_em"])
    parts = [*result.batches(["squad_em"])]
    assert [len(batch) for batch, _ in parts] == [256, 256, 88]
    assert Scores.join([scores["squad_em"] for _, scores in parts]).reasons == result["squad_em"].reasons


def test_a_run_of_columns_has_scores_without_reasons():
    made = Run.of("by hand", "ab", [column("squad_em", [1.0, np.nan])])
    assert made["squad_em"].reasons == ("", "not recorded")
    assert (made.summary().metrics[0].mean, made.samples) == (1.0, ())
    with pytest.raises(KeyError):
        made["bleu"]


def test_columns_know_their_version_and_the_rows_that_could_not_be_read(tmp_path):
    data = tmp_path / "rows.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    data.write_text("\n".join([*lines, '{"id": "d", "response": 3}']), encoding="utf-8")
    made = sgi.evaluate(data, ["squad_em"], on_error="skip")
    assert (made.record.rows, made.record.rejected, made.finished) == (3, 1, True)
    assert made.metrics["squad_em"].version == metric("squad_em").spec.version > 0
    assert sgi.evaluate(ROWS, ["squad_em"]).rejected == ()
