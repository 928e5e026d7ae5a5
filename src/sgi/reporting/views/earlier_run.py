"""The run with which the overview of a run compares its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.engine.summary import Summary
from sgi.store.run_queries import run_before

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.engine.summary import MetricSummary
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class EarlierRun:
    """An earlier run with data of the same name, and the summaries of its metrics by canonical name."""

    id: str
    label: str
    metrics: Mapping[str, MetricSummary]


def earlier_run(database: Database, record: RunRecord) -> EarlierRun | None:
    """Return the last finished run before a run, with data of the same name; None if there is none."""
    before = run_before(database, record)
    if before is None or before.summary is None:
        return None
    summary = Summary.from_dict(before.summary)
    return EarlierRun(before.id, before.label, {metric.metric: metric for metric in summary.metrics})
