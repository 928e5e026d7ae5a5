"""Token vectors of distinct texts, and token frequencies in the references.

A text that exceeds the model's token limit is split into windows: parts of the text that overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.short_text import short_repr, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

TOKENS = "tokens:"
"""The prefix of the fingerprint of a token encoder."""

_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, order=True)
class TokenModel:
    """Name of a token encoder, and its layer.

    Attributes:
        name: a known model, a folder, or ``torch:`` and a name or folder.
        layer: the number of the layer; 0 means the embeddings before the first layer, None the last layer.

    >>> str(TokenModel("minilm")), str(TokenModel("torch:bert-base-uncased", 9))
    ('minilm', 'torch:bert-base-uncased, layer 9')
    """

    name: str
    layer: int | None = None

    @property
    def label(self) -> str:
        """The part of the encoder's fingerprint before the ``@``."""
        return f"{TOKENS}{self.name}[{'last' if self.layer is None else self.layer}]"

    def __str__(self) -> str:
        return self.name if self.layer is None else f"{self.name}, layer {self.layer}"


class TextTokens(NamedTuple):
    """The tokens of one text, including special tokens."""

    ids: NDArray[np.int64]
    """The token ids in the model's vocabulary, shape (t,)."""
    rows: NDArray[np.float32]
    """The unit vector of each token, shape (t, d)."""
    special: NDArray[np.bool_]
    """True for tokens such as [CLS]: their weight is 0, but they can be matched; shape (t,)."""
    windows: int
    """The number of windows; 1 for a text within the model's token limit."""


@dataclass(frozen=True, eq=False)
class TokenFrequencies:
    """The document frequency of each token: the number of texts that contain it.

    Attributes:
        documents: the number of texts, N.
        counts: the number of texts that contain each token id, shape (v,); it is 0 for ids of v or more.

    >>> counted = TokenFrequencies.none().add([np.array([1, 2, 2]), np.array([1])])
    >>> counted.documents, counted.counts.tolist(), counted.weights(np.array([1, 2, 9])).round(4).tolist()
    (2, [0, 2, 1], [0.0, 0.4055, 1.0986])
    """

    documents: int
    counts: NDArray[np.int64]

    @classmethod
    def none(cls) -> Self:
        """Return the frequencies before any text is added."""
        return cls(0, np.zeros(0, dtype=np.int64))

    def add(self, texts: Sequence[NDArray[np.int64]]) -> Self:
        """Return new frequencies that also count the tokens of these texts, given as token ids."""
        present = [np.unique(ids) for ids in texts]
        size = max([len(self.counts), *(int(ids[-1]) + 1 for ids in present if ids.size)])
        counts = np.zeros(size, dtype=np.int64)
        counts[: len(self.counts)] = self.counts
        for ids in present:
            counts[ids] += 1
        return type(self)(self.documents + len(texts), counts)

    def weights(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""Return the inverse document frequency of each token, at least 0, in the shape of ``ids``.

        .. math:: \log \frac{N + 1}{df + 1}

        Source: Zhang et al. (2020), "BERTScore", section 3, with plus-one smoothing.
        """
        in_range = ids < len(self.counts)
        counts = np.zeros(ids.shape, dtype=np.int64)
        counts[in_range] = self.counts[ids[in_range]]
        return np.asarray(np.log((self.documents + 1) / (counts + 1)))


@dataclass(frozen=True, eq=False)
class TokenTable:
    """The token vectors of distinct texts, from one model.

    Attributes:
        model: the name of the model.
        index: the number of each text.
        offsets: text number i has the tokens ``offsets[i]:offsets[i + 1]``; int64, shape (n + 1,).
        ids: the token ids in the model's vocabulary; int64, shape (t,).
        rows: the unit vector of each token, float32, shape (t, d).
        special: True for tokens such as [CLS] and [SEP]; shape (t,).
        windows: the number of windows of each text, int64, shape (n,).
        unread: the texts of which the model's vocabulary has too few letters; their vectors mean nothing.
        frequencies: token frequencies in all references of the data; None if no metric needs them.
    """

    model: str
    index: Mapping[str, int]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    rows: NDArray[np.float32]
    special: NDArray[np.bool_]
    windows: NDArray[np.int64]
    frequencies: TokenFrequencies | None = None
    unread: frozenset[str] = frozenset()

    __repr__ = short_repr

    @classmethod
    def build(
        cls,
        model: str,
        texts: Sequence[str],
        tokens: Sequence[NDArray[np.int64]],
        rows: NDArray[np.float32],
        *,
        special: Iterable[int],
        windows: Sequence[int] | None = None,
        unread: Iterable[str] = (),
    ) -> Self:
        """Build the table of token vectors, and check that every vector is finite and of length 1.

        Args:
            model: the name of the model.
            texts: the texts, without duplicates.
            tokens: the token ids of each text.
            rows: one vector for each token, text after text, shape (t, d).
            special: the ids of special tokens.
            windows: the number of windows of each text; None if no text was split.
            unread: the texts of which the vocabulary has too few letters.

        Raises an EmbedderError if the numbers of vectors and tokens differ, or a vector is not of length 1.
        """
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in tokens], out=offsets[1:])
        if rows.shape[:-1] != (offsets[-1],) or len(tokens) != len(texts):
            raise EmbedderError(f"{model} returned {len(rows)} vectors for {offsets[-1]} tokens.")
        _check_unit(model, texts, offsets, rows)
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *tokens])
        window_counts = (
            np.ones(len(texts), dtype=np.int64) if windows is None else np.asarray(windows, np.int64)
        )
        index = {text: place for place, text in enumerate(texts)}
        is_special = np.isin(ids, list(special))
        return cls(model, index, offsets, ids, rows, is_special, window_counts, unread=frozenset(unread))

    def of(self, text: str, /) -> TextTokens:
        """Return the tokens of a text, as array views; KeyError if the text is not in the table."""
        place = self.index[text]
        tokens = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return TextTokens(self.ids[tokens], self.rows[tokens], self.special[tokens], int(self.windows[place]))


def are_unit(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask of the vectors of length 1, with the tolerance of float32 sums, shape (n,)."""
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        return np.asarray(np.abs(squares - 1) < _UNIT_TOLERANCE)


def _check_unit(
    model: str, texts: Sequence[str], offsets: NDArray[np.int64], rows: NDArray[np.float32]
) -> None:
    bad = np.flatnonzero(~are_unit(rows))
    if bad.size:
        places = np.unique(np.searchsorted(offsets, bad, side="right") - 1)
        bad_texts = tuple(texts[place] for place in places.tolist())
        raise NonFiniteVectorError(
            f"{model} returned zero or non-finite token vectors for {len(bad_texts)} of {len(texts)} texts, "
            f"the first: {shorten(bad_texts[0])!r}.",
            texts=bad_texts,
        )
