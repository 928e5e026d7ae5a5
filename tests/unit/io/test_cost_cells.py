from decimal import Decimal

import numpy as np
import pytest

from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
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


def test_a_number_of_all_tokens_is_not_read_and_the_fields_are_named():
    uses = []
    sample = read({"response": "r", "Total Tokens": 320, "prompt_tokens": 300}, on_columns=uses.append)

    assert sample.metadata == {"Total Tokens": 320}
    assert (
        "Not used: Total Tokens (not split; SGI reads prompt_tokens and completion_tokens" in uses[-1].line()
    )
    uses.clear()
    read(
        {"response": "r", "total_tokens": 320, "input_tokens": 300, "output_tokens": 20},
        on_columns=uses.append,
    )
    assert "Not used" not in uses[-1].line()


def test_absent_costs_are_absent():
    assert costs({"latency_ms": None, "cost": float("nan"), "prompt_tokens": np.nan}) == {}


@pytest.mark.parametrize("values", [{"cost": -1.0}, {"latency_ms": float("nan")}, {"prompt_tokens": True}])
def test_a_sample_checks_its_costs(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        Sample(id="1", **values)


def test_another_response_has_no_costs():
    sample = Sample(id="1", response="r", cost=1.0, latency_ms=2.0, prompt_tokens=3, completion_tokens=4)

    assert sample.with_response("other") == Sample(id="1", response="other")
