"""Embedding models of an application, given by name, as an Embedder, or as the application's own client."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sgi.engine.model_wrappers import EmbedderWrapper
from sgi.engine.open_resources import open_embedder
from sgi.geometry.angles import unit
from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.protocols import Embedder, Embeddings, embedder_name
from sgi.kernel.provenance import UNOPENED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Cache


class EmbeddingClient(Protocol):
    """An application's own client of an embedding service; its method may be async or not."""

    def embed_texts(self, texts: list[str], /) -> Any:
        """Return one vector of numbers for each text, in order."""


EmbeddingModel = str | Path | Embedder | EmbeddingClient


class UnusableVectorsError(EmbedderError, ValueError):
    """An embedder did not return one vector with a direction for each text, all of one dimension."""


class OwnModel(EmbedderWrapper):
    """An Embedder around a model of the application; call it in a thread of anyio.

    Args:
        model: an Embedder, or an object with ``embed_texts``.

    Raises:
        UsageError: the model is neither.
    """

    def __init__(self, model: object) -> None:
        if isinstance(model, Embedder):
            super().__init__(model)
        elif callable(getattr(model, "embed_texts", None)):
            self.fingerprint = f"{type(model).__name__}@own"
            self._call = model.embed_texts  # type: ignore[attr-defined]  # the line above checks it
            self._array = lambda rows: rows  # `encode` checks them
        else:
            hint = "It is a name, an Embedder, or an object with `embed_texts(texts)`."
            raise UsageError(f"{type(model).__name__} is not an embedding model.", hint=hint)

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return unit vectors (float32) in the order of the texts, and the truncated texts if they are known.

        Raises:
            UnusableVectorsError: the model did not return one usable vector for each text.
            EmbedderError: the model raised an exception.
        """
        embedded = super().encode(texts)
        return Embeddings(unit_rows_of(embedder_name(self), embedded.rows, len(texts)), embedded.truncated)


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
        """Raise the error for which the model could not be opened."""
        del texts
        raise self._reason


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


class EmbeddingModels:
    """Named models, each opened at its first use; their vectors are cached.

    ``cache`` is a file, the user's cache (True), or none (False).
    """

    def __init__(self, cache: bool | str | Path) -> None:
        self._path = cache
        self._cache: Cache | None = None
        self._on_close = ExitStack()
        self._models: dict[str | Path, Embedder] = {}
        self._lock = Lock()

    def find(self, name: str | Path) -> Embedder | None:
        """Return the model of this name, if it is open."""
        return self._models.get(name)

    def open(self, name: str | Path) -> Embedder:
        """Open the model of this name.

        Raises:
            UnknownNameError: no model has this name.
            EmbedderError: the model's files cannot be used.
            StoreError: the cache cannot be opened.
        """
        from sgi.store.cache import open_cache

        with self._lock:
            if name not in self._models:
                if self._cache is None and self._path is not False:
                    self._cache = self._on_close.enter_context(open_cache(self._path))
                self._models[name] = open_embedder(name, self._cache)
            return self._models[name]

    def close(self) -> None:
        """Close the cache and forget the models."""
        with self._lock:
            self._models.clear()
            self._cache = None
            self._on_close.close()
