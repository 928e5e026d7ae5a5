"""A list of lists, stored as one flat column of values with offsets, as in Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Ragged(Generic[T]):
    """A list of rows of different lengths; row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    >>> passages = Ragged.from_rows([("a", "b"), (), ("c",)])
    >>> passages[0], passages[1], len(passages)
    (('a', 'b'), (), 3)
    >>> passages.lengths.tolist(), passages.owners.tolist()
    ([2, 0, 1], [0, 0, 2])
    """

    values: tuple[T, ...]
    offsets: NDArray[np.int64]

    __repr__ = short_repr

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[T]]) -> Ragged[T]:
        """Make a `Ragged` from rows of any lengths."""
        tuples = [tuple(row) for row in rows]
        offsets = np.zeros(len(tuples) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in tuples], out=offsets[1:])
        return cls(tuple(chain.from_iterable(tuples)), offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values of each row, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The row number of each value, shape (len(values),)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int | np.integer) -> tuple[T, ...]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} does not exist; there are {len(self)} rows")
        row = int(row) % len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[tuple[T, ...]]:
        return (self[row] for row in range(len(self)))
