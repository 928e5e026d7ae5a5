"""Finished runs with stored summaries and no rows, for lists and trends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.engine.summary import MetricSummary, Summary
from sgi.kernel.metric import Status
from sgi.stats.intervals import Interval
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.store.database import Database


def _summary(mean: float, half: float, metric: str) -> str:
    """A stored summary with the mean of one metric and its interval."""
    counts = dict.fromkeys(Status, 0) | {Status.OK: 100}
    interval = Interval(mean - half, mean + half, 0.95, "t")
    made = MetricSummary(metric, mean, interval, 0.1, counts, None, is_score=True)
    return json.dumps(Summary(100, 100, 0, 0, (made,), (), 0, {}, {}, "sgi:1").to_dict())


def add_runs(
    database: Database,
    means: Sequence[float],
    *,
    data: str = "answers.jsonl",
    first: int = 0,
    half: float = 0.02,
    metric: str = "grounding",
) -> None:
    """Add a finished run for each mean, a minute apart; the id of run 7 is r0007."""
    with database.writing() as connection:
        numbers = range(first, first + len(means))
        insert_rows(
            connection, schema.datasets, [(data, data, 100, "2026-01-01T00:00:00")], unless_there=True
        )
        made = []
        for n, mean in zip(numbers, means, strict=True):
            at = f"2026-01-{1 + n // 1440:02}T{n // 60 % 24:02}:{n % 60:02}:00"
            facts = ("{}", "hash", "sgi:1", "{}", at, at, None, 0, _summary(mean, half, metric))
            made.append((f"r{n:04}", data, f"run {n}", *facts))
        insert_rows(connection, schema.runs, made)
        batches = [(f"r{n:04}", 0, 100 - n % 7, "{}", "{}", None) for n in numbers]
        insert_rows(connection, schema.batches, batches)
        for n in numbers:
            row = {"run": f"r{n:04}", "position": 0, "metric": metric, "version": 1}
            connection.execute(sa.insert(schema.run_metrics).values(row | {"higher_is_better": True}))
