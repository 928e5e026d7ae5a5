"""Stored summaries of all finished runs, gates of the same questions, and notes on trends."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_text import name_problem, shorten
from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text, insert_rows
from sgi.store.schema import now
from sgi.store.stored_json import is_metric_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


LONGEST_ANNOTATION = 200
"""Characters."""


@dataclass(frozen=True)
class Annotation:
    """A note on a moment (ISO 8601, UTC) of the trends of data."""

    id: str
    data: str
    at: str
    text: str


def annotate(database: Database, data: str, text: str, at: str = "") -> Annotation:
    """Add a note to the trends of data; ``at`` is an ISO 8601 time (UTC if it has no zone), or empty for now.

    Raises:
        UsageError: the text or the time is not valid.
    """
    note = text.strip()
    if reason := name_problem(note, longest=LONGEST_ANNOTATION):
        hint = f"An annotation has 1 to {LONGEST_ANNOTATION} printable characters."
        raise UsageError(f"{shorten(text)!r} is not an annotation: {reason}.", hint=hint)
    added = Annotation(secrets.token_hex(8), data, _moment(at), note)
    with database.writing() as connection:
        row = (added.id, encode_text(data), added.at, encode_text(note))
        insert_rows(connection, schema.trend_annotations, [row])
    return added


def list_annotations(database: Database, data: str) -> tuple[Annotation, ...]:
    """Return the notes on the trends of data, the oldest first."""
    table = schema.trend_annotations
    query = sa.select(table).where(table.c.data == encode_text(data)).order_by(table.c.at, table.c.id)
    with database.reading() as connection:
        return tuple(map(_annotation, connection.execute(query)))


def delete_annotation(database: Database, annotation: str) -> Annotation:
    """Delete a note and return it. Raises UnknownNameError if there is none with this id."""
    table = schema.trend_annotations
    with database.writing() as connection:
        row = connection.execute(sa.delete(table).where(table.c.id == annotation).returning(table)).first()
    if row is None:
        raise UnknownNameError("annotation", annotation, hint="Reload the page of trends.")
    return _annotation(row)


def _annotation(row: sa.Row[Any]) -> Annotation:
    return Annotation(row.id, decode_text(row.data), row.at, decode_text(row.text))


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.strip()) if text.strip() else datetime.now(UTC)
        zoned = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "Write it as in 2026-11-23T16:00, which is UTC, or 2026-11-23T16:00+01:00."
        raise UsageError(f"{shorten(text)!r} is not a time.", hint=hint) from None
    return zoned.isoformat(timespec="milliseconds")


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
