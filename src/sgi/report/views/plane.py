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
    """A row in the plane of θ(r,c) and θ(r,q).

    Attributes:
        id: the sample's.
        position: its place in the data.
        theta_rc: angle between response and context, radians.
        theta_rq: angle between response and question, radians.
        value: its SGI.
        label: known truth; None where there is none.
    """

    id: str
    position: int
    theta_rc: float
    theta_rq: float
    value: float
    label: bool | None


@dataclass(frozen=True)
class Plane:
    """The rows of a run in the plane of the two angles; on the diagonal SGI is 1.

    Attributes:
        metric: whose angles they are, a canonical string.
        points: evenly spaced over the data where there are more rows than were wanted.
        rows: how many rows have both angles.
    """

    metric: str
    points: tuple[PlanePoint, ...]
    rows: int


def plane(database: Database, record: RunRecord, *, most: int) -> Plane | None:
    """The rows in the plane of the two angles; None where no metric of the run has kept them.

    Args:
        database: where the run is.
        record: the run.
        most: how many points at most; of more rows, evenly spaced ones are taken.
    """
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
