from decimal import Decimal

import numpy as np
import pytest

from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample


def read(row, kind="object", **options):
    (sample,) = read_rows([RawRow(3, row, kind=kind)], file="a.jsonl", **options)
    return sample


def costs(row, **options):
    return read({"response": "r", **row}, **options).further_values()


def test_costs_of_an_answer_are_read():
    row = {"id": "q1", "response": "r", "duration_ms": 12, "input_tokens": 300, "output_tokens": 20.0}

    assert read(row | {"total_cost": Decimal("0.25")}) == Sample(
        id="q1", response="r", latency_ms=12.0, prompt_tokens=300, completion_tokens=20, cost=0.25
    )


def test_cells_of_a_table_hold_numbers_as_text():
    cells = {"response": "r", "latency_ms": " 12.5", "prompt_tokens": "300.0", "cost": "1e-3"}

    assert read(cells, "csv") == Sample(id="1", response="r", latency_ms=12.5, prompt_tokens=300, cost=0.001)


@pytest.mark.parametrize("name", ["latency_s", "Latency Seconds", "duration_s", "response_time_s"])
def test_seconds_become_milliseconds(name):
    assert costs({name: 1.25}) == {"latency_ms": 1250.0}


def test_seconds_are_converted_in_a_mapping_too():
    row = {"timing": {"latency_s": 2, "latency": 3}}

    assert costs(row, columns={"latency_ms": "timing.latency_s"}) == {"latency_ms": 2000.0}
    assert costs(row, columns={"latency_ms": "timing.latency"}) == {"latency_ms": 3.0}


def test_a_latency_without_a_unit_is_not_guessed():
    uses = []
    sample = read({"response": "r", "latency": 3}, on_columns=uses.append)

    assert sample.latency_ms is None
    assert sample.metadata == {"latency": 3}
    assert "latency (unit unknown; map latency_ms=latency if it holds milliseconds" in uses[-1].line()
    assert costs({"latency": 3}, columns={"latency_ms": "latency"}) == {"latency_ms": 3.0}


def test_absent_costs_are_absent():
    assert costs({"latency_ms": None, "cost": float("nan"), "prompt_tokens": np.nan}) == {}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("latency_ms", -1, "expected a number from 0, found number -1"),
        ("latency_ms", "fast", "expected a number from 0, found text 'fast'"),
        ("latency_ms", "nan", "expected a number from 0, found text 'nan'"),
        ("latency_ms", True, "expected a number from 0, found true"),
        ("latency_ms", float("inf"), "expected a number from 0, found number inf"),
        ("latency_ms", 10**400, "expected a number from 0, found number 1000"),
        ("latency_ms", [1], "expected a number from 0, found a list"),
        ("prompt_tokens", 1.5, "expected a whole number from 0, found number 1.5"),
        ("completion_tokens", 2**31, "expected a whole number from 0, found number 2147483648"),
        ("completion_tokens", False, "expected a whole number from 0, found false"),
        ("cost", "$5", "found text '$5'. If the column holds something else, drop the field with an empty"),
    ],
)
def test_bad_values_are_rejected_with_file_line_id_and_field(field, value, message):
    with pytest.raises(DataError) as caught:
        read({"id": "q7", "response": "r", field: value})
    assert str(caught.value).startswith(f"a.jsonl:3: id 'q7': field '{field}': ")
    assert message in str(caught.value)


@pytest.mark.parametrize("values", [{"cost": -1.0}, {"latency_ms": float("nan")}, {"prompt_tokens": True}])
def test_a_sample_checks_its_costs(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        Sample(id="1", **values)


def test_another_response_has_no_costs():
    sample = Sample(id="1", response="r", cost=1.0, latency_ms=2.0, prompt_tokens=3, completion_tokens=4)

    assert sample.with_response("other") == Sample(id="1", response="other")
