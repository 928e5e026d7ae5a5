import numpy as np
import pytest

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.tokens import TokenFrequencies, TokenModel, TokenTable

IDS = [np.array([0, 5, 1]), np.array([0, 1])]
ROWS = np.eye(5, dtype=np.float32)


def test_texts_are_cut_out_of_the_table():
    table = TokenTable.build("m", ["a", ""], IDS, ROWS, special=(0, 1), windows=[3, 1])
    tokens = table.of("a")
    assert tokens.ids.tolist() == [0, 5, 1]
    assert tokens.rows.tolist() == ROWS[:3].tolist()
    assert tokens.special.tolist() == [True, False, True]
    assert tokens.windows == 3
    assert table.of("").ids.tolist() == [0, 1]
    with pytest.raises(KeyError):
        table.of("b")


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 2.0])
def test_a_row_without_direction_names_its_text(value):
    rows = ROWS.copy()
    rows[3] = value
    with pytest.raises(NonFiniteVectorError, match="1 of 2 texts") as caught:
        TokenTable.build("m", ["a", "b" * 99], IDS, rows, special=())
    assert caught.value.texts == ("b" * 99,)


@pytest.mark.parametrize("rows", [ROWS[:4], np.ones(5, dtype=np.float32)])
def test_another_number_of_rows_is_refused(rows):
    with pytest.raises(EmbedderError, match="for 5 tokens"):
        TokenTable.build("m", ["a", ""], IDS, rows, special=())


def test_an_empty_table():
    assert TokenTable.build("m", [], [], np.zeros((0, 0), np.float32), special=()).ids.size == 0


def test_frequencies_count_texts_and_not_tokens():
    counted = (
        TokenFrequencies.none().add([np.array([3, 3, 1])]).add([np.array([1]), np.array([], dtype=np.int64)])
    )
    assert counted.documents == 3
    assert counted.counts.tolist() == [0, 2, 0, 1]
    expected = np.log([4 / 3, 4 / 2, 4 / 1, 4 / 1])
    assert counted.weights(np.array([1, 3, 0, 10**6])) == pytest.approx(expected)


def test_frequencies_are_the_same_in_any_parts():
    texts = [np.random.default_rng(seed).integers(0, 50, 20) for seed in range(9)]
    whole = TokenFrequencies.none().add(texts)
    parts = TokenFrequencies.none()
    for text in texts[::-1]:
        parts = parts.add([text])
    assert parts.documents == whole.documents
    assert parts.counts.tolist() == whole.counts.tolist()


def test_models_are_told_apart_by_layer():
    assert TokenModel("m") != TokenModel("m", 0)
    assert TokenModel("m", 0).label == "tokens:m[0]"
