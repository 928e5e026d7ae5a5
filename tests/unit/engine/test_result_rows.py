from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from sgi.engine.export import flat_row, nested_row, output_rows
from sgi.kernel.metric import Scores
from sgi.kernel.sample import Batch, Sample

BATCH = Batch.of(
    [
        Sample(id="a", question="q", response="r", label=False, metadata={"k": 1}),
        Sample(id="b", response="s"),
    ]
)
SCORES = {
    "m": Scores.of(
        np.array([0.5, 0.0]), undefined={"why": np.array([False, True])}, details=[{"part": [1, None]}, {}]
    )
}


def test_nested_rows_leave_out_what_is_absent():
    first, second = nested_row(BATCH, SCORES)
    assert first == {
        "id": "a",
        "label": False,
        "metadata": {"k": 1},
        "scores": {"m": {"value": 0.5, "status": "ok", "details": {"part": [1, None]}}},
    }
    assert second == {"id": "b", "scores": {"m": {"value": None, "status": "undefined", "reason": "why"}}}


def test_nested_rows_hold_the_inputs_when_asked():
    first, second = nested_row(BATCH, SCORES, inputs=True)
    assert (first["question"], second["response"]) == ("q", "s")
    assert "contexts" not in first


def test_flat_rows_have_the_same_columns():
    first, second = flat_row(BATCH, SCORES)
    assert list(first) == list(second) == ["id", "label", "metadata", "m", "m_status", "m_reason"]
    assert (first["m"], second["m"], second["m_reason"]) == (0.5, None, "why")


def test_flat_rows_hold_the_class_of_a_metric_that_has_classes():
    name = 'calibrated(metric="m", calibration="3f2a")'
    details = [{"score": 0.4, "threshold": 0.5, "verdict": "flagged"}, {}]
    gaps = {"why": np.array([False, True])}
    made = Scores.of(np.array([0.5, 0.0]), undefined=gaps, details=details)
    first, second = flat_row(BATCH, {name: made, "m": SCORES["m"]})
    assert list(first) == list(second)
    assert list(first)[3:] == [
        *(name + part for part in ("", "_status", "_reason", "_verdict")),
        *("m" + part for part in ("", "_status", "_reason")),
    ]
    assert (first[f"{name}_verdict"], second[f"{name}_verdict"]) == ("flagged", None)


@pytest.mark.parametrize(
    ("name", "nested"), [("o.jsonl", True), ("O.JSONL", True), ("o.csv", False), ("o.parquet", False)]
)
def test_the_file_decides_the_shape(name, nested):
    row = next(iter(output_rows(BATCH, SCORES, Path(name), inputs=False)))
    assert ("scores" in row) is nested


@pytest.mark.parametrize("shape", [nested_row, flat_row])
def test_every_row_is_json(shape):
    for row in shape(BATCH, SCORES, inputs=True):
        assert orjson.loads(orjson.dumps(row)) == row
