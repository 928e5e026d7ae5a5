import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.sample_parts import Ragged
from sgi.kernel.vectors import EntailmentTable, Features, VectorTable, unit_rows, usable_unit_rows


def test_rows_come_by_text_in_the_order_asked():
    table = VectorTable.of("m", ["a", "b", "c"], np.eye(3, dtype=np.float32))
    assert table.rows(["c", "a", "a"]).tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]
    assert table.rows([]).shape == (0, 3)
    assert table.rows(["a"]).dtype == np.float32


def test_a_text_that_is_not_there_is_a_key_error():
    with pytest.raises(KeyError, match="absent"):
        VectorTable.of("m", ["a"], np.ones((1, 1), np.float32)).rows(["a", "absent"])


def test_an_empty_table_has_no_rows():
    assert Features().vectors.rows([]).shape == (0, 0)
    assert VectorTable.of("m", [], np.zeros((0, 7), np.float32)).rows([]).shape == (0, 7)


@given(arrays(np.float32, (3, 4), elements=st.floats(-(2.0**50), 2.0**50, width=32)))
def test_every_direction_comes_to_unit_length_or_is_refused(rows):
    texts = ["a", "b", "c"]
    if not rows.any(axis=1).all():
        with pytest.raises(NonFiniteVectorError):
            unit_rows("m", texts, rows)
        return
    unit = unit_rows("m", texts, rows)
    np.testing.assert_allclose(np.linalg.norm(unit.astype(np.float64), axis=1), 1.0, atol=2e-4)
    assert unit.dtype == np.float32


def test_unit_rows_come_back_bit_for_bit():
    rows = np.random.default_rng(0).normal(size=(50, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert unit_rows("m", ["t"] * 50, rows).tobytes() == rows.tobytes()


def test_a_unit_row_has_the_same_bits_whatever_its_neighbour():
    rows = np.array([[0.60003, 0.8], [3.0, 4.0]], dtype=np.float32)
    alone = unit_rows("m", ["a"], rows[:1])
    assert unit_rows("m", ["a", "b"], rows)[:1].tobytes() == alone.tobytes()


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, -np.inf])
def test_rows_without_direction_are_refused_with_their_text(bad):
    rows = np.eye(3, dtype=np.float32)
    rows[1] *= np.float32(bad) if bad == 0.0 else 1
    rows[1, 2] = bad
    unit, usable = usable_unit_rows("m", ["a", "b", "c"], rows)
    assert usable.tolist() == [True, False, True]
    assert unit.tolist() == rows[[0, 2]].tolist()
    with pytest.raises(NonFiniteVectorError):
        unit_rows("m", ["a", "b", "c"], rows)


def test_a_long_text_is_shown_in_part():
    with pytest.raises(NonFiniteVectorError) as caught:
        unit_rows("m", ["x" * 10_000], np.zeros((1, 2), np.float32))
    assert len(str(caught.value)) < 200
    assert "…" in str(caught.value)


@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (2,), (2, 3, 1), (0, 3)])
def test_anything_but_one_row_a_text_is_refused(shape):
    with pytest.raises(EmbedderError):
        unit_rows("m", ["a", "b"], np.ones(shape, np.float32))


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int64])
def test_other_numbers_become_float32(kind):
    unit = unit_rows("m", ["a"], np.array([[3, 4]], dtype=kind))
    np.testing.assert_allclose(unit, [[0.6, 0.8]], rtol=1e-6)
    assert unit.dtype == np.float32


PAIRS = [("a", "x"), ("b", "x"), ("a", "y")]


def entailed(entailment=(0.1, 0.2, 0.3), contradiction=(0.9, np.nan, 0.0), windows=(1, 2, 3)):
    return EntailmentScores(np.array(entailment), np.array(contradiction), np.array(windows))


def test_probabilities_come_by_pair_in_the_order_asked():
    scores = EntailmentTable.of("m", PAIRS, entailed()).pairs([PAIRS[2], PAIRS[0], PAIRS[2]])
    assert scores.entailment.tolist() == [0.3, 0.1, 0.3]
    assert scores.contradiction.tolist() == [0.0, 0.9, 0.0]
    assert scores.windows.tolist() == [3, 1, 3]
    with pytest.raises(KeyError):
        EntailmentTable.of("m", PAIRS, entailed()).pairs([("x", "a")])


def test_a_pair_that_stands_there_twice_is_refused():
    with pytest.raises(ValueError, match="2 of 3 are repeated"):
        EntailmentTable.of("m", [PAIRS[0]] * 3, entailed())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1.0000001])
@pytest.mark.parametrize("column", ["entailment", "contradiction"])
def test_what_is_no_probability_is_refused_by_its_hypothesis(column, bad):
    spoilt = {column: [0.5, 0.5, bad]}
    if column == "contradiction" and np.isnan(bad):
        assert np.isnan(EntailmentTable.of("m", PAIRS, entailed(**spoilt)).scores.contradiction[2])
        return
    with pytest.raises(NonFiniteVectorError) as caught:
        EntailmentTable.of("m", PAIRS, entailed(**spoilt))
    assert caught.value.texts == ("y",)


@pytest.mark.parametrize("column", ["entailment", "contradiction", "windows"])
@pytest.mark.parametrize("values", [(), (1, 1), (1, 1, 1, 1), ((1, 1, 1),)])
def test_anything_but_one_probability_a_pair_is_refused(column, values):
    with pytest.raises(EmbedderError, match="for 3 pairs"):
        EntailmentTable.of("m", PAIRS, entailed(**{column: values}))


def test_the_vectors_are_those_of_the_first_embedder():
    tables = [VectorTable.of(name, ["a"], np.eye(1, dtype=np.float32)) for name in ("first", "second")]
    assert Features.of(*tables).vectors is tables[0]
    assert [*Features.of(*tables).by_embedder] == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "words"), [("tokens", "no token vectors"), ("entailments", "no entailment probabilities")]
)
def test_a_feature_that_was_not_requested_is_an_error(name, words):
    with pytest.raises(LookupError, match=words):
        getattr(Features(), name)


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
