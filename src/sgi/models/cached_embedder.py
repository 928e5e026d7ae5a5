"""An embedder around an embedder and a cache."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.protocols import Embedded, embedder_name, encode
from sgi.kernel.signature import digest
from sgi.kernel.vectors import unit_rows, unusable_rows
from sgi.kernel.work_counter import current_work
from sgi.models.batching import distinct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Cache, Embedder

_AT_ONCE = 4096
"""Texts computed before they are kept, unless the embedder says: what an interrupted run loses at most."""
_UNIT_TOLERANCE = 1e-3
_ROW = np.dtype("<f4")


class CachedEmbedder:
    """Computes each distinct text once, and not at all if the cache has its vector.

    A key is the digest of fingerprint and text; a value is one byte that tells whether the text was cut,
    and the row as little-endian float32. A value that is no unit row is computed anew and replaced.

    Args:
        embedder: what computes.
        cache: what keeps.

    Attributes:
        hits: distinct texts found in the cache so far.
        misses: distinct texts computed so far.

    >>> class Lengths:
    ...     fingerprint = "lengths@1"
    ...     def embed(self, texts):
    ...         rows = np.array([[len(text), 1] for text in texts], dtype=np.float32)
    ...         return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    >>> from sgi.store.cache import MemoryCache
    >>> embedder = CachedEmbedder(Lengths(), MemoryCache())
    >>> embedder.embed(["a", "bb", "a"]).shape, embedder.embed(["bb"]).shape
    ((3, 2), (1, 2))
    >>> embedder.hits, embedder.misses
    (1, 2)
    """

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self.embedder = embedder
        self.cache = cache
        self.hits = 0
        self.misses = 0
        self._lock = Lock()

    @property
    def fingerprint(self) -> str:
        """That of the embedder within."""
        return self.embedder.fingerprint

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut.

        Raises:
            EmbedderError: the embedder gave none.
            NonFiniteVectorError: it gave none for some texts, which the error names; the others are kept.
            StoreError: the cache could not be read or written.
        """
        unique, places = distinct(texts)
        fingerprint = self.fingerprint.encode()
        keys = [digest(fingerprint, text.encode("utf-8", "surrogatepass")) for text in unique]
        found = _readable(self.cache.get_many(keys))
        missing = [place for place, key in enumerate(keys) if key not in found]
        current_work().add(len(unique) - len(missing))
        fresh = self._compute(unique, keys, missing)
        if found and missing and len(fresh[keys[missing[0]]]) != len(next(iter(found.values()))):
            missing = list(range(len(unique)))  # what was found is no row of this model
            fresh = self._compute(unique, keys, missing)
        with self._lock:
            self.hits += len(unique) - len(missing)
            self.misses += len(missing)
        values = {**found, **fresh}
        return _take(_joined([values[key] for key in keys]), places)

    def _compute(self, texts: list[str], keys: list[bytes], places: list[int]) -> dict[bytes, bytes]:
        """The values of the texts at these places, checked once and kept as they are made."""
        values: dict[bytes, bytes] = {}
        name = embedder_name(self.embedder)
        step = getattr(self.embedder, "texts_at_once", _AT_ONCE)
        work = current_work()
        before = work.done
        for start in range(0, len(places), step):
            some = places[start : start + step]
            asked = [texts[place] for place in some]
            rows, truncated = encode(self.embedder, asked)
            usable = ~unusable_rows(name, asked, rows)
            good = unit_rows(name, list(compress(asked, usable)), rows[usable])
            made = {
                keys[place]: bytes([int(cut)]) + row.astype(_ROW).tobytes()
                for place, row, cut in zip(compress(some, usable), good, truncated[usable], strict=True)
            }
            self.cache.put_many(made)
            work.reach(before + start + len(some))  # for an embedder that does not count
            values |= made
            if not usable.all():
                unit_rows(name, asked, rows)  # raises, naming the texts without a usable row
        return values


def _readable(values: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The values that hold a flag and a unit row, all of the commonest length (of two, the greater)."""
    lengths = Counter(len(value) for value in values.values() if len(value) % _ROW.itemsize == 1)
    if not lengths:
        return {}
    length = max(lengths, key=lambda length: (lengths[length], length))
    fitting = {key: value for key, value in values.items() if len(value) == length and value[0] <= 1}
    with np.errstate(invalid="ignore", over="ignore"):
        rows = _joined(list(fitting.values())).rows
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        sound = np.abs(squares - 1) < _UNIT_TOLERANCE
    return {key: value for (key, value), good in zip(fitting.items(), sound, strict=True) if good}


def _joined(values: list[bytes]) -> Embedded:
    if not values:
        return Embedded(np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.bool_))
    table = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), -1)
    rows = np.ascontiguousarray(table[:, 1:]).view(_ROW).astype(np.float32, copy=False)
    return Embedded(rows, table[:, 0].astype(np.bool_))


def _take(found: Embedded, places: NDArray[np.int64]) -> Embedded:
    return Embedded(found.rows[places], found.truncated[places])
