"""An embedder that caches vectors."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.protocols import Embeddings, embedder_name, encode
from sgi.kernel.signature import digest
from sgi.kernel.tokens import are_unit
from sgi.kernel.vectors import unusable_error, usable_unit_rows
from sgi.models.batching import current_work, distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Cache, Embedder

_TEXTS_PER_WRITE = 4096
"""The number of texts computed between two writes to the cache, if the embedder does not define its own."""
_ROW = np.dtype("<f4")
_TRUNCATED, _WINDOWED, _UNREAD, _CHECKED = 1, 2, 4, 8
"""Bits of the first byte of a value. Values of older versions lack `_CHECKED`: `_UNREAD` is not known."""
_FIRST_BYTES = frozenset(
    long | known for long in (0, _TRUNCATED, _WINDOWED) for known in (0, _CHECKED, _CHECKED | _UNREAD)
)


class CachedEmbedder:
    """Embedder that computes only the distinct texts whose vectors are not in the cache.

    A cache key is the digest of the model's fingerprint and the text. A value is one byte and the vector as
    little-endian float32. The byte is the sum of 1 if the text was truncated, 2 if it was read in windows, 4
    if the vocabulary has too few of its letters, and 8. A value that does not contain a vector of length 1 is
    computed again and replaced. A value of an older version, without the 8, keeps its vector; only the
    letters are checked.
    """

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self.embedder = embedder
        self.cache = cache

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the wrapped embedder."""
        return self.embedder.fingerprint

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the unit vectors of the texts, in their order, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the unit vectors, and which texts were truncated, read in windows or have unknown letters.

        Raises:
            EmbedderError: the embedder fails.
            NonFiniteVectorError: the vectors of some texts are zero or not finite; the error names the texts.
            StoreError: the cache cannot be read or written.
        """
        unique, positions = distinct(texts)
        fingerprint = self.fingerprint.encode()
        keys = [digest(fingerprint, text.encode("utf-8", "surrogatepass")) for text in unique]
        cached = _valid_values(self.cache.get_many(keys))
        missing = [position for position, key in enumerate(keys) if key not in cached]
        current_work().add(len(unique) - len(missing))
        fresh = self._compute(unique, keys, missing)
        if cached and missing and len(fresh[keys[missing[0]]]) != len(next(iter(cached.values()))):
            fresh = self._compute(unique, keys, list(range(len(unique))))  # cached: another model
        values = {**cached, **fresh, **self._checked(unique, keys, cached)}
        rows, *flags = _decode([values[key] for key in keys])
        return Embeddings(rows[positions], *(flag[positions] for flag in flags))

    def _checked(
        self, texts: list[str], keys: list[bytes], cached: Mapping[bytes, bytes]
    ) -> dict[bytes, bytes]:
        """Return the values of older versions with the flag of texts with unknown letters, and store them."""
        find: Callable[[list[str]], NDArray[np.bool_]] | None = getattr(self.embedder, "unread", None)
        old = [place for place, key in enumerate(keys) if key in cached and not cached[key][0] & _CHECKED]
        if find is None or not old:
            return {}
        flags = find([texts[place] for place in old])
        checked = {
            keys[place]: bytes([cached[keys[place]][0] | _CHECKED | (_UNREAD if unread else 0)])
            + cached[keys[place]][1:]
            for place, unread in zip(old, flags.tolist(), strict=True)
        }
        self.cache.put_many(checked)
        return checked

    def _compute(self, texts: list[str], keys: list[bytes], positions: list[int]) -> dict[bytes, bytes]:
        values: dict[bytes, bytes] = {}
        name = embedder_name(self.embedder)
        step = getattr(self.embedder, "texts_per_write", _TEXTS_PER_WRITE)
        work = current_work()
        before = work.done
        for start in range(0, len(positions), step):
            part = positions[start : start + step]
            part_texts = [texts[position] for position in part]
            rows, truncated, windowed, unread = encode(self.embedder, part_texts)
            unit, usable = usable_unit_rows(name, part_texts, rows)
            flags = np.where(truncated, _TRUNCATED, np.where(windowed, _WINDOWED, 0))
            flags = flags | np.where(unread, _UNREAD | _CHECKED, _CHECKED)
            fresh = {
                keys[position]: bytes([flag]) + row.tobytes()
                for position, row, flag in zip(
                    compress(part, usable), unit.astype(_ROW), flags[usable].tolist(), strict=True
                )
            }
            self.cache.put_many(fresh)
            work.reach(before + start + len(part))  # for an embedder that does not count
            values |= fresh
            if not usable.all():
                raise unusable_error(name, part_texts, usable)
        return values


def _valid_values(values: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the values that contain a unit vector of the most common length; if tied, of the greatest."""
    lengths = Counter(len(value) for value in values.values() if len(value) % _ROW.itemsize == 1)
    if not lengths:
        return {}
    length = max(lengths, key=lambda length: (lengths[length], length))
    fitting = {
        key: value for key, value in values.items() if len(value) == length and value[0] in _FIRST_BYTES
    }
    return dict(compress(fitting.items(), are_unit(_decode(list(fitting.values())).rows)))


def _decode(values: list[bytes]) -> Embeddings:
    if not values:
        none = np.zeros(0, dtype=np.bool_)
        return Embeddings(np.zeros((0, 0), dtype=np.float32), none, none, none)
    table = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), -1)
    rows = np.ascontiguousarray(table[:, 1:]).view(_ROW).astype(np.float32, copy=False)
    return Embeddings(rows, *(table[:, 0] & bit > 0 for bit in (_TRUNCATED, _WINDOWED, _UNREAD)))
