"""The angles θ(r,c) and θ(r,q) of rows, as the database reads them out of the details of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_LOOKED_AT = 100
"""So many rows of a metric tell whether its details hold the two angles."""


def plane_metric(connection: Connection, numbers: Mapping[str, int]) -> tuple[str, int] | None:
    """The first metric whose details hold the two angles, and its number."""
    details = schema.details
    for metric, number in numbers.items():
        first = sa.select(details.c.body).where(details.c.metric == number)
        some = first.order_by(details.c.position).limit(_LOOKED_AT).subquery()
        both = [angle.is_not(None) for angle in angles_in(connection, some.c.body)]
        if connection.execute(sa.select(sa.literal(1)).where(*both).select_from(some).limit(1)).first():
            return metric, number
    return None


def angles_in(connection: Connection, body: sa.ColumnElement[Any]) -> tuple[sa.ColumnElement[float], ...]:
    """θ(r,c) and θ(r,q) in the details of a row; NULL where they are not numbers."""
    return tuple(_number(connection, body, name) for name in ("theta_rc", "theta_rq"))


def _number(connection: Connection, body: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[float]:
    if connection.dialect.name == "sqlite":
        kind = sa.func.json_type(body, f"$.{name}", type_=sa.Text)
        value = sa.func.json_extract(body, f"$.{name}", type_=sa.Float(53))
        return sa.case((kind.in_(["real", "integer"]), value))
    kind = sa.func.json_typeof(body.op("->", return_type=sa.JSON())(name), type_=sa.Text)
    text = body.op("->>", return_type=sa.Text())(name)
    return sa.case((kind == "number", sa.cast(text, sa.Float(53))))
