"""Find empty columns in the first rows, so that each field uses a column with values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from sgi.io.columns import ambiguous, known_name
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import size_of
from sgi.kernel.raw_values import is_absent
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.columns import Pairs
    from sgi.io.raw_rows import RawRow

MAX_ROWS = 1000
MAX_BYTES = 16_000_000
"""The maximum memory for rows that are read ahead."""


@dataclass(frozen=True)
class NullColumns:
    """Columns that are skipped because they are empty and another column matches the same field.

    ``rows`` is the number of rows, from the first, in which they are null; None if they are null in every
    row.
    """

    columns: frozenset[str] = frozenset()
    rows: int | None = None

    def why(self) -> str:
        """Describe why the columns are skipped, such as ``null in the first 1,000 rows``."""
        return "null in every row" if self.rows is None else f"null in the first {self.rows:,} rows"


def look_ahead(
    rows: Iterator[RawRow], mapping: Pairs, limit: int = MAX_ROWS
) -> tuple[Iterator[RawRow], NullColumns]:
    """Find the empty columns; return all rows, and these columns.

    Reading stops when the preferred column of every field has a value (in most data, at the first row), and
    at the latest after ``limit`` rows or 16 MB. Fields with a mapping are not considered.
    """
    head: list[RawRow] = []
    held = 0
    seen: set[str] = set()
    known: dict[str, str] = {}
    filled: set[str] = set()
    doubtful: list[tuple[str, ...]] = []
    for row in rows:
        head.append(row)
        if isinstance(row.values, Sample):
            break
        held += len(row.text) if isinstance(row.values, DataError) else size_of(row.values, MAX_BYTES)
        if not isinstance(row.values, DataError):
            new = row.values.keys() - seen
            seen |= new
            for column in filter(new.__contains__, row.values):
                name = known_name(column)
                if name is not None and (name == column or name not in known):
                    known[name] = column
            filled |= {column for column, value in row.values.items() if not is_absent(value)}
            doubtful = [
                texts for texts in ambiguous(tuple(known.values()), mapping) if texts[0] not in filled
            ]
            if not doubtful:
                break
        if len(head) >= limit or held >= MAX_BYTES:
            break
    else:
        return iter(head), NullColumns(_before_the_first(doubtful, filled))
    return chain(head, rows), NullColumns(_before_the_first(doubtful, filled), len(head))


def _before_the_first(doubtful: list[tuple[str, ...]], filled: set[str]) -> frozenset[str]:
    return frozenset(
        column
        for texts in doubtful
        if not filled.isdisjoint(texts)
        for column in texts[: next(n for n, column in enumerate(texts) if column in filled)]
    )
