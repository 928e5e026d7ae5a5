"""Read a page of the rows of a run, or its rows in the plane of the angles θ(r,c) and θ(r,q)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.metric import Status
from sgi.kernel.names import metric_label
from sgi.kernel.placeholders import display_text
from sgi.kernel.registry import metric_name
from sgi.store import schema
from sgi.store.row_columns import RowColumns
from sgi.store.row_filters import (
    RowQuery,
    angles_in,
    plane_metric,
    require,
)
from sgi.store.row_positions import row_positions
from sgi.store.run_queries import metric_ids
from sgi.store.samples import shown_response, with_answers
from sgi.store.text_codec import decode_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_QUESTION, _RESPONSE = 300, 400
_CUT_ESCAPE = re.compile("\ufdd0[0-9a-f]{0,3}$")


@dataclass(frozen=True)
class Cell:
    """A value in the table.

    Attributes:
        value: the value; None if there is none.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty if there is one.
    """

    value: float | None
    status: str
    reason: str


_UNKNOWN = Cell(None, Status.MISSING.value, "the run does not store its score")


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
        metrics: canonical names of the shown metrics, one for each column.
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


@dataclass(frozen=True)
class PlanePoint:
    """A row by its SGI and the angles (radians) of its response to context (rc) and question (rq)."""

    id: str
    position: int
    theta_rc: float
    theta_rq: float
    value: float
    label: bool | None


@dataclass(frozen=True)
class Plane:
    """Evenly spaced ``points`` among the ``rows`` that have both angles; SGI is 1 on the diagonal."""

    metric: str
    points: tuple[PlanePoint, ...]
    rows: int


def row_page(
    database: Database,
    record: RunRecord,
    query: RowQuery,
    *,
    columns: RowColumns | None = None,
    shown: Collection[str] | None = None,
) -> RowPage:
    """Return a page of the scored rows of a run; the last page if the requested one does not exist.

    ``columns`` keeps what was read for one page for others. ``shown`` selects the metrics; None for all.

    Raises UnknownNameError if the run has no such metric, or several of that name; UsageError if the query
    has a ``plane`` and no metric of the run stores the two angles.
    """
    columns = columns or RowColumns(database, record)
    with database.reading() as connection:
        numbers = metric_ids(connection, record.id)
        metric = None if query.metric is None else _metric_of_query(query.metric, numbers, record)
        whole = replace(query, metric=metric, page=1, size=1)
        positions = columns.cached(whole, lambda: row_positions(connection, record, whole, numbers, columns))
        of = len(columns.positions(connection))
        page, pages = _page_number(query, len(positions))
        on_page = positions[(page - 1) * query.size : page * query.size].tolist()
        chosen = {name: n for name, n in numbers.items() if shown is None or name in shown}
        rows = _page_rows(connection, record, on_page, chosen)
    columns.save()
    place = replace(query, page=page, metric=metric)
    return RowPage(tuple(chosen), rows, len(positions), of, place, pages)


def plane(database: Database, record: RunRecord, *, most: int) -> Plane | None:
    """Return the rows of a run in the plane of θ(r,c) and θ(r,q): at most ``most`` (≥ 1), evenly spaced.

    The angles are those of the first metric whose details hold ``theta_rc`` and ``theta_rq``; None if there
    is no such metric. Of n > ``most`` rows with both and a value, those remain where ⌊k·(most − 1)/(n − 1)⌋
    increases, k = 0 … n − 1. This includes the first and the last.
    """
    require(most >= 1, "most", "is 1 or more")
    with database.reading() as connection:
        found = plane_metric(connection, metric_ids(connection, record.id))
        if found is None:
            return None
        metric, number = found
        rows = connection.execute(_select_spaced(connection, number, record.dataset, most)).all()
    points = tuple(
        PlanePoint(decode_text(row.id), row.position, row.theta_rc, row.theta_rq, row.value, row.label)
        for row in rows
    )
    return Plane(metric, points, rows[0].n if rows else 0)


def _metric_of_query(name: str, numbers: Mapping[str, int], record: RunRecord) -> str:
    bare = [metric for metric in numbers if metric_name(metric) == name]
    if name in numbers:
        return name
    if len(bare) == 1:
        return bare[0]
    raise UnknownNameError(
        f"metric of {record.label}", name, hint=f"It has: {', '.join(map(metric_label, numbers))}."
    )


def _select_spaced(connection: Connection, metric: int, dataset: str, most: int) -> sa.Select[Any]:
    """Select evenly spaced rows for the plot of two angles; the column ``n`` counts the rows before that."""
    details, scores, samples = schema.details, schema.scores, schema.samples
    place = (sa.func.row_number().over(order_by=scores.c.position) - 1).label("k")
    angles = dict(zip(("theta_rc", "theta_rq"), angles_in(connection, details.c.body), strict=True))
    named = (angle.label(name) for name, angle in angles.items())
    valued = (
        sa.select(scores.c.position, scores.c.value, *named, place, sa.func.count().over().label("n"))
        .join(details, (details.c.metric == metric) & (details.c.position == scores.c.position))
        .where(scores.c.metric == metric, scores.c.value.is_not(None))
        .where(*(angle.is_not(None) for angle in angles.values()))
        .subquery()
    )
    n, k = valued.c.n, valued.c.k
    now, before = ((at * sa.literal(most - 1)).op("/")(sa.func.nullif(n - 1, 0)) for at in (k, k - 1))
    return (
        sa.select(valued, samples.c.id, samples.c.label)
        .join(samples, (samples.c.dataset == dataset) & (samples.c.position == valued.c.position))
        .where(sa.or_(n <= most, k == 0, now > before))
        .order_by(valued.c.position)
    )


def _page_number(query: RowQuery, total: int) -> tuple[int, int]:
    pages = max(1, -(-total // query.size))
    return min(query.page, pages), pages


def _page_rows(
    connection: Connection, record: RunRecord, positions: Sequence[int], numbers: Mapping[str, int]
) -> tuple[RowLine, ...]:
    samples = schema.samples
    texts = (
        sa.func.substr(samples.c.question, 1, _QUESTION).label("question"),
        sa.func.substr(shown_response(), 1, _RESPONSE).label("response"),
    )
    query = (
        sa.select(samples.c.position, samples.c.id, samples.c.label, *texts)
        .select_from(with_answers(record.id))
        .where(samples.c.dataset == record.dataset, samples.c.position.in_(positions))
    )
    scores = _scores(connection, positions, numbers)
    rows = {row.position: row for row in connection.execute(query).all()}
    return tuple(
        RowLine(
            id=decode_text(rows[position].id),
            position=position,
            label=rows[position].label,
            question=_decode_beginning(rows[position].question),
            response=_decode_beginning(rows[position].response),
            cells={name: scores.get((number, position), _UNKNOWN) for name, number in numbers.items()},
        )
        for position in positions
    )


def _scores(
    connection: Connection, positions: Sequence[int], numbers: Mapping[str, int]
) -> dict[tuple[int, int], Cell]:
    scores = schema.scores
    ours = scores.c.metric.in_(list(numbers.values())) & scores.c.position.in_(positions)
    query = sa.select(scores.c.metric, scores.c.position, scores.c.value, scores.c.status, scores.c.reason)
    return {
        (metric, position): Cell(value, status, decode_text(reason or ""))
        for metric, position, value, status, reason in connection.execute(query.where(ours)).all()
    }


def _decode_beginning(text: str | None) -> str:
    """Decode the beginning of a text; a character that was cut in two is left out."""
    return "" if text is None else display_text(decode_text(_CUT_ESCAPE.sub("", text)))
