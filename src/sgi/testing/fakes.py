"""Stand-ins for the outside world that need no model and no network."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from sgi.geometry.angles import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_DIGEST_BYTES = 64


@dataclass(eq=False)
class HashEmbedder:
    """An embedder whose vectors are made of the text's hash: equal texts coincide, all others are strangers.

    It knows nothing of meaning. It counts its work, so that a test can assert that no text is embedded twice.

    Attributes:
        dimension: of the vectors, at least 1.
        name: what tables and signatures call it.
        calls: how often it was asked.
        texts_seen: every text it was asked for, in order, repeats included.

    Source: BLAKE2b (RFC 7693) of the text.

    >>> embedder = HashEmbedder(dimension=8)
    >>> rows = embedder.embed(["a", "b", "a"])
    >>> rows.shape, bool((rows[0] == rows[2]).all()), embedder.calls, embedder.texts_seen
    ((3, 8), True, 1, ['a', 'b', 'a'])
    """

    dimension: int = 64
    name: str = "hash"
    calls: int = 0
    texts_seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"dimension is at least 1, not {self.dimension}")

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""
        return f"{self.name}@1,{self.dimension}d,unlimited,fp32"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, dimension)."""
        self.calls += 1
        self.texts_seen += texts
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = unit(self._entries(text))
        return rows

    def _entries(self, text: str) -> NDArray[np.float64]:
        """Entries in (−1, 1), evenly spread and never 0."""
        data = text.encode("utf-8", "surrogatepass")
        blocks = range(-(-4 * self.dimension // _DIGEST_BYTES))
        stream = b"".join(blake2b(data, salt=block.to_bytes(16, "little")).digest() for block in blocks)
        words = np.frombuffer(stream, dtype="<u4", count=self.dimension)
        return (words + 0.5) / 2.0**31 - 1.0
