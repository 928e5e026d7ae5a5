import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.summary import MetricSummary
from sgi.kernel.metric import Status
from sgi.reporting.views.run_header import run_header, state_of, stop_reason
from sgi.reporting.views.to_json import as_json
from sgi.store.row_query import Cell
from sgi.store.scored_runs import Reason

numbers = st.floats() | st.integers() | st.booleans() | st.none() | st.text()
values = st.recursive(
    numbers, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner)
)


@given(values)
def test_whatever_comes_out_is_json(value):
    json.dumps(as_json(value), allow_nan=False)


def test_dataclasses_and_named_tuples_are_objects():
    assert as_json((Cell(0.5, "ok", ""), Reason("sgi", "failed", "no", 3))) == [
        {"value": 0.5, "status": "ok", "reason": ""},
        {"metric": "sgi", "status": "failed", "reason": "no", "rows": 3},
    ]


def test_what_follows_from_the_fields_is_there_too():
    counts = {Status.OK: 3, Status.FAILED: 1}
    as_dict = as_json(MetricSummary("sgi", 1.0, None, None, counts, None))
    assert as_dict["coverage"] == 0.75
    assert as_dict["counts"] == {"ok": 3, "failed": 1}


def test_enums_arrays_and_sets():
    assert as_json({Status.OK: np.array([1.5, math.nan])}) == {"ok": [1.5, None]}
    assert as_json(Status.FAILED) == "failed"
    assert type(as_json(Status.FAILED)) is str
    assert as_json(frozenset({"b", "a"})) == ["a", "b"]
    assert as_json(np.float64(math.inf)) is None


def test_what_is_no_view_is_refused():
    with pytest.raises(TypeError, match="object cannot be part of a view"):
        as_json([object()])
    with pytest.raises(TypeError, match="type cannot be part of a view"):
        as_json(Cell)


def test_the_header_says_what_the_run_is(kept):
    head = run_header(kept.record)
    assert (head["name"], head["state"], head["rows"], head["scored"]) == ("monday", "finished", 60, 60)
    assert head["metrics"] == kept.record.metrics
    assert set(head["means"]) == set(head["metrics"])
    assert all(mean is not None for mean in head["means"].values())
    assert set(head["shares"]) == {"semantic_similarity", "lexical_aggregate", "content_f1"}
    assert as_json([kept.record]) == [as_json(head)]


def test_an_unfinished_run_and_one_that_was_stopped(kept):
    going = dataclasses.replace(kept.record, finished_at=None, summary=None)
    assert state_of(going) == "unfinished"
    assert run_header(going)["means"]["sgi"] is None
    stopped = dataclasses.replace(going, stopped="no disk")
    assert (state_of(stopped), stop_reason(stopped)) == ("stopped", "no disk")
    assert stop_reason(dataclasses.replace(kept.record, stopped="old news")) == ""
