"""The vectors of a batch's texts from one embedder, and which texts it has none for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

from sgi.engine.in_thread import in_thread
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.protocols import encode
from sgi.kernel.vectors import VectorTable, unusable_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.protocols import Embedder


@dataclass(frozen=True, eq=False)
class TextVectors:
    """What one embedder returned for the texts of a batch.

    Attributes:
        table: the vectors.
        unusable: texts without a usable vector.
        failure: why there is no vector at all; empty where there are some.
    """

    table: VectorTable
    unusable: frozenset[str] = frozenset()
    failure: str = ""


async def text_vectors(model: str, embedder: Embedder, texts: Sequence[str]) -> TextVectors:
    """The vectors of these texts, computed in a thread; texts without a vector are named and left out."""
    unusable: frozenset[str] = frozenset()
    while True:
        asked = [text for text in texts if text not in unusable]
        try:
            rows, cut = await in_thread(encode, embedder, asked)
            bad = unusable_rows(model, asked, rows)
        except EmbedderError as error:
            named = frozenset(error.texts if isinstance(error, NonFiniteVectorError) else ()) - unusable
            if not named:
                return TextVectors(VectorTable(model), failure=str(error))
            unusable |= named
        else:
            sound = list(compress(asked, ~bad))
            table = VectorTable.of(model, sound, rows[~bad], truncated=compress(asked, cut))
            return TextVectors(table, unusable.union(compress(asked, bad)))
