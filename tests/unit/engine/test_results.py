from __future__ import annotations

import json

import numpy as np

import sgi
from sgi.analysis.compare import compare
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric

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
    made = result.scored("today")
    assert (made.name, made.rows, made.ids, made.signature) == ("today", 3, ("a", "b", "c"), result.signature)
    assert made.clusters.tolist() == [0, 0, 1]
    assert list(made.metrics) == ["squad_em", "rouge_l(beta=1.2)"]
    for name, column in made.metrics.items():
        np.testing.assert_array_equal(column.values, result[name].values)
        assert column.counts()[Status.UNDEFINED] == 1
        assert (column.low, column.high, column.higher_is_better, column.metric) == (0.0, 1.0, True, name)


def test_a_result_can_be_compared():
    made = sgi.evaluate(ROWS, ["squad_em"]).scored()
    assert compare(made, made).metrics[0].difference.pairs == 2


def test_columns_know_their_version_and_the_rows_that_could_not_be_read(tmp_path):
    data = tmp_path / "rows.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    data.write_text("\n".join([*lines, '{"id": "d", "response": 3}']), encoding="utf-8")
    made = sgi.evaluate(data, ["squad_em"], on_error="skip").scored()
    assert (made.rows, made.rejected, made.finished) == (3, 1, True)
    assert made.metrics["squad_em"].version == metric("squad_em").spec.version > 0
    assert sgi.evaluate(ROWS, ["squad_em"]).scored().rejected == 0
