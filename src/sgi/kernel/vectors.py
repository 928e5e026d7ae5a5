"""The features of a metric, which are tables of embeddings, token vectors and entailment probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.short_text import short_repr, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.tokens import TokenModel, TokenTable

_UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Distinct texts with their unit vectors, from one embedding model.

    Attributes:
        model: the name of the model.
        index: the row number in ``matrix`` of each text.
        matrix: one unit vector for each text, float32, shape (n, d).
        truncated: the texts that the model truncated at its token limit.
        windowed: the texts that exceed the limit and were read in windows.
        unread: the texts of which the model's vocabulary has too few letters; their vectors mean nothing.

    >>> table = VectorTable.of("demo", ["a", "b"], np.eye(2, dtype=np.float32))
    >>> table.rows(["b", "a", "b"]).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """

    model: str = ""
    index: Mapping[str, int] = field(default_factory=dict)
    matrix: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    truncated: frozenset[str] = frozenset()
    windowed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    __repr__ = short_repr

    @classmethod
    def of(
        cls,
        model: str,
        texts: Sequence[str],
        rows: NDArray[np.float32],
        *,
        truncated: Iterable[str] = (),
        unread: Iterable[str] = (),
    ) -> Self:
        """Build the table of vectors from one model, and scale the vectors to length 1.

        Raises:
            EmbedderError: the number of vectors differs from the number of texts.
            NonFiniteVectorError: a vector is zero, NaN or infinite.
        """
        index = {text: row for row, text in enumerate(texts)}
        matrix = unit_rows(model, texts, rows)
        return cls(model, index, matrix, truncated=frozenset(truncated), unread=frozenset(unread))

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of these texts, shape (len(texts), d); KeyError for an unknown text."""
        index = self.index
        return self.matrix[np.fromiter((index[text] for text in texts), dtype=np.int64, count=len(texts))]


@dataclass(frozen=True, eq=False)
class EntailmentTable:
    """Entailment scores of distinct (premise, hypothesis) pairs; ``index`` maps a pair to its row."""

    model: str
    index: Mapping[tuple[str, str], int]
    scores: EntailmentScores

    __repr__ = short_repr

    @classmethod
    def of(cls, model: str, pairs: Sequence[tuple[str, str]], scores: EntailmentScores) -> Self:
        """Build the table of scores, and check that they are probabilities; contradiction may be NaN.

        Raises:
            ValueError: a pair occurs twice.
            EmbedderError: the number of probabilities differs from the number of pairs.
            NonFiniteVectorError: a probability is outside [0, 1]; ``texts`` contains the affected hypotheses.
        """
        index = {pair: place for place, pair in enumerate(pairs)}
        if len(index) != len(pairs):
            raise ValueError(
                f"pairs must be distinct; {len(pairs) - len(index)} of {len(pairs)} are repeated"
            )
        shapes = {np.shape(column) for column in scores}
        if shapes != {(len(pairs),)}:
            message = f"{model} returned probabilities of shape {sorted(shapes)} for {len(pairs)} pairs."
            raise EmbedderError(
                message, hint="An entailment model must return two probabilities for each pair."
            )
        contradiction = np.where(np.isnan(scores.contradiction), 0.0, scores.contradiction)
        sound = _is_probability(scores.entailment) & _is_probability(contradiction)
        if not sound.all():
            bad = [pairs[place][1] for place in np.flatnonzero(~sound).tolist()]
            message = (
                f"{model} returned no probability for {len(bad)} of {len(pairs)} pairs, "
                f"the first hypothesis: {shorten(bad[0])!r}."
            )
            raise NonFiniteVectorError(message, texts=tuple(dict.fromkeys(bad)))
        return cls(model, index, scores)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> EntailmentScores:
        """Return the scores of these pairs; KeyError for an unknown pair."""
        index = self.index
        places = np.fromiter((index[pair] for pair in pairs), dtype=np.int64, count=len(pairs))
        scores = self.scores
        return EntailmentScores(
            scores.entailment[places], scores.contradiction[places], scores.windows[places]
        )


def _is_probability(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((values >= 0) & (values <= 1))


def unit_rows(model: str, texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale vectors to length 1, as `usable_unit_rows` does, but raise an error if one is not usable."""
    unit, usable = usable_unit_rows(model, texts, rows)
    if not usable.all():
        raise unusable_error(model, texts, usable)
    return unit


