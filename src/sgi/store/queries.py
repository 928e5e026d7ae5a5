"""Which runs there are, and what is known of each without its rows."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UnknownName, UsageError
from sgi.kernel.ports import Usage
from sgi.store import schema
from sgi.store.recorder import RunRecorder, has_all_samples
from sgi.store.texts import restored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from sgi.store.database import Database

_LAST = re.compile(r"last(?:~(\d{1,9}))?")
_NOTHING: Mapping[str, Any] = {}
_SHOWN = 20


@dataclass(frozen=True)
class RunRecord:
    """What the store knows of a run, without its rows.

    Attributes:
        id: sorts by time.
        name: the user's name for it.
        dataset: the hash of its samples.
        dataset_name: what messages call the data.
        rows: how many samples the data has.
        scored: how many of them are committed.
        metrics: canonical strings, in the order asked.
        spec: how it was asked for.
        spec_hash: tells specs apart that can give other numbers.
        signature: everything that can change a number.
        versions: of the packages that made the numbers.
        created_at: ISO 8601, UTC.
        finished_at: likewise; None while there are rows to do.
        stopped: why it ended before its time.
        rejected: rows that could not be read.
        summary: the headline, once it is finished.
    """

    id: str
    name: str | None
    dataset: str
    dataset_name: str
    rows: int
    scored: int
    metrics: tuple[str, ...]
    spec: Mapping[str, Any]
    spec_hash: str
    signature: str
    versions: Mapping[str, str]
    created_at: str
    finished_at: str | None
    stopped: str | None
    rejected: int
    summary: Mapping[str, Any] | None

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.name or self.id

    @property
    def finished(self) -> bool:
        """Whether every row is done."""
        return self.finished_at is not None


def list_runs(database: Database) -> list[RunRecord]:
    """All runs, the newest first."""
    newest = (schema.runs.c.created_at.desc(), schema.runs.c.id.desc())
    with database.reading() as connection:
        return _records(connection, _runs().order_by(*newest))


def find_run(database: Database, wanted: str) -> RunRecord:
    """The run with this id, this name, or this unique beginning of an id; or ``last``, ``last~1`` before it.

    Raises:
        UnknownName: there is none; says which come near.
        UsageError: several ids begin so, or there is no run at all.
    """
    with database.reading() as connection:
        ids = _ids(connection)
        if not ids:
            raise UsageError(f"There is no run in {database.shown} yet.", hint="Make one with `sgi run`.")
        run = _resolve(wanted, ids)
        return _records(connection, _runs().where(schema.runs.c.id == run))[0]


def run_usage(database: Database, run: str) -> dict[str, Usage]:
    """What judges took for the run with this id, by their fingerprints."""
    table = schema.usage
    with database.reading() as connection:
        rows = connection.execute(sa.select(table).where(table.c.run == run).order_by(table.c.judge)).all()
    return {
        restored(row.judge): Usage(
            calls=row.calls,
            cached=row.cached,
            retries=row.retries,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost=row.cost,
        )
        for row in rows
    }


def open_recorder(database: Database, record: RunRecord) -> RunRecorder:
    """The writer of a run that is already there."""
    batches = schema.batches
    with database.reading() as connection:
        starts = connection.execute(sa.select(batches.c.start).where(batches.c.run == record.id)).scalars()
        return RunRecorder(
            database,
            record.id,
            record.dataset,
            metric_ids(connection, record.id),
            set(starts),
            samples_are_there=has_all_samples(connection, record.dataset, record.rows),
        )


def _ids(connection: Connection) -> list[tuple[str, str | None]]:
    """Id and name of all runs, the newest first."""
    runs = schema.runs
    query = sa.select(runs.c.id, runs.c.name).order_by(runs.c.created_at.desc(), runs.c.id.desc())
    return [(row.id, row.name) for row in connection.execute(query)]


def _resolve(wanted: str, ids: Sequence[tuple[str, str | None]]) -> str:
    for exact in ({run: run for run, _ in ids}, {name: run for run, name in ids if name}):
        if wanted in exact:
            return exact[wanted]
    relative = _LAST.fullmatch(wanted)
    if relative:
        back = int(relative[1] or 0)
        if back < len(ids):
            return ids[back][0]
        raise UsageError(f"There are only {len(ids)} runs.", hint="`sgi runs` lists them.")
    begun = [run for run, _ in ids if wanted and run.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise UsageError(f"{len(begun)} runs begin with {wanted!r}: {', '.join(begun[:5])}.")
    raise UnknownName("run", wanted, _near(wanted, ids), hint="`sgi runs` lists them.")


def _near(wanted: str, ids: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    known = [text for pair in ids for text in pair if text]
    return tuple(difflib.get_close_matches(wanted, known, n=2, cutoff=0.6))


def _runs() -> sa.Select[Any]:
    runs, datasets, batches = schema.runs, schema.datasets, schema.batches
    scored = (
        sa.select(sa.func.coalesce(sa.func.sum(batches.c.rows), 0))
        .where(batches.c.run == runs.c.id)
        .scalar_subquery()
    )
    return sa.select(
        runs, datasets.c.name.label("dataset_name"), datasets.c.rows, scored.label("scored")
    ).join(datasets)


def _records(connection: Connection, query: sa.Select[Any]) -> list[RunRecord]:
    rows = connection.execute(query).mappings().all()
    ids = [row["id"] for row in rows]
    metrics: dict[str, list[str]] = {run: [] for run in ids}
    table = schema.run_metrics
    named = sa.select(table.c.run, table.c.metric).order_by(table.c.run, table.c.position)
    if len(ids) == 1:
        named = named.where(table.c.run == ids[0])
    for row in connection.execute(named):
        metrics.setdefault(row.run, []).append(row.metric)
    return [_record(dict(row), tuple(metrics[row["id"]])) for row in rows]


def _record(row: Mapping[str, Any], metrics: tuple[str, ...]) -> RunRecord:
    values = {key: row[key] for key in RunRecord.__dataclass_fields__ if key != "metrics"}
    values["dataset_name"] = restored(values["dataset_name"])
    values["stopped"] = None if values["stopped"] is None else restored(values["stopped"])
    return RunRecord(**values, metrics=metrics)


def run_metrics(run: str) -> sa.Select[Any]:
    """The rows of a run's metrics, in the order asked."""
    table = schema.run_metrics
    return sa.select(table).where(table.c.run == run).order_by(table.c.position)


def metric_ids(connection: Connection, run: str) -> dict[str, int]:
    """The number of each metric of a run, by canonical string."""
    return {row.metric: row.id for row in connection.execute(run_metrics(run))}
