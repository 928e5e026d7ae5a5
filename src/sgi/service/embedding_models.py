"""Embedding models of an application: by name, as an Embedder, or as its own client."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sgi.engine.model_wrappers import EmbedderWrapper
from sgi.geometry.angles import unit
from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.protocols import Embedded, Embedder, embedder_name
from sgi.kernel.provenance import UNOPENED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.store.cache import SqliteCache


class EmbeddingClient(Protocol):
    """An application's own client of an embedding service; its method may be async or not."""

    def embed_texts(self, texts: list[str], /) -> Any:
        """One vector of numbers for each text, in order."""


EmbeddingModel = str | Path | Embedder | EmbeddingClient


class UnusableVectorsError(EmbedderError, ValueError):
    """What an embedder returned is no set of vectors with directions, one for each text, of one dimension.

    >>> issubclass(UnusableVectorsError, EmbedderError) and issubclass(UnusableVectorsError, ValueError)
    True
    """


class OwnModel(EmbedderWrapper):
    """An Embedder around what the application brought; to be asked in a thread of anyio's.

    Args:
        model: an Embedder, or an object with ``embed_texts``.

    Raises:
        UsageError: it is neither.
    """

    def __init__(self, model: object) -> None:
        if isinstance(model, Embedder):
            super().__init__(model)
        elif callable(getattr(model, "embed_texts", None)):
            self.fingerprint = f"{type(model).__name__}@own"
            self._call = model.embed_texts  # type: ignore[attr-defined]  # the line above asked for it
        else:
            hint = "It is a name, an Embedder, or an object with `embed_texts(texts)`."
            raise UsageError(f"{type(model).__name__} is no embedding model.", hint=hint)

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows in the order given, float32, and which texts were cut, as far as the model tells.

        Raises:
            UnusableVectorsError: it did not return one usable vector for each text.
            EmbedderError: it raised.
        """
        embedded = super().encode(texts)
        return Embedded(unit_rows_of(embedder_name(self), embedded.rows, len(texts)), embedded.truncated)


class UnavailableModel:
    """A model that could not be opened: it has no vectors, and says why.

    Args:
        name: as it was asked for.
        reason: what happened.

    >>> UnavailableModel("bge", EmbedderError("There are no files.")).embed(["a"])
    Traceback (most recent call last):
    sgi.kernel.errors.EmbedderError: There are no files.
    """

    def __init__(self, name: str, reason: EmbedderError) -> None:
        self.fingerprint = f"{name}{UNOPENED}"
        self._reason = reason

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Raises why there is no model."""
        del texts
        raise self._reason


def unit_rows_of(name: str, vectors: Any, n: int) -> NDArray[np.float32]:
    """Vectors of any length as unit rows.

    Args:
        name: of the embedder, for messages.
        vectors: lists of numbers, or an array, shape (n, d).
        n: how many there should be.

    Returns:
        Rows of length one, float32, shape (n, d).

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
        message = f"{name} returned no vectors of numbers, one for each of {n} texts."
        raise UnusableVectorsError(message, hint="Wanted is a list of lists of numbers.")
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
    """Models by name, each opened at its first use and kept; vectors of these are cached.

    Args:
        cache: a file, the user's own cache (True), or none (False).
    """

    def __init__(self, cache: bool | str | Path) -> None:
        self._where = cache
        self._cache: SqliteCache | None = None
        self._opened: dict[str | Path, Embedder] = {}
        self._lock = Lock()

    def at_hand(self, wanted: str | Path) -> Embedder | None:
        """The model of this name, if it is open."""
        return self._opened.get(wanted)

    def open(self, wanted: str | Path) -> Embedder:
        """The model of this name.

        Raises:
            UnknownNameError: there is none.
            EmbedderError: its files cannot be used.
            StoreError: the cache cannot be opened.
        """
        with self._lock:
            if wanted not in self._opened:
                from sgi.models.embedder.load import load_embedder

                self._opened[wanted] = load_embedder(wanted, cache=self._vectors())
            return self._opened[wanted]

    def close(self) -> None:
        """Close the cache and forget the models."""
        with self._lock:
            self._opened.clear()
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    def _vectors(self) -> SqliteCache | None:
        from sgi.store.cache import SqliteCache, default_cache_path

        if self._cache is None and self._where is not False:
            self._cache = SqliteCache(default_cache_path() if self._where is True else Path(self._where))
        return self._cache
