"""Rows of a run by the two angles of SGI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.store.row_pages import plane_rows

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


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
    """An evenly spaced selection of the ``rows`` with both angles; on the diagonal SGI is 1."""

    metric: str
    points: tuple[PlanePoint, ...]
    rows: int


def plane(database: Database, record: RunRecord, *, most: int) -> Plane | None:
    """At most ``most`` rows by their two angles; None if no metric of the run stores them."""
    found = plane_rows(database, record, most=most)
    if found is None:
        return None
    points = tuple(
        PlanePoint(
            id=row.id,
            position=row.position,
            theta_rc=row.theta_rc,
            theta_rq=row.theta_rq,
            value=row.value,
            label=row.label,
        )
        for row in found.points
    )
    return Plane(found.metric, points, found.rows)
