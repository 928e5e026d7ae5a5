"""Embedding models of an application, given by name, as an Embedder, or as the application's own client."""

from __future__ import annotations

from asyncio import run_coroutine_threadsafe
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sgi.engine.model_wrappers import EmbedderWrapper, await_value
from sgi.geometry.angles import unit
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, UsageError
from sgi.kernel.metric_column import UNOPENED
from sgi.kernel.protocols import Embedder, Embeddings, embedder_name, encode

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Sequence

    from numpy.typing import NDArray


class EmbeddingClient(Protocol):
    """An application's own client of an embedding service; its method may be async or not."""

    def embed_texts(self, texts: list[str], /) -> Any:
        """Return one vector of numbers for each text, in order."""


EmbeddingModel = str | Path | Embedder | EmbeddingClient


class UnusableVectorsError(EmbedderError, ValueError):
    """An embedder did not return a non-zero vector of the same dimension for each text."""


class OwnModel(EmbedderWrapper):
    """An Embedder around a model of the application.

    Args:
        model: an Embedder, or an object with ``embed_texts``.
        loop: the event loop of the caller, in which an asynchronous client is called; None for the loop that
            belongs to the calling thread of anyio.

    Raises:
        UsageError: the model is neither.
    """

    def __init__(self, model: object, loop: AbstractEventLoop | None = None) -> None:
        self._loop = loop
        if isinstance(model, Embedder):
            super().__init__(model)
        elif callable(getattr(model, "embed_texts", None)):
            self.fingerprint = f"{type(model).__name__}@own"
            self._call = model.embed_texts  # type: ignore[attr-defined]  # the line above checks it
            self._array = lambda rows: rows  # `encode` checks them
        else:
            hint = "It is a name, an Embedder, or an object with `embed_texts(texts)`."
            raise UsageError(f"{type(model).__name__} is not an embedding model.", hint=hint)

    def _wait_for(self, rows: Awaitable[Any]) -> Any:
        if self._loop is None:
            return super()._wait_for(rows)
        return run_coroutine_threadsafe(await_value(rows), self._loop).result()

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return unit vectors (float32) in the order of the texts, and the truncated texts if they are known.

        Raises:
            UnusableVectorsError: the model did not return one usable vector for each text.
            EmbedderError: the model raised an exception.
        """
        embedded = super().encode(texts)
        return embedded._replace(rows=unit_rows_of(embedder_name(self), embedded.rows, len(texts)))


class UnavailableModel:
    """A model that could not be opened: every call raises the reason.

    >>> UnavailableModel("bge", EmbedderError("There are no files.")).embed(["a"])
    Traceback (most recent call last):
    sgi.kernel.errors.EmbedderError: There are no files.
    """

    def __init__(self, name: str, reason: EmbedderError) -> None:
        self.fingerprint = f"{name}{UNOPENED}"
        self._reason = reason

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Raise the error that prevented the model from being opened."""
        del texts
        raise self._reason


def usable_vectors(embedder: Embedder, texts: list[str]) -> Embeddings:
    """Return the vectors of an embedder; raises UnusableVectorsError if one has no direction."""
    try:
        return encode(embedder, texts)
    except NonFiniteVectorError as error:
        raise UnusableVectorsError(error.message, hint=error.hint) from error


def unit_rows_of(name: str, vectors: Any, n: int) -> NDArray[np.float32]:
    """Scale n vectors to length 1, float32, shape (n, d).

    Args:
        name: the embedder's name, for messages.
        vectors: lists of numbers, or an array, shape (n, d).
        n: the expected number of vectors.

    Raises:
        UnusableVectorsError: they are not n vectors of one dimension, or one is zero, NaN or infinite.

    >>> unit_rows_of("demo", [[3.0, 4.0]], 1).round(4).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    try:
        rows = [np.asarray(vector) for vector in vectors]
    except (TypeError, ValueError):
        rows = []
    if len(rows) != n or any(row.ndim != 1 or row.dtype.kind not in "fiu" for row in rows):
        message = f"{name} did not return one vector of numbers for each of {n} texts."
        raise UnusableVectorsError(message, hint="It must return a list of lists of numbers.")
    dimensions = list(dict.fromkeys(len(row) for row in rows))
    if len(dimensions) > 1:
        shown = " and ".join(map(str, dimensions))
        raise UnusableVectorsError(f"{name} returned vectors of different dimensions: {shown}.")
    try:
        return np.asarray(unit(np.stack(rows)), dtype=np.float32)
    except ValueError as error:
        size = dimensions[0]
        raise UnusableVectorsError(
            f"{name} returned a vector of {size} dimensions without direction: {error}"
        ) from error
