"""What judges said of the rows of a run, as it was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.run_queries import metric_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

Said = tuple["Mapping[str, JsonValue] | None", ...]
"""What was said of consecutive rows; None where nothing was."""


class KeptEvidence(NamedTuple):
    """What there is of a metric's evidence."""

    version: int
    """Of the metric, when it was scored; 0 where nothing was computed here."""
    rows: int
    """How many rows have some."""

    @property
    def usable(self) -> bool:
        """Whether there is any that was made here, so that it can be read as the metric's own."""
        return bool(self.rows and self.version)


def kept_evidence(database: Database, record: RunRecord) -> dict[str, KeptEvidence]:
    """The metrics of a run, in the order asked, with what there is of their evidence."""
    metrics, evidence = schema.run_metrics, schema.evidence
    rows = sa.select(sa.func.count()).where(evidence.c.metric == metrics.c.id).scalar_subquery()
    query = sa.select(metrics.c.metric, metrics.c.version, rows).where(metrics.c.run == record.id)
    with database.reading() as connection:
        found = connection.execute(query.order_by(metrics.c.position)).all()
    return {name: KeptEvidence(version, count) for name, version, count in found}


def stored_evidence(
    database: Database, record: RunRecord, positions: Sequence[int], metrics: Iterable[str]
) -> dict[str, Said]:
    """What was said of these consecutive rows, by canonical string.

    Args:
        database: where the run is.
        record: the run.
        positions: of the rows.
        metrics: canonical strings; KeyError for one that the run does not have.
    """
    table = schema.evidence
    found = {}
    with database.reading() as connection:
        ids = metric_ids(connection, record.id)
        for name in metrics:
            query = sa.select(table.c.position, table.c.body).where(
                table.c.metric == ids[name], table.c.position.between(positions[0], positions[-1])
            )
            bodies = {row.position: row.body for row in connection.execute(query)}
            found[name] = tuple(bodies.get(position) for position in positions)
    return found
