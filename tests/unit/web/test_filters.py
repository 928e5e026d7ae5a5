from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import UsageError
from sgi.store.row_filters import RowQuery
from sgi.web.filters import page_number, parameters, row_query

NUMBERS = st.none() | st.floats(-10, 10)
QUERIES = st.builds(
    RowQuery,
    text=st.text(max_size=20),
    metric=st.just("sgi"),
    status=st.sampled_from([None, "ok", "failed"]),
    low=st.none() | st.floats(-10, 0),
    high=st.none() | st.floats(0, 10),
    label=st.sampled_from([None, True, False]),
    plane=st.none() | st.just((0.1, 0.5, 0.25, 1.5)),
    group=st.none() | st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=5)),
    sort=st.sampled_from(["position", "lowest", "highest"]),
)


@given(QUERIES)
def test_a_query_is_read_from_what_it_is_written_as(query):
    assert row_query({name: str(value) for name, value in parameters(query).items()}) == query


def test_nothing_said_asks_for_all_rows():
    assert row_query({}) == RowQuery()
    assert (
        row_query(dict.fromkeys(["q", "metric", "low", "label", "sort", "page", "rc_low", "by"], ""))
        == RowQuery()
    )
    assert parameters(RowQuery()) == {}


def test_an_open_end_of_the_plane_lies_beyond_all_angles():
    low_c, high_c, low_q, high_q = row_query({"rc_low": "0.5"}).plane
    assert (low_c, low_q) == (0.5, 0)
    assert min(high_c, high_q) > math.pi


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("low", "x"),
        ("high", "nan"),
        ("rq_high", "inf"),
        ("page", "-1"),
        ("page", "1.5"),
        ("page", "9" * 30),
        ("page", "٣"),
        ("label", "2"),
        ("sort", "sideways"),
        ("status", "fine"),
    ],
)
def test_what_makes_no_sense_is_named(name, text):
    with pytest.raises(UsageError, match=name):
        row_query({name: text, "metric": "sgi"})


def test_what_is_fixed_stands_instead():
    assert row_query({"page": "3"}, size=1, page=7) == RowQuery(size=1, page=7)


def test_a_page_is_the_first_or_later():
    assert [page_number({"page": text}) for text in ("", "0", "3")] == [1, 1, 3]


@given(
    st.dictionaries(
        st.sampled_from(["q", "low", "page", "label", "by", "rc_low", "sort"]), st.text(max_size=8)
    )
)
def test_any_text_is_read_or_refused(values):
    with suppress(UsageError):
        assert isinstance(row_query(values), RowQuery)
