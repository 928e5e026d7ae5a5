"""Token vectors of distinct texts, and token frequencies in the references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.short_repr import short_repr
from sgi.kernel.short_text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

TOKENS = "tokens:"
"""Prefix of the fingerprint of a token encoder."""

_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True, order=True)
class TokenModel:
    """Name of a token encoder, and its layer.

    Attributes:
        name: a known model, a folder, or ``torch:`` and a name or folder.
        layer: 0 for the embeddings before the first layer; None for the last layer.

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
    """Ids in the model's vocabulary, shape (t,)."""
    rows: NDArray[np.float32]
    """Unit rows, shape (t, d)."""
    special: NDArray[np.bool_]
    """True for tokens such as [CLS]: their weight is 0, but they can be matched; shape (t,)."""
    windows: int
    """Number of overlapping windows; 1 for a text within the model's limit."""


@dataclass(frozen=True, eq=False)
class TokenFrequencies:
    """Document frequency of each token.

    Attributes:
        documents: number of texts, N.
        counts: texts with each token id, shape (v,); 0 for larger ids.

    >>> counted = TokenFrequencies.none().add([np.array([1, 2, 2]), np.array([1])])
    >>> counted.documents, counted.counts.tolist(), counted.weights(np.array([1, 2, 9])).round(4).tolist()
    (2, [0, 2, 1], [0.0, 0.4055, 1.0986])
    """

    documents: int
    counts: NDArray[np.int64]

    @classmethod
    def none(cls) -> Self:
        """Return the frequencies of no texts."""
        return cls(0, np.zeros(0, dtype=np.int64))

    def add(self, texts: Sequence[NDArray[np.int64]]) -> Self:
        """Add texts, each as the ids of its tokens."""
        present = [np.unique(ids) for ids in texts]
        size = max([len(self.counts), *(int(ids[-1]) + 1 for ids in present if ids.size)])
        counts = np.zeros(size, dtype=np.int64)
        counts[: len(self.counts)] = self.counts
        for ids in present:
            counts[ids] += 1
        return type(self)(self.documents + len(texts), counts)

    def weights(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""Return the inverse document frequency of each token, shape of ``ids``; at least 0.

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
        index: text → n.
        offsets: text n has the tokens ``offsets[n]:offsets[n + 1]``; int64, shape (n + 1,).
        ids: ids in the model's vocabulary; int64, shape (t,).
        rows: unit rows, float32, shape (t, d).
        special: True for tokens such as [CLS] and [SEP]; shape (t,).
        windows: number of windows of each text, int64, shape (n,).
        frequencies: in the references of the whole data, if a metric needs them.
    """

    model: str
    index: Mapping[str, int]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    rows: NDArray[np.float32]
    special: NDArray[np.bool_]
    windows: NDArray[np.int64]
    frequencies: TokenFrequencies | None = None

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
    ) -> Self:
        """Build the table, and check that every token has a finite unit row.

        Args:
            model: its name.
            texts: distinct.
            tokens: token ids of each text.
            rows: one per token, text after text, shape (t, d).
            special: ids of special tokens.
            windows: number of windows of each text; None for one each.

        Raises an EmbedderError if the numbers of rows and tokens differ, or a row is not of unit length.
        """
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in tokens], out=offsets[1:])
        if rows.ndim != 2 or len(rows) != offsets[-1] or len(tokens) != len(texts):  # noqa: PLR2004 - rows and columns
            raise EmbedderError(f"{model} returned {len(rows)} rows for {offsets[-1]} tokens.")
        _check_unit(model, texts, offsets, rows)
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *tokens])
        window_counts = (
            np.ones(len(texts), dtype=np.int64) if windows is None else np.asarray(windows, np.int64)
        )
        index = {text: place for place, text in enumerate(texts)}
        return cls(model, index, offsets, ids, rows, np.isin(ids, list(special)), window_counts)

    def of(self, text: str, /) -> TextTokens:
        """Return the tokens of a text, as views; KeyError if it is not in the table."""
        place = self.index[text]
        tokens = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return TextTokens(self.ids[tokens], self.rows[tokens], self.special[tokens], int(self.windows[place]))


def are_unit(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mask of rows of unit length, with the tolerance of float32 sums, shape (n,)."""
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
            f"{model} returned token vectors without direction for {len(bad_texts)} of {len(texts)} texts, "
            f"the first: {shorten(bad_texts[0])!r}.",
            texts=bad_texts,
        )
