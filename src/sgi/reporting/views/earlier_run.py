"""The run with which the overview of a run compares its numbers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.changes import MetricChange, metric_changes
from sgi.engine.stored_runs import read_run
from sgi.engine.summary import Summary
from sgi.kernel.errors import DataError, UnknownNameError
from sgi.store.run_queries import run_before

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

MAX_COMPARED = 20_000
"""Maximum rows of a run that is compared with the run before; of larger ones the means are subtracted."""


@dataclass(frozen=True)
class EarlierRun:
    """An earlier run with data of the same name, and the changes since it by canonical metric."""

    id: str
    label: str
    changes: Mapping[str, MetricChange]


def earlier_run(database: Database, record: RunRecord) -> EarlierRun | None:
    """Return the last finished run before a run, with data of the same name; None if there is none."""
    before = run_before(database, record)
    if before is None or record.weights is None:
        return None if before is None else changes_since(database, before, record)
    with suppress(UnknownNameError, DataError):  # the earlier run has no such weights
        if max(before.rows, record.rows) <= MAX_COMPARED:
            return changes_since(database, before.with_weights(record.weights), record)
    return None


def changes_since(database: Database, before: RunRecord, record: RunRecord) -> EarlierRun:
    """Return what changed in a run since an earlier one; see `metric_changes`."""
    if max(before.rows, record.rows) > MAX_COMPARED:
        return EarlierRun(before.id, before.label, _mean_differences(before, record))
    changes = metric_changes(read_run(database, before), read_run(database, record))
    return EarlierRun(before.id, before.label, changes)


def _mean_differences(before: RunRecord, record: RunRecord) -> dict[str, MetricChange]:
    """Subtract the means of the stored summaries."""
    summaries = (Summary.from_dict(run.summary).metrics if run.summary else () for run in (before, record))
    old, new = ({one.metric: one.mean for one in metrics} for metrics in summaries)
    pairs = ((name, old.get(name), mean) for name, mean in new.items())
    return {
        name: MetricChange(mean - earlier)
        for name, earlier, mean in pairs
        if earlier is not None and mean is not None
    }
