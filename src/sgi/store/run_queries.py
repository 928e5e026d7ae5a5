"""List and find runs, without reading their rows."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.protocols import Usage
from sgi.kernel.short_text import pluralize
from sgi.store import schema
from sgi.store.bulk_rows import chunks, decode_text, encode_text
from sgi.store.database_location import damaged_error
from sgi.store.stored_json import STORED_JSON, read_provenance, read_stored_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from sgi.kernel.metric_column import MetricProvenance
    from sgi.store.database import Database

RunSort = Literal["started", "name", "data", "rows", "value"]
_LAST = re.compile(r"last(?:~(\d{1,9}))?")
_AT_ONCE = 500
"""The maximum number of runs in one SQL statement; databases limit the values in one."""
_COUNTS = tuple(count.name for count in fields(Usage))


@dataclass(frozen=True)
class RunRecord:
    """A run without its rows: what it is, its settings and its state. All times are ISO 8601, UTC.

    Attributes:
        id: the id in the database; empty for a run in memory.
        dataset: hash of the run's samples; empty if unknown.
        dataset_name: name of the data for messages.
        rows: number of samples in the data; ``scored`` is the number of them that are scored and stored.
        metrics: canonical strings, in the order in which the run was asked for them.
        spec: settings of the run as JSON.
        spec_hash: a hash of the settings that can change a score.
        signature: one line with everything that can change a score: models, judge, version.
        versions: versions of the packages that computed the scores.
        finished_at: when the run ended; None until all rows are scored.
        stopped: why the run ended early; empty if it did not.
        rejected: number of rows that could not be read.
        cluster: the rule by which its rows form clusters; see `sgi.kernel.clusters`.
        weights: the column of the data with the weights of its rows; None counts each row once.
        changes: how often the run's rows have changed.
        damage: which of settings, versions and summary cannot be read, and are therefore empty.
    """

    id: str
    name: str | None = None
    dataset: str = ""
    dataset_name: str = ""
    rows: int = 0
    scored: int = 0
    metrics: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    spec_hash: str = ""
    signature: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""
    finished_at: str | None = None
    stopped: str | None = None
    rejected: int = 0
    summary: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    cluster: str = BY_QUESTION
    changes: int = 0
    damage: str = ""
    weights: str | None = None

    def with_clusters(self, by: str | None) -> RunRecord:
        """Return the run with another cluster rule; None keeps its own."""
        return self if by is None else replace(self, cluster=by)

    def with_weights(self, column: str | None) -> RunRecord:
        """Return the run with the weights of a column; None keeps its own."""
        return self if column is None else replace(self, weights=column)

    @property
    def label(self) -> str:
        """The name of the run in messages."""
        return self.name or self.id

    @property
    def no_texts(self) -> bool:
        """Whether placeholders are stored instead of the run's texts."""
        return self.spec.get("no_texts") is True

    @property
    def finished(self) -> bool:
        """Whether every row is scored."""
        return self.finished_at is not None


@dataclass(frozen=True)
class RecordPage:
    """One page of runs (pages count from 1); ``total`` counts all matching runs.

    ``tags`` holds every tag, sorted, with its number of runs.
    """

    records: tuple[RunRecord, ...]
    total: int
    page: int
    pages: int
    tags: Mapping[str, int]


def list_runs(
    database: Database, *, search: str = "", tag: str | None = None, limit: int | None = None
) -> list[RunRecord]:
    """List runs, the newest first.

    ``search`` is text in the run's id, name, data name or a tag; case does not matter. ``limit`` is the
    maximum number, None for all.
    """
    with database.reading() as connection:
        matches = _matching_runs(connection, search, tag)
        return _records(connection, matches[:limit])


def count_runs(database: Database, *, search: str = "", tag: str | None = None) -> int:
    """Count the runs that `list_runs` finds without a limit."""
    with database.reading() as connection:
        return len(_matching_runs(connection, search, tag))


