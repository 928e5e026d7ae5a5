from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sgi.store.row_query import RowPage, RowQuery
from sgi_web.row_table import RowParameters, row_columns

PARAMETERS = st.builds(
    RowParameters,
    q=st.text(max_size=20),
    metric=st.just("sgi"),
    status=st.sampled_from([None, "ok", "failed"]),
    low=st.none() | st.floats(-10, 0),
    high=st.none() | st.floats(0, 10),
    label=st.sampled_from([None, True, False]),
    rc_low=st.floats(0, 0.5),
    rq_high=st.floats(1, 4),
    by=st.none() | st.text(min_size=1, max_size=5),
    **{"is": st.text(max_size=5)},
    sort=st.sampled_from(["position", "lowest", "highest"]),
)


@given(PARAMETERS)
def test_parameters_in_an_address_are_read_back(parameters):
    address = {name: str(value) for name, value in parameters.filters().items()}
    assert RowParameters.model_validate(address) == parameters


def test_empty_parameters_select_all_rows():
    empty = dict.fromkeys(["q", "metric", "low", "label", "sort", "page", "rc_low", "by"], "")
    for values in ({}, empty):
        parameters = RowParameters.model_validate(values)
        assert (parameters.query(), parameters.filters()) == (RowQuery(), {})


def test_parameters_become_a_query():
    values = {
        "q": "Paris",
        "metric": "sgi",
        "low": "0.5",
        "label": "0",
        "is": "x",
        "by": "topic",
        "page": "2",
    }
    query = RowParameters.model_validate(values).query()
    assert query == RowQuery(text="Paris", metric="sgi", low=0.5, label=False, group=("topic", "x"), page=2)


def test_an_open_end_of_the_plane_lies_beyond_all_angles():
    low_c, high_c, low_q, high_q = RowParameters(rc_low=0.5).query().plane
    assert (low_c, low_q) == (0.5, 0)
    assert min(high_c, high_q) > math.pi


@pytest.mark.parametrize("name", ["status", "low", "high", "sort"])
def test_filters_of_values_need_a_metric(name):
    value = {"status": "ok", "sort": "lowest"}.get(name, "0")
    assert RowParameters.model_validate({name: value}).needs_metric
    assert not RowParameters.model_validate({name: value, "metric": "sgi"}).needs_metric
    assert not RowParameters(q="x", label=True).needs_metric


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("low", "x"),
        ("high", "nan"),
        ("rq_high", "inf"),
        ("page", "0"),
        ("page", "1.5"),
        ("page", "9" * 30),
        ("label", "2"),
        ("sort", "sideways"),
        ("status", "fine"),
    ],
)
def test_an_invalid_value_is_refused_with_the_name_of_its_parameter(name, text):
    with pytest.raises(ValidationError) as caught:
        RowParameters.model_validate({name: text, "metric": "sgi"})
    assert [error["loc"] for error in caught.value.errors()] == [(name,)]


def _columns(metrics, **query):
    return row_columns("r", RowPage(metrics, (), 0, 0, RowQuery(**query), 1), {"label": "1", "page": 3})


def test_a_header_shows_the_worst_values_first_and_then_the_best():
    fresh = _columns(("rouge_l",))["rouge_l"]
    assert (fresh.address, fresh.order) == ("/runs/r?label=1&metric=rouge_l&sort=lowest", "none")
    worst = _columns(("rouge_l",), metric="rouge_l", sort="lowest")["rouge_l"]
    assert (worst.address, worst.order) == ("/runs/r?label=1&metric=rouge_l&sort=highest", "ascending")
    best = _columns(("rouge_l",), metric="rouge_l", sort="highest")["rouge_l"]
    assert (best.address, best.order) == ("/runs/r?label=1&metric=rouge_l&sort=lowest", "descending")


def test_for_a_metric_where_low_is_good_the_highest_values_are_the_worst():
    column = _columns(("needless_refusal",))["needless_refusal"]
    assert column.address.endswith("sort=highest")
    assert [column.shade(value) for value in (0.0, 1.0)] == [1, 5]


@pytest.mark.parametrize("metric", ["sgi", "metric_of_a_plugin"])
def test_a_metric_without_a_finite_range_has_no_shade(metric):
    assert _columns((metric,))[metric].shade(0.5) == 0


def test_a_filter_of_one_metric_never_moves_to_another():
    columns = _columns(("rouge_l", "content_f1"), metric="rouge_l", low=0.5)
    assert columns["rouge_l"].address
    assert columns["content_f1"].address == ""
    assert columns["content_f1"].shade(0.0) == 5


def test_the_position_sorts_without_a_metric():
    column = _columns((), sort="position")[""]
    assert (column.address, column.order) == ("/runs/r?label=1&sort=position", "ascending")
