"""Rows that make the rules of a gate fail, and the worst rows, with their lines in the data file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.analysis.amounts import format_value
from sgi.engine.stored_runs import read_run
from sgi.io.files import row_lines
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.metric import Status
from sgi.store.row_query import RowQuery, row_page, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.gate import GateReport
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    _Row = tuple[str, str, str, str]


@dataclass(frozen=True)
class FailingRow:
    """A row that violates a rule, has no value although the rule needs one, or has a low value.

    Attributes:
        rule: the rule as text; for a row with a low value, the metric.
        id: the id of the row.
        line: its first line in the data file, from 1; None if unknown.
        result: the value (``0.2100``, ``0.9000 → 0.2100``, ``2,301 ms``), or the status and the reason.
        response: the start of the response; empty if the run has no texts.
    """

    rule: str
    id: str
    line: int | None
    result: str
    response: str


def failing_rows(
    database: Database, record: RunRecord, report: GateReport, *, most: int
) -> tuple[FailingRow, ...]:
    """Return the failing rows of each failed rule: at most ``most`` with a value, and ``most`` without."""
    return _with_lines(
        record,
        [row for check in report.checks if not check.passed for row in _rows(database, record, check, most)],
    )


def worst_rows(
    database: Database, record: RunRecord, metrics: Iterable[str], *, most: int
) -> tuple[FailingRow, ...]:
    """Return the rows with the worst values of each metric; metrics that the run lacks are left out."""
    rows: list[_Row] = []
    for metric in dict.fromkeys(metrics):
        with suppress(UnknownNameError):
            rows += _worst(database, record, metric, most)
    return _with_lines(record, rows)


def data_file(record: RunRecord) -> Path | None:
    """Return the data file of a run; None if the run has another kind of data."""
    path = record.spec.get("data")
    return Path(path) if isinstance(path, str) and path else None


def line_of_row(record: RunRecord, name: str) -> int | None:
    """Return the line of a row in the data file of a run; None if the file has no lines or has changed."""
    return _lines(record, {name}).get(name)


def _worst(database: Database, record: RunRecord, metric: str, most: int) -> Iterator[_Row]:
    column = read_run(database, record).metric(metric)
    order = worst_first(higher_is_better=column.higher_is_better)
    page = row_page(database, record, RowQuery(metric=metric, status=Status.OK.value, sort=order, size=most))
    for row in page.rows:
        yield metric, row.id, format_value(row.cells[column.metric].value, column.unit), row.response


def _with_lines(record: RunRecord, rows: Sequence[_Row]) -> tuple[FailingRow, ...]:
    lines = _lines(record, {name for _, name, _, _ in rows})
    return tuple(FailingRow(rule, name, lines.get(name), *texts) for rule, name, *texts in rows)


def _rows(database: Database, record: RunRecord, check: Check, most: int) -> Iterator[_Row]:
    for row in check.worst:
        before = "" if row.before is None else f"{check.format(row.before)} → "
        yield check.rule, row.id, f"{before}{check.format(row.value)}", row.response
    left = most
    for status in Status:
        if status is not Status.OK and left > 0:
            for name, result, response in _without_value(database, record, check, status, left):
                left -= 1
                yield check.rule, name, result, response


def _without_value(
    database: Database, record: RunRecord, check: Check, status: Status, most: int
) -> Iterator[tuple[str, str, str]]:
    column, _, value = check.where.partition("=")
    group = (column, value) if column else None
    query = RowQuery(metric=check.metric, status=status.value, group=group, size=most)
    try:
        page = row_page(database, record, query)
    except UnknownNameError:  # the gate has reported that the run does not have the metric
        return
    name = page.query.metric or check.metric
    for row in page.rows:
        yield row.id, f"{status.value}: {row.cells[name].reason}", row.response


def _lines(record: RunRecord, ids: set[str]) -> dict[str, int]:
    path = data_file(record)
    columns, encoding = record.spec.get("columns"), record.spec.get("encoding")
    return {} if path is None else row_lines(path, ids, columns=columns, encoding=encoding)