def page_of_runs(
    database: Database,
    *,
    search: str = "",
    tag: str | None = None,
    page: int = 1,
    size: int = 50,
    sort: RunSort = "started",
    descending: bool = True,
    values: Mapping[str, float] | None = None,
) -> RecordPage:
    """Return a page of the runs that `list_runs` finds; a number beyond the end gives the last page.

    ``values`` has the number of each run for ``sort="value"``; runs without one come last. Runs that are
    equal in the order are the newest first.
    """
    with database.reading() as connection:
        found = _matching_runs(connection, search, tag)
        matches = _ordered(connection, found, sort, values or {}, descending=descending)
        pages = max(1, -(-len(matches) // size))
        shown = min(page, pages)
        records = _records(connection, matches[(shown - 1) * size : shown * size])
        column = schema.run_tags.c.tag
        counts = connection.execute(sa.select(column, sa.func.count()).group_by(column)).all()
        tags = dict(sorted((str(tag), int(runs)) for tag, runs in counts))
        return RecordPage(tuple(records), len(matches), shown, pages, tags)


def find_run(database: Database, text: str) -> RunRecord:
    """Find a run by id, name, or unique prefix of an id; ``last`` and ``last~1`` count from the newest.

    Raises UnknownNameError (with similar names), or UsageError for an ambiguous prefix or without any runs.
    """
    with database.reading() as connection:
        ids = _ids(connection)
        if not ids:
            raise UsageError(f"No run is stored in {database.shown} yet.", hint="Make one with `sgi run`.")
        return _records(connection, [_resolve(text, ids, database.shown)])[0]


def run_before(database: Database, record: RunRecord) -> RunRecord | None:
    """Return the last finished run before a run, with data of the same name; None if there is none."""
    runs, datasets = schema.runs, schema.datasets
    query = (
        sa.select(runs.c.id)
        .join(datasets)
        .where(
            datasets.c.name == encode_text(record.dataset_name),
            runs.c.finished_at.is_not(None),
            runs.c.created_at < record.created_at,
        )
        .order_by(runs.c.created_at.desc(), runs.c.id.desc())
        .limit(1)
    )
    with database.reading() as connection:
        return next(iter(_records(connection, [*connection.execute(query).scalars()])), None)


def run_usage(database: Database, run: str) -> dict[str, Usage]:
    """Return the total usage of each judge of a run, over all times that it was resumed, by fingerprint."""
    table = schema.usage
    columns = [table.c[name] for name in _COUNTS]
    query = sa.select(table.c.judge, *columns).where(table.c.run == run).order_by(table.c.judge)
    usage: dict[str, Usage] = {}
    with database.reading() as connection:
        for judge, *counts in connection.execute(query):
            usage[decode_text(judge)] = usage.get(decode_text(judge), Usage()) + Usage(*counts)
    return usage


def run_provenance(database: Database, record: RunRecord) -> dict[str, MetricProvenance | None]:
    """Return the provenance of each metric of a run. Raises StoreDamagedError for a damaged record."""
    metrics: dict[str, MetricProvenance | None] = {}
    with database.reading() as connection:
        for row in connection.execute(run_metrics(record.id)):
            stored = read_provenance(row.provenance)
            metrics[row.metric] = None if stored is None else replace(stored, version=row.version)
    return metrics


def _ids(connection: Connection) -> list[tuple[str, str | None]]:
    runs = schema.runs
    query = sa.select(runs.c.id, runs.c.name).order_by(runs.c.created_at.desc(), runs.c.id.desc())
    return [(row.id, row.name) for row in connection.execute(query)]


def _resolve(text: str, ids: Sequence[tuple[str, str | None]], where: str) -> str:
    for exact in ({run: run for run, _ in ids}, {name: run for run, name in ids if name}):
        if text in exact:
            return exact[text]
    relative = _LAST.fullmatch(text)
    if relative:
        back = int(relative[1] or 0)
        if back < len(ids):
            return ids[back][0]
        raise UsageError(
            f"There are only {pluralize(len(ids), 'run')} in {where}.", hint="`sgi runs` lists them."
        )
    matches = [run for run, _ in ids if text and run.startswith(text)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"{len(matches)} runs begin with {text!r}: {', '.join(matches[:5])}.")
    known = [text for pair in ids for text in pair if text]
    near = tuple(difflib.get_close_matches(text, known, n=2, cutoff=0.6))
    raise UnknownNameError("run", text, near, hint=f"`sgi runs` lists the runs of {where}.")


def _matching_runs(connection: Connection, search: str, tag: str | None) -> list[str]:
    """Return the ids of the matching runs, the newest first.

    Python searches, not the database: some databases ignore case only for ASCII letters.
    """
    runs, datasets, tags = schema.runs, schema.datasets, schema.run_tags
    query = sa.select(runs.c.id, runs.c.name, datasets.c.name.label("data")).join(datasets)
    if tag is not None:
        query = query.where(sa.exists().where(tags.c.run == runs.c.id, tags.c.tag == encode_text(tag)))
    rows = connection.execute(query.order_by(runs.c.created_at.desc(), runs.c.id.desc())).all()
    if not search:
        return [row.id for row in rows]
    folded, tagged = search.casefold(), _tags(connection)
    candidates = (
        (row.id, (row.id, row.name or "", decode_text(row.data), *tagged.get(row.id, ()))) for row in rows
    )
    return [run for run, texts in candidates if any(folded in text.casefold() for text in texts)]


def _ordered(
    connection: Connection, runs: list[str], sort: RunSort, values: Mapping[str, float], *, descending: bool
) -> list[str]:
    """Order runs that are the newest first."""
    if sort == "started":
        return runs if descending else runs[::-1]
    keys: Mapping[str, Any] = values if sort == "value" else _sort_keys(connection, sort)
    known = [run for run in runs if run in keys]
    known.sort(key=keys.__getitem__, reverse=descending)
    return known + [run for run in runs if run not in keys]


def _sort_keys(connection: Connection, by: RunSort) -> dict[str, Any]:
    """Return the number of rows, or the text, by which runs are sorted; Python ignores the case of texts."""
    runs, datasets, batches = schema.runs, schema.datasets, schema.batches
    if by == "rows":
        rows = sa.select(batches.c.run, sa.func.sum(batches.c.rows)).group_by(batches.c.run)
        return {run: int(count) for run, count in connection.execute(rows)}
    query = sa.select(runs.c.id, runs.c.name, datasets.c.name.label("data")).join(datasets)
    found = connection.execute(query).all()
    if by == "data":
        return {row.id: decode_text(row.data).casefold() for row in found}
    return {row.id: (row.name or row.id).casefold() for row in found}


def _tags(connection: Connection, runs: Sequence[str] | None = None) -> dict[str, list[str]]:
    table = schema.run_tags
    query = sa.select(table)
    if runs is not None:
        query = query.where(table.c.run.in_(runs))
    tags: dict[str, list[str]] = {}
    for run, tag in sorted((row.run, row.tag) for row in connection.execute(query)):
        tags.setdefault(run, []).append(tag)
    return tags


def _records(connection: Connection, runs: Sequence[str]) -> list[RunRecord]:
    return [record for some in chunks(runs, _AT_ONCE) for record in _some_records(connection, some)]


def _some_records(connection: Connection, runs: Sequence[str]) -> list[RunRecord]:
    rows = connection.execute(_select_runs().where(schema.runs.c.id.in_(runs))).mappings().all()
    metrics: dict[str, list[str]] = {run: [] for run in runs}
    table = schema.run_metrics
    named = sa.select(table.c.run, table.c.metric).where(table.c.run.in_(runs)).order_by(table.c.position)
    for row in connection.execute(named):
        metrics.setdefault(row.run, []).append(row.metric)
    tags = _tags(connection, runs)
    records = {
        row["id"]: _record(dict(row), tuple(metrics[row["id"]]), tuple(tags.get(row["id"], ())))
        for row in rows
    }
    if lost := [run for run in runs if run not in records]:  # the index of a damaged file has them, no table
        raise damaged_error(f"the run {lost[0]!r} cannot be read")
    return [records[run] for run in runs]


def _select_runs() -> sa.Select[Any]:
    """Select the columns of runs, with JSON as text, so that this package detects damage, not the driver."""
    runs, datasets, batches = schema.runs, schema.datasets, schema.batches
    scored = (
        sa.select(sa.func.coalesce(sa.func.sum(batches.c.rows), 0))
        .where(batches.c.run == runs.c.id)
        .scalar_subquery()
    )
    columns = [
        sa.cast(column, sa.Text).label(column.name) if column.name in STORED_JSON else column
        for column in runs.columns
    ]
    table = schema.run_changes
    changes = sa.select(table.c["count"]).where(table.c.run == runs.c.id).scalar_subquery()
    return sa.select(
        *columns,
        datasets.c.name.label("dataset_name"),
        datasets.c.rows,
        scored.label("scored"),
        sa.func.coalesce(changes, 0).label("changes"),
    ).join(datasets)


def _record(row: dict[str, Any], metrics: tuple[str, ...], tags: tuple[str, ...]) -> RunRecord:
    read, damage = read_stored_json({name: row[name] for name in STORED_JSON})
    cluster = read["spec"].get("cluster", BY_QUESTION)
    values = row | read | {"metrics": metrics, "tags": tags, "cluster": cluster, "damage": damage}
    values = {key: values[key] for key in RunRecord.__dataclass_fields__ if key in values}
    values["dataset_name"] = decode_text(values["dataset_name"])
    values["stopped"] = None if values["stopped"] is None else decode_text(values["stopped"])
    return RunRecord(**values)


def select_committed(record: RunRecord, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select columns of the samples in committed batches, in order."""
    samples, batches = schema.samples, schema.batches
    query = sa.select(*columns).where(samples.c.dataset == record.dataset)
    if record.scored < record.rows:
        query = query.where(
            sa.exists().where(batches.c.run == record.id, schema.in_batch(samples.c.position))
        )
    return query.order_by(samples.c.position)


def run_metrics(run: str) -> sa.Select[Any]:
    """Select the metrics of a run, in the order of the request."""
    table = schema.run_metrics
    return sa.select(table).where(table.c.run == run).order_by(table.c.position)


def metric_ids(connection: Connection, run: str) -> dict[str, int]:
    """Return the database id of each metric of a run, by canonical string."""
    return {row.metric: row.id for row in connection.execute(run_metrics(run))}
