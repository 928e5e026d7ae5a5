"""Lists and finds runs, without their rows."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.protocols import Usage
from sgi.store import schema
from sgi.store.bulk_rows import chunks
from sgi.store.database_location import damaged
from sgi.store.stored_json import STORED_JSON, read_stored_json
from sgi.store.text_codec import decode_text, encode_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from sgi.store.database import Database

_LAST = re.compile(r"last(?:~(\d{1,9}))?")
_AT_ONCE = 500
"""How many runs a statement names; databases take so many thousand values in one."""
_COUNTS = tuple(field.name for field in fields(Usage))


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
        tags: the user's, sorted.
        cluster: the rule by which its rows form clusters; see `sgi.kernel.clusters`.
        changes: how often its rows have changed.
        damage: what of its settings, versions or summary cannot be read; empty where all can. What cannot be
            read is empty.
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
    tags: tuple[str, ...] = ()
    cluster: str = BY_QUESTION
    changes: int = 0
    damage: str = ""

    def clustered(self, by: str | None) -> RunRecord:
        """The run with another cluster rule, for all that is computed from its rows; None keeps its own."""
        return self if by is None else replace(self, cluster=by)

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.name or self.id

    @property
    def no_texts(self) -> bool:
        """Whether placeholders are stored in place of its texts."""
        return self.spec.get("no_texts") is True

    @property
    def finished(self) -> bool:
        """Whether every row is done."""
        return self.finished_at is not None


@dataclass(frozen=True)
class PageOfRuns:
    """Some runs, the newest first.

    Attributes:
        records: of this page.
        total: how many the search leaves.
        page: which page this is, from 1.
        pages: how many there are, at least 1.
        tags: every tag there is, sorted, and how many runs have it.
    """

    records: tuple[RunRecord, ...]
    total: int
    page: int
    pages: int
    tags: Mapping[str, int]


def list_runs(
    database: Database, *, search: str = "", tag: str | None = None, limit: int | None = None, offset: int = 0
) -> list[RunRecord]:
    """The runs, the newest first; or those of them that are looked for.

    Args:
        database: where they are.
        search: a text that stands in the run's id, its name, its data's name or a tag, in any case.
        tag: a tag they have.
        limit: how many at most; None for all.
        offset: how many of the newest to leave out.
    """
    with database.reading() as connection:
        liststr = _matching_runs(connection, search, tag)
        wanted = liststr[offset:] if limit is None else liststr[offset : offset + limit]
        return _records(connection, wanted)


def count_runs(database: Database, *, search: str = "", tag: str | None = None) -> int:
    """How many runs `list_runs` would find, without a limit."""
    with database.reading() as connection:
        return len(_matching_runs(connection, search, tag))


def page_of_runs(
    database: Database, *, search: str = "", tag: str | None = None, page: int = 1, size: int = 50
) -> PageOfRuns:
    """A page of the runs that `list_runs` finds, all of one moment; the last one for any beyond it.

    Args:
        database: where they are.
        search: a text that stands in the run's id, its name, its data's name or a tag, in any case.
        tag: a tag they have.
        page: from 1.
        size: runs on a page, 1 or more.
    """
    with database.reading() as connection:
        liststr = _matching_runs(connection, search, tag)
        pages = max(1, -(-len(liststr) // size))
        shown = min(page, pages)
        records = _records(connection, liststr[(shown - 1) * size : shown * size])
        return PageOfRuns(tuple(records), len(liststr), shown, pages, _tag_counts(connection))


def _tag_counts(connection: Connection) -> dict[str, int]:
    column = schema.run_tags.c.tag
    rows = connection.execute(sa.select(column, sa.func.count()).group_by(column)).all()
    return dict(sorted((str(tag), int(runs)) for tag, runs in rows))


def find_run(database: Database, wanted: str) -> RunRecord:
    """The run with this id, this name, or this unique beginning of an id; or ``last``, ``last~1`` before it.

    Raises:
        UnknownNameError: there is none; says which come near.
        UsageError: several ids begin so, or there is no run at all.
    """
    with database.reading() as connection:
        ids = _ids(connection)
        if not ids:
            raise UsageError(f"There is no run in {database.shown} yet.", hint="Make one with `sgi run`.")
        return _records(connection, [_resolve(wanted, ids)])[0]


def run_usage(database: Database, run: str) -> dict[str, Usage]:
    """What judges took for the run with this id in all attempts, by their fingerprints."""
    table = schema.usage
    columns = [table.c[name] for name in _COUNTS]
    query = sa.select(table.c.judge, *columns).where(table.c.run == run).order_by(table.c.judge)
    found: dict[str, Usage] = {}
    with database.reading() as connection:
        for judge, *counts in connection.execute(query):
            found[decode_text(judge)] = found.get(decode_text(judge), Usage()) + Usage(*counts)
    return found


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
    raise UnknownNameError("run", wanted, _close_names(wanted, ids), hint="`sgi runs` lists them.")


def _close_names(wanted: str, ids: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    known = [text for pair in ids for text in pair if text]
    return tuple(difflib.get_close_matches(wanted, known, n=2, cutoff=0.6))


def _matching_runs(connection: Connection, search: str, tag: str | None) -> list[str]:
    """The ids of the runs that are looked for, the newest first.

    What is looked for is compared here and not by the database, which knows upper case beyond ASCII only
    in some of its locales.
    """
    runs, datasets, tags = schema.runs, schema.datasets, schema.run_tags
    query = sa.select(runs.c.id, runs.c.name, datasets.c.name.label("data")).join(datasets)
    if tag is not None:
        query = query.where(sa.exists().where(tags.c.run == runs.c.id, tags.c.tag == encode_text(tag)))
    rows = connection.execute(query.order_by(runs.c.created_at.desc(), runs.c.id.desc())).all()
    if not search:
        return [row.id for row in rows]
    wanted, tagged = search.casefold(), _tags(connection)
    told = (
        (row.id, (row.id, row.name or "", decode_text(row.data), *tagged.get(row.id, ()))) for row in rows
    )
    return [run for run, texts in told if any(wanted in text.casefold() for text in texts)]


def _tags(connection: Connection, runs: Sequence[str] | None = None) -> dict[str, list[str]]:
    """The tags of these runs, or of all, sorted."""
    table = schema.run_tags
    query = sa.select(table)
    if runs is not None:
        query = query.where(table.c.run.in_(runs))
    tags: dict[str, list[str]] = {}
    for run, tag in sorted((row.run, row.tag) for row in connection.execute(query)):
        tags.setdefault(run, []).append(tag)
    return tags


def _records(connection: Connection, runs: Sequence[str]) -> list[RunRecord]:
    """The runs with these ids, in this order."""
    return [record for some in chunks(runs, _AT_ONCE) for record in _some_records(connection, some)]


def _some_records(connection: Connection, runs: Sequence[str]) -> list[RunRecord]:
    rows = connection.execute(_select_runs().where(schema.runs.c.id.in_(runs))).mappings().all()
    metrics: dict[str, list[str]] = {run: [] for run in runs}
    table = schema.run_metrics
    named = sa.select(table.c.run, table.c.metric).where(table.c.run.in_(runs)).order_by(table.c.position)
    for row in connection.execute(named):
        metrics.setdefault(row.run, []).append(row.metric)
    tags = _tags(connection, runs)
    made = {
        row["id"]: _record(dict(row), tuple(metrics[row["id"]]), tuple(tags.get(row["id"], ())))
        for row in rows
    }
    if lost := [run for run in runs if run not in made]:  # the index of a damaged file has them, no table
        raise damaged(f"the run {lost[0]!r} cannot be read")
    return [made[run] for run in runs]


def _select_runs() -> sa.Select[Any]:
    """A run's own columns; its JSON as text, so that damage is found here and not by the driver."""
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
    values = {key: values[key] for key in RunRecord.__dataclass_fields__}
    values["dataset_name"] = decode_text(values["dataset_name"])
    values["stopped"] = None if values["stopped"] is None else decode_text(values["stopped"])
    return RunRecord(**values)


def select_committed(record: RunRecord, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Columns of the samples that are in a committed batch, in order."""
    samples, batches = schema.samples, schema.batches
    query = sa.select(*columns).where(samples.c.dataset == record.dataset)
    if record.scored < record.rows:
        query = query.where(
            sa.exists().where(batches.c.run == record.id, schema.in_batch(samples.c.position))
        )
    return query.order_by(samples.c.position)


def run_metrics(run: str) -> sa.Select[Any]:
    """The rows of a run's metrics, in the order asked."""
    table = schema.run_metrics
    return sa.select(table).where(table.c.run == run).order_by(table.c.position)


def metric_ids(connection: Connection, run: str) -> dict[str, int]:
    """The number of each metric of a run, by canonical string."""
    return {row.metric: row.id for row in connection.execute(run_metrics(run))}
