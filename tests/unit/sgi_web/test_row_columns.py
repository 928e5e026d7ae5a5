"""The columns of the table of rows."""

from __future__ import annotations

import pytest

from sgi.store.row_query import RowPage, RowQuery
from sgi_web.row_table import row_columns


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
