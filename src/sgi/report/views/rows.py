"""Rows of a run as a table: filtered, sorted and paginated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi.store.row_filters import RowQuery
from sgi.store.row_pages import find_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.database import Database
    from sgi.store.row_pages import PageRow
    from sgi.store.run_queries import RunRecord

EVERY_ROW = RowQuery()
"""The rows in the order of the data, from the first."""


@dataclass(frozen=True)
class Cell:
    """A value in the table.

    Attributes:
        value: None where there is none.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty where there is one.
    """

    value: float | None
    status: str
    reason: str


@dataclass(frozen=True)
class RowLine:
    """A row of the table.

    Attributes:
        id: the sample's.
        position: its place in the data.
        label: known truth; None where there is none.
        question: its beginning.
        response: its beginning.
        cells: by the metric's canonical string.
    """

    id: str
    position: int
    label: bool | None
    question: str
    response: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class RowPage:
    """Some rows of a run.

    Attributes:
        metrics: the columns of values, canonical strings.
        rows: of this page.
        total: how many rows the filters leave.
        of: how many rows of the run are scored.
        query: what was asked for, with the page that is shown and the metric's canonical string.
        pages: how many pages there are, at least 1.
    """

    metrics: tuple[str, ...]
    rows: tuple[RowLine, ...]
    total: int
    of: int
    query: RowQuery
    pages: int


def row_page(database: Database, record: RunRecord, query: RowQuery = EVERY_ROW) -> RowPage:
    """A page of the scored rows of a run; the last one where fewer pages are there than was asked for.

    Args:
        database: where the run is.
        record: the run.
        query: which rows, in which order, which page.

    Raises:
        UnknownNameError: the run has no such metric, or several of that name.
        UsageError: a part of the plane is asked for, and no metric of the run has kept the two angles.
    """
    found_rows = find_rows(database, record, query)
    shown = replace(query, page=found_rows.page, metric=found_rows.metric)
    rows = tuple(map(_line, found_rows.rows))
    return RowPage(found_rows.metrics, rows, found_rows.total, found_rows.of, shown, found_rows.pages)


def _line(row: PageRow) -> RowLine:
    return RowLine(
        id=row.id,
        position=row.position,
        label=row.label,
        question=row.question,
        response=row.response,
        cells={metric: Cell(*score) for metric, score in row.scores.items()},
    )
