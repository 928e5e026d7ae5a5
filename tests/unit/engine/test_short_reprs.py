"""What a person sees who types the name of a result: never a screenful of rows."""

from __future__ import annotations

import numpy as np
import pytest

import sgi
from sgi.analysis.agreement.agree import agree
from sgi.analysis.compare import compare
from sgi.analysis.gate.gate import gate
from sgi.analysis.groups import group_by
from sgi.kernel.short_text import MAX_REPR, short
from sgi.kernel.vectors import VectorTable
from sgi_lab.card import detector_card

ROWS = [
    {
        "id": f"row-{k}",
        "question": f"What is in volume {k}?",
        "contexts": [f"Volume {k} holds letters from {1700 + k}. " * 20],
        "response": f"Volume {k} holds letters. " * 40,
        "reference": f"Letters from {1700 + k}.",
        "label": k % 2,
        "metadata": {"shelf": "upper" if k % 3 else "lower"},
    }
    for k in range(500)
]


@pytest.fixture(scope="module")
def result():
    return sgi.evaluate(ROWS, ["content_f1", "rouge_l", "bleu"])


def test_every_object_of_a_result_of_500_rows_has_a_short_repr(result):
    groups = group_by(result, [row["metadata"]["shelf"] for row in ROWS])
    vectors = VectorTable.of("demo", [row["question"] for row in ROWS], np.ones((500, 8), dtype=np.float32))
    shown = [
        result,
        result.summary,  # a bound method holds the result
        result.summary(),
        result.summary().metrics[0],
        result.samples[0],
        sgi.types.Batch(result.samples),
        sgi.types.Batch(result.samples).contexts,
        result["rouge_l"],
        result.metrics["rouge_l"],
        groups[0],
        compare(result, result),
        gate(result, "rouge_l>=0.1"),
        detector_card("rouge_l", result["rouge_l"].values, [row["label"] for row in ROWS]),
        agree(result, "label", [row["label"] for row in ROWS]),
        vectors,
    ]
    sizes = {type(found).__name__: len(repr(found)) for found in shown}
    assert {name: size for name, size in sizes.items() if size > 2 * MAX_REPR} == {}


def test_a_repr_names_what_there_is(result):
    text = repr(result)
    assert text.startswith("Run(record=RunRecord(id='', name='result', ")
    assert "ids=('row-0', 'row-1', 'row-2', … 500 items)" in text
    assert "values=<float64 array (500,)>" in repr(result["rouge_l"])
    assert "Letters" not in repr(result["rouge_l"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (list(range(9)), "[0, 1, 2, … 9 items]"),
        ({"a": [1] * 5, "b": "x"}, "{'a': [1, 1, 1, … 5 items], 'b': 'x'}"),
        ("it's " * 100, '"' + ("it's " * 12)[:59] + '…"'),
        (np.float64(0.5), "np.float64(0.5)"),
        (sgi.types.Status.OK, "<Status.OK: 'ok'>"),
    ],
)
def test_values_in_few_characters(value, expected):
    assert short(value) == expected
