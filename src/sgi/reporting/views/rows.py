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
        id: the id of the sample.
        position: its position in the data.
        label: the known label; None if there is none.
        question: the start of the question.
        response: the start of the response.
        cells: values by the canonical name of the metric.
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
        metrics: canonical names of the columns.
        rows: the rows of this page.
        total: number of rows that match the filters.
        of: number of scored rows of the run.
        query: the request, with the page shown and the canonical name of the metric.
        pages: number of pages, at least 1.
    """

    metrics: tuple[str, ...]
    rows: tuple[RowLine, ...]
    total: int
    of: int
    query: RowQuery
    pages: int


def row_page(database: Database, record: RunRecord, query: RowQuery = EVERY_ROW) -> RowPage:
    """A page of the scored rows of a run; the last page if the requested one does not exist.

    Raises:
        UnknownNameError: the run has no such metric, or several of that name.
        UsageError: the query selects a part of the plane, and no metric of the run stores the two angles.
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
