"""Read the rows of a run in the plane of the angles θ(r,c) and θ(r,q)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.store import schema
from sgi.store.bulk_rows import decode_text
from sgi.store.run_queries import metric_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_ANGLES = ("theta_rc", "theta_rq")
_ANGLE_ROWS = 100
"""How many rows of a metric are read to find out whether its details hold the two angles."""


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


def plane(database: Database, record: RunRecord, *, most: int) -> Plane | None:
    """Return the rows of a run in the plane of θ(r,c) and θ(r,q): at most ``most`` (≥ 1), evenly spaced.

    The angles come from the first metric whose details hold ``theta_rc`` and ``theta_rq``; None if there
    is no such metric. Of n > ``most`` rows with both and a value, those remain where ⌊k·(most − 1)/(n − 1)⌋
    increases, k = 0 … n − 1. This includes the first and the last.
    """
    if most < 1:
        raise UsageError("The query of rows is invalid: most must be at least 1.")
    with database.reading() as connection:
        numbers = metric_ids(connection, record.id)
        metric = _plane_metric(connection, numbers)
        if metric is None:
            return None
        rows = connection.execute(_select_spaced(connection, numbers[metric], record.dataset, most)).all()
    points = tuple(
        PlanePoint(decode_text(row.id), row.position, row.theta_rc, row.theta_rq, row.value, row.label)
        for row in rows
    )
    return Plane(metric, points, rows[0].n if rows else 0)


def select_in_plane(
    connection: Connection,
    record: RunRecord,
    bounds: tuple[float, float, float, float],
    numbers: Mapping[str, int],
) -> sa.Select[Any]:
    """Select the positions of the rows whose two angles are in the bounds, as `RowQuery.plane` has them.

    Raises UsageError if no metric of the run (by name, with its number) stores the two angles.
    """
    metric = _plane_metric(connection, numbers)
    if metric is None:
        message = f"No metric of {record.label} stores the two angles."
        raise UsageError(message, hint="Score the data with the metric sgi, which stores both.")
    details = schema.details
    rc, rq = _angles(connection, details.c.body)
    inside = rc.between(*bounds[:2]), rq.between(*bounds[2:])
    return sa.select(details.c.position).where(details.c.metric == numbers[metric], *inside)


def _select_spaced(connection: Connection, metric: int, dataset: str, most: int) -> sa.Select[Any]:
    """Select evenly spaced rows for the plot of two angles; the column ``n`` counts the rows before that."""
    details, scores, samples = schema.details, schema.scores, schema.samples
    place = (sa.func.row_number().over(order_by=scores.c.position) - 1).label("k")
    angles = _angles(connection, details.c.body)
    named = (angle.label(name) for name, angle in zip(_ANGLES, angles, strict=True))
    valued = (
        sa.select(scores.c.position, scores.c.value, *named, place, sa.func.count().over().label("n"))
        .join(details, (details.c.metric == metric) & (details.c.position == scores.c.position))
        .where(scores.c.metric == metric, scores.c.value.is_not(None))
        .where(*(angle.is_not(None) for angle in angles))
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


def _plane_metric(connection: Connection, numbers: Mapping[str, int]) -> str | None:
    """Return the first metric whose details hold the angles θ(r,c) and θ(r,q)."""
    details = schema.details
    for metric, number in numbers.items():
        first = sa.select(details.c.body).where(details.c.metric == number)
        some = first.order_by(details.c.position).limit(_ANGLE_ROWS).subquery()
        both = [angle.is_not(None) for angle in _angles(connection, some.c.body)]
        if connection.execute(sa.select(sa.literal(1)).where(*both).select_from(some).limit(1)).first():
            return metric
    return None


def _angles(connection: Connection, body: sa.ColumnElement[Any]) -> list[sa.ColumnElement[float]]:
    """Select θ(r,c) and θ(r,q) from the details of a row; NULL if they are not numbers."""
    return [_json_number(connection, body, name) for name in _ANGLES]


def _json_number(connection: Connection, body: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[float]:
    if connection.dialect.name == "sqlite":
        kind = sa.func.json_type(body, f"$.{name}", type_=sa.Text)
        value = sa.func.json_extract(body, f"$.{name}", type_=sa.Float(53))
        return sa.case((kind.in_(["real", "integer"]), value))
    kind = sa.func.json_typeof(body.op("->", return_type=sa.JSON())(name), type_=sa.Text)
    text = body.op("->>", return_type=sa.Text())(name)
    return sa.case((kind == "number", sa.cast(text, sa.Float(53))))
