"""Tokens in context, by the embedded model: windows, order, company, hostile texts."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import (
    EmbedderError,
    MissingExtraError,
    ModelMissingError,
    NonFiniteVectorError,
    UnknownNameError,
    UsageError,
)
from sgi.kernel.protocols import TokenEncoder
from sgi.kernel.tokens import TokenModel
from sgi.models.embedder.load_embedder import load_embedder
from sgi.models.token_encoder.windowed_encoder import WindowedTokenEncoder, _seams, token_encoder
from sgi.models.tokenizer import SpecialTokens, window_starts
from sgi.testing.strategies import texts

TEXTS = [
    *("A cat sat.", "", "  ", "東京は日本の首都。", "a\x00b", "[CLS] [SEP] [MASK]", "🦊 naïve", "\u200b"),
    "A cat sat.",
]


def load(model):
    return token_encoder(load_embedder(model.name), model)


@pytest.fixture(scope="module")
def encoder():
    return load(TokenModel("minilm"))


SPECIAL = SpecialTokens(1, 1, (1, 2))


@dataclass
class Counting:
    """A model whose vector of a token tells its id, and where in the window it stands."""

    limit: int = 8
    threads: int = 1
    special_tokens: SpecialTokens = SPECIAL
    name: str = "counting"
    fingerprint: str = "counting@1"
    dimension: int = 2
    bad: float | None = None

    def token_ids(self, texts, /):
        return [np.array([1, *range(10, 10 + int(text)), 2]) for text in texts]

    def unread(self, texts, ids, /):
        return np.array([text == "13" for text in texts])

    def token_vectors(self, ids, /):
        assert ids.shape[1] <= self.limit
        assert (ids[:, 0] == 1).all()
        assert (ids[:, -1] == 2).all()
        if self.bad is not None:
            return np.full((*ids.shape, 2), self.bad, dtype=np.float32)
        place = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        return np.stack([np.cos(0.1 * place), np.sin(0.1 * place)], axis=-1).astype(np.float32)


def places(text, limit):
    """Where in its window each token of the text stood."""
    rows = WindowedTokenEncoder(Counting(limit)).encode_tokens([text]).of(text).rows
    return np.rint(np.arctan2(rows[:, 1], rows[:, 0]) / 0.1).astype(int)


@given(st.integers(1, 400), st.integers(1, 60))
def test_windows_cover_a_text_and_each_token_has_most_context(length, width):
    starts = window_starts(length + width, width)
    length += width
    seams = [0, *_seams(starts, width), length]
    assert starts[0] == 0
    assert starts[-1] + width == length
    assert seams == sorted(seams)
    for number, start in enumerate(starts):
        for token in range(seams[number], seams[number + 1]):
            assert start <= token < start + width
            nearer = [min(token - other, other + width - 1 - token) for other in starts]
            inner = 0 < number < len(starts) - 1
            assert not inner or nearer[number] >= max(nearer) - 1


@pytest.mark.parametrize(("length", "limit"), [(6, 8), (7, 8), (9, 8), (23, 8), (50, 9), (5, 3)])
def test_every_token_of_a_long_text_has_its_vector(length, limit):
    positions = places(str(length), limit)
    assert len(positions) == length + 2
    assert positions[0] == 0
    assert positions[-1] == min(limit, length + 2) - 1
    if length + 2 <= limit:
        assert positions.tolist() == list(range(length + 2))
    elif limit > 4:
        assert positions[1 : limit // 2].tolist() == list(range(1, limit // 2))


def test_windows_are_counted():
    table = WindowedTokenEncoder(Counting(8)).encode_tokens(["3", "6", "7", "20"])
    assert [table.of(text).windows for text in ("3", "6", "7", "20")] == [1, 1, 2, 6]


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 1e30])
def test_vectors_without_direction_are_refused(value):
    with pytest.raises(NonFiniteVectorError) as caught:
        WindowedTokenEncoder(Counting(bad=value)).encode_tokens(["3", "4"])
    assert set(caught.value.texts) == {"3", "4"}


def test_the_embedded_models_tokens(encoder):
    assert isinstance(encoder, TokenEncoder)
    table = encoder.encode_tokens(TEXTS)
    assert len(table.index) == len(set(TEXTS))
    ids = dict(zip(TEXTS, encoder.token_ids(TEXTS), strict=True))
    for text in TEXTS:
        tokens = table.of(text)
        assert tokens.ids.tolist() == ids[text].tolist()
        assert tokens.rows.shape == (len(tokens.ids), encoder.dimension)
        assert np.linalg.norm(tokens.rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert table.of("").special.all()
    assert table.of("[CLS] [SEP] [MASK]").special.tolist() == [True, True, True, False, True]


def test_neither_company_nor_order_changes_a_bit(encoder):
    table = encoder.encode_tokens(TEXTS)
    turned = encoder.encode_tokens(TEXTS[::-1])
    for text in TEXTS:
        alone = encoder.encode_tokens([text]).of(text).rows.tobytes()
        assert alone == table.of(text).rows.tobytes() == turned.of(text).rows.tobytes()


def test_means_of_tokens_are_the_embedders_vectors(encoder, minilm):
    """The last layer is the one that text vectors are pooled of."""
    from sgi.models.embedder.onnx_embedder import OnnxNetwork

    ids = encoder.token_ids(["A cat sat on the mat."])[0]
    hidden = OnnxNetwork(encoder.network.embedder.files).token_vectors(ids[None])[0]
    rows = encoder.encode_tokens(["A cat sat on the mat."]).rows
    assert rows == pytest.approx(hidden / np.linalg.norm(hidden, axis=1, keepdims=True), abs=1e-6)
    mean = hidden.mean(axis=0)
    assert minilm.embed(["A cat sat on the mat."])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_a_long_text_is_read_to_its_end(encoder):
    text = "tax law " * 400 + "ends with a fox"
    tokens = encoder.encode_tokens([text]).of(text)
    assert len(tokens.ids) == 806
    assert tokens.windows == 6
    fox = encoder.encode_tokens(["it ends with a fox"]).of("it ends with a fox")
    assert tokens.ids[-2] == fox.ids[-2]
    assert tokens.rows[-2] @ fox.rows[-2] > 0.4
    start = encoder.encode_tokens(["tax law " * 127]).of("tax law " * 127)
    assert tokens.rows[:100] == pytest.approx(start.rows[:100], abs=1e-5)


@given(st.lists(texts(), max_size=4))
def test_any_text_has_tokens_between_its_marks(encoder, some):
    table = encoder.encode_tokens(some)
    for text in some:
        tokens = table.of(text)
        assert tokens.special[[0, -1]].all()
        assert len(tokens.ids) == len(tokens.rows) >= 2


def test_half_a_surrogate_pair_is_told(encoder):
    with pytest.raises(EmbedderError, match="surrogate"):
        encoder.encode_tokens(["fine", "\ud800"])


def test_a_folder_is_a_model_too(folder, encoder):
    other = load(TokenModel(str(folder)))
    assert other.fingerprint.startswith("tokens:a-model[last]@")
    ours, theirs = (encoder_of.encode_tokens(["A cat sat."]).rows for encoder_of in (encoder, other))
    assert np.einsum("ij,ij->i", ours, theirs).min() > 0.99


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (TokenModel("minilm", 3), UsageError, "minilm.* layer 3"),
        (TokenModel("no such model"), UnknownNameError, "no such model"),
        (TokenModel("/no/such/folder"), ModelMissingError, "/no/such/folder"),
        (TokenModel("openai:m@http://localhost:1/v1"), UsageError, "openai:m"),
    ],
)
def test_models_that_give_no_tokens(model, error, words):
    with pytest.raises(error, match=words):
        load(model)


def test_torch_is_an_extra(hidden_torch):
    encoder = load(TokenModel("torch:some/model", 3))
    with pytest.raises(MissingExtraError, match=r"\[torch\]"):
        encoder.token_ids(["a"])


@pytest.fixture
def hidden_torch(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
