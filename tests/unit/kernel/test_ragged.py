import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample_parts import Ragged


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), max_size=8))
def test_rows_come_back_as_they_went_in(rows):
    ragged = Ragged.from_rows(rows)
    assert list(ragged) == [tuple(row) for row in rows]
    assert len(ragged) == len(rows)
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert ragged.owners.tolist() == [at for at, row in enumerate(rows) for _ in row]
    assert [ragged.values[at] for at in range(len(ragged.values))] == [value for row in rows for value in row]
    assert ragged.offsets.dtype == np.int64


def test_rows_may_be_generators():
    assert list(Ragged.from_rows((n for n in range(k)) for k in (2, 0, 1))) == [(0, 1), (), (0,)]


def test_numpy_numbers_index_too():
    ragged = Ragged.from_rows([("a",), ("b", "c")])
    assert ragged[np.int64(1)] == ("b", "c")


@pytest.mark.parametrize("row", [2, 3, 100])
def test_beyond_the_end_there_is_nothing(row):
    with pytest.raises(IndexError):
        Ragged.from_rows([("a",), ("b",)])[row]


def test_the_last_row_by_minus_one():
    assert Ragged.from_rows([("a",), ("b",)])[-1] == ("b",)
