"""Columns that hold nothing: found in the first rows, before a column is chosen for each field."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sgi.io.cells import is_absent
from sgi.io.columns import ambiguous
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.columns import Pairs
    from sgi.io.rows import RawRow

MAX_ROWS = 1000


@dataclass(frozen=True)
class NullColumns:
    """Columns that are passed over since they hold nothing and another one means the same field.

    Attributes:
        columns: their names.
        rows: in how many first rows they are null; None for every row.
    """

    columns: frozenset[str] = frozenset()
    rows: int | None = None

    def why(self) -> str:
        """The reason, in words.

        >>> NullColumns(frozenset({"a"}), 1000).why()
        'null in the first 1,000 rows'
        """
        return "null in every row" if self.rows is None else f"null in the first {self.rows:,} rows"


def look_ahead(
    rows: Iterator[RawRow], mapping: Pairs, limit: int = MAX_ROWS
) -> tuple[Iterator[RawRow], NullColumns]:
    """Find the columns that hold nothing, reading no more rows than it takes.

    Reading stops as soon as the preferred column of every field has a value, which is the first row in most
    data, and at the latest after ``limit`` rows.

    Args:
        rows: raw rows.
        mapping: from `sgi.io.columns.checked_mapping`; its fields need no choice.
        limit: how many rows are read ahead at most.

    Returns:
        All rows, and the columns found null.
    """
    head: list[RawRow] = []
    seen: dict[str, None] = {}
    filled: set[str] = set()
    doubtful: list[tuple[str, ...]] = []
    for row in rows:
        head.append(row)
        if isinstance(row.values, Sample):
            break
        if not isinstance(row.values, DataError):
            seen |= dict.fromkeys(row.values)
            filled |= {column for column, value in row.values.items() if not is_absent(value)}
            doubtful = [found for found in ambiguous(tuple(seen), mapping) if found[0] not in filled]
            if not doubtful:
                break
        if len(head) >= limit:
            break
    else:
        return iter(head), NullColumns(_before_the_first(doubtful, filled))
    return chain(head, rows), NullColumns(_before_the_first(doubtful, filled), len(head))


def _before_the_first(doubtful: list[tuple[str, ...]], filled: set[str]) -> frozenset[str]:
    """The columns that are preferred to the first one that has a value."""
    return frozenset(
        column
        for found in doubtful
        if not filled.isdisjoint(found)
        for column in found[: next(n for n, column in enumerate(found) if column in filled)]
    )
