"""Read the stored summaries of all finished runs at once, for trends and lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text
from sgi.store.stored_json import is_metric_summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.store.database import Database

TRACES = "traces"
"""The name of the series of the hourly runs of live traces, each of which has data of its own."""
TRACE_HOUR = re.compile(r"traces-\d{4}-\d\d-\d\dT\d\d(~\d+)?")
"""The name of the run that has the live traces of an hour, and of its data."""


@dataclass(frozen=True)
class SeriesEntry:
    """A finished run in a series: its stored summary, and the facts of the run that a trend uses.

    Attributes:
        data: name of its data; ``traces`` for an hour of live traces.
        dataset: the hash of its data.
        rows: the number of rows of its data.
        created_at: when it started, ISO 8601, UTC.
        summary: the stored summary as JSON text, which is parsed on each use (kept objects would
            make garbage collection slow); None if there is none.
    """

    id: str
    label: str
    data: str
    created_at: str
    summary: str | None = field(repr=False)
    dataset: str = ""
    rows: int = 0

    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """The stored metric summaries as unchecked JSON, by canonical name; empty if damaged."""
        try:
            summary = None if self.summary is None else orjson.loads(self.summary)
        except ValueError:
            return {}
        metrics = summary.get("metrics") if isinstance(summary, dict) else None
        found = [entry for entry in metrics if isinstance(entry, dict)] if isinstance(metrics, list) else []
        return {decode_text(str(entry.get("metric"))): entry for entry in found}

    def mean(self, metric: str) -> float | None:
        """Return the stored mean of a metric; None if there is none."""
        value = self.entries.get(metric, {}).get("mean")
        return float(value) if isinstance(value, (int, float)) else None

    def entry(self, metric: str) -> Mapping[str, Any] | None:
        """Return the stored summary of a metric; None if there is none or it is damaged."""
        entry = self.entries.get(metric)
        return entry if entry is not None and is_metric_summary(entry) else None


def run_history(database: Database, data: str | None = None) -> list[SeriesEntry]:
    """Return the finished runs, oldest first; with a name of data, only its runs.

    One SQL statement reads all summaries.
    """
    runs, datasets = schema.runs, schema.datasets
    columns = (runs.c.id, runs.c.name, runs.c.created_at, runs.c.dataset, datasets.c.rows)
    query = (
        sa.select(*columns, datasets.c.name.label("data"), sa.cast(runs.c.summary, sa.Text).label("summary"))
        .join(datasets)
        .where(runs.c.finished_at.is_not(None))
        .order_by(runs.c.created_at, runs.c.id)
    )
    if data is not None:
        name = datasets.c.name
        query = query.where(name.like(f"{TRACES}-%") if data == TRACES else name == encode_text(data))
    with database.reading() as connection:
        rows = connection.execute(query).all()
    found = [
        SeriesEntry(
            row.id,
            row.name or row.id,
            series_name(decode_text(row.data)),
            row.created_at,
            row.summary,
            row.dataset,
            row.rows,
        )
        for row in rows
    ]
    return found if data is None else [run for run in found if run.data == data]


def series_name(data: str) -> str:
    """Return the name of the series to which the runs with data of this name belong."""
    return TRACES if TRACE_HOUR.fullmatch(data) else data


def finished_metrics(database: Database) -> tuple[str, ...]:
    """Return the canonical names of the metrics of all finished runs, sorted."""
    runs, metrics = schema.runs, schema.run_metrics
    query = sa.select(metrics.c.metric).join(runs).where(runs.c.finished_at.is_not(None)).distinct()
    with database.reading() as connection:
        return tuple(sorted(connection.execute(query).scalars()))