def usable_unit_rows(
    model: str, texts: Sequence[str], rows: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Scale vectors to length 1 and convert them to float32; vectors of length 1 (to 1e-6) are not changed.

    Returns:
        The vectors that are not zero, NaN or infinite, and a mask of these vectors, shape (n,).

    Raises:
        EmbedderError: there is not one vector of numbers for each text.
    """
    array = _checked_array(model, texts, rows)
    norms = _norms(array)
    usable = np.isfinite(norms) & (norms > 0)
    if not usable.all():
        array, norms = array[usable], norms[usable]
    off = np.abs(norms - 1) > _UNIT_TOLERANCE
    if off.any():
        array = np.where(off[:, None], array / norms[:, None], array)
    return np.ascontiguousarray(array, dtype=np.float32), usable


def unusable_error(model: str, texts: Sequence[str], usable: NDArray[np.bool_]) -> NonFiniteVectorError:
    """Return the error that names the texts without a usable vector."""
    bad = [texts[row] for row in np.flatnonzero(~usable).tolist()]
    return NonFiniteVectorError(
        f"{model} returned a zero or non-finite vector for {len(bad)} of {len(texts)} texts, "
        f"the first: {shorten(bad[0])!r}.",
        texts=tuple(bad),
    )


def _checked_array(model: str, texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    array = np.asarray(rows)
    if array.shape[:-1] != (len(texts),) or array.dtype.kind not in "fiu":
        message = f"{model} returned {array.dtype} of shape {array.shape} for {len(texts)} texts."
        raise EmbedderError(message, hint="An embedder must return one vector of numbers for each text.")
    return array


def _norms(rows: NDArray[np.number]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


@dataclass(frozen=True, eq=False)
class Features:
    """The embeddings, token vectors and entailment probabilities that a metric requires, and no others.

    Attributes:
        by_embedder: the vectors of each embedder, by its name, the primary one first.
        failures: the reason for each embedder that returned no vectors, by its name.
        token_table: the token vectors; None for a metric without ``token_texts``.
        entailment_table: the entailment probabilities; None for a metric without ``pairs``.
        configured: the names of the embedders of the run, the primary one first.
    """

    by_embedder: Mapping[str, VectorTable] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    token_table: TokenTable | None = None
    entailment_table: EntailmentTable | None = None
    configured: tuple[str, ...] = ()

    @classmethod
    def of(cls, *tables: VectorTable) -> Self:
        """Build features that contain only these tables of vectors."""
        by_embedder = {table.model: table for table in tables}
        return cls(by_embedder, configured=tuple(by_embedder))

    @property
    def vectors(self) -> VectorTable:
        """The vectors of the primary embedder; an empty table if no text was embedded."""
        return next(iter(self.by_embedder.values()), VectorTable())

    @property
    def tokens(self) -> TokenTable:
        """The token vectors; raises LookupError if the metric does not require them."""
        if self.token_table is None:
            raise LookupError("no token vectors: the metric defines no token_model and token_texts")
        return self.token_table

    @property
    def entailments(self) -> EntailmentTable:
        """The entailment probabilities; raises LookupError if the metric does not require them."""
        if self.entailment_table is None:
            raise LookupError("no entailment probabilities: the metric defines no entailment_model and pairs")
        return self.entailment_table


@runtime_checkable
class VectorNeeds(Protocol):
    """A metric that compares embeddings of texts."""

    def texts(self, prepared: Any, /) -> Iterable[str]:
        """List the texts whose vectors ``score`` uses; repeats are allowed."""

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the names of the required embedders; ``configured`` are the embedders of the run."""

    def texts_by_embedder(
        self, prepared: Any, configured: tuple[str, ...], /
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the distinct texts whose vectors ``score`` uses, by the name of the embedder."""


@runtime_checkable
class TokenNeeds(Protocol):
    """A metric that compares token vectors."""

    @property
    def token_model(self) -> TokenModel:
        """The model that encodes the texts."""

    @property
    def weighs_tokens(self) -> bool:
        """Whether the token table must hold token frequencies over all references of the data."""

    def token_texts(self, prepared: Any, /) -> Iterable[str]:
        """List the texts whose token vectors ``score`` uses; repeats are allowed."""


@runtime_checkable
class EntailmentNeeds(Protocol):
    """A metric that uses a model for entailment: whether a text follows from another text."""

    @property
    def entailment_model(self) -> str:
        """The name of the model."""

    def pairs(self, prepared: Any, /) -> Iterable[tuple[str, str]]:
        """List the (premise, hypothesis) pairs that ``score`` uses; repeats are allowed."""
