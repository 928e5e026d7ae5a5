"""Record which runs a gate (a pass/fail check) decided on which questions, to count looks at data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text, insert_rows
from sgi.store.schema import now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.store.database import Database


def earlier_looks(database: Database, questions: str, run: str) -> dict[tuple[str, str], int]:
    """Count the other runs that a gate checked before this one, by metric and side of the rule.

    ``questions`` is the hash of the set of questions. If the run was gated before, only runs that were gated
    before it count, so that gating a run again is not a new look.
    """
    gates, own = schema.gates, schema.gates.alias("own")
    first = (
        (own.c.questions == gates.c.questions)
        & (own.c.metric == gates.c.metric)
        & (own.c.side == gates.c.side)
        & (own.c.run == run)
    )
    query = (
        sa.select(gates.c.metric, gates.c.side, sa.func.count().label("runs"))
        .select_from(gates.outerjoin(own, first))
        .where(gates.c.questions == questions, gates.c.run != run)
        .where(own.c.run.is_(None) | (gates.c.decided_at < own.c.decided_at))
        .group_by(gates.c.metric, gates.c.side)
    )
    with database.reading() as connection:
        return {(decode_text(row.metric), row.side): int(row.runs) for row in connection.execute(query)}


def record_gate(
    database: Database, questions: str, run: str, decisions: Iterable[tuple[str, str, str, bool]]
) -> None:
    """Record that a run was gated; earlier records stay.

    ``decisions`` holds metric, side, rule and whether it was met. Raises StoreError if writing fails.
    """
    moment = now()
    rows = (
        (questions, encode_text(metric), side, run, encode_text(rule), passed, moment)
        for metric, side, rule, passed in decisions
    )
    with database.writing() as connection:
        insert_rows(connection, schema.gates, rows, unless_there=True)
