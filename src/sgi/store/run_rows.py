"""The rows of a run: its scores as columns, its batches as the engine made them, the target's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from sgi.kernel.clusters import unknown_column
from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.sample import Batch, are_numbers
from sgi.kernel.scored import STATUSES, MetricColumn, ScoredRun
from sgi.kernel.short_repr import short_repr
from sgi.store import schema
from sgi.store.driver_rows import driver_rows
from sgi.store.row_filters import column_reader
from sgi.store.run_clusters import run_clusters
from sgi.store.run_queries import committed, metric_ids, run_metrics
from sgi.store.run_samples import sample_reader
from sgi.store.run_writer import StoredAnswer
from sgi.store.samples import sample_of
from sgi.store.stored_json import read_provenance
from sgi.store.text_codec import equal_json_shared, restored, restored_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection, Row

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_NOTHING: Mapping[str, Any] = {}
_FACTS = {"position", "id", "label", "metadata"}
"""What a row is known by without its texts."""


class Reason(NamedTuple):
    """Why rows have no value."""

    metric: str
    status: str
    reason: str
    rows: int


@dataclass(frozen=True, eq=False)
class StoredBatch:
    """A committed batch, as the engine made it.

    Attributes:
        start: the position of its first sample.
        batch: the samples, with the target's answers where there was a target.
        scores: by canonical string.
        truncated: rows by the field that was longer than a model reads.
        failures: models that gave no vectors, with the reason.
    """

    start: int
    batch: Batch
    scores: Mapping[str, Scores]
    truncated: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    __repr__ = short_repr


def scored_run(database: Database, record: RunRecord) -> ScoredRun:
    """The scores of all committed rows as columns."""
    with database.reading() as connection:
        return _scored_run(database, connection, record)


def grouped_run(
    database: Database, record: RunRecord, by: str, class_keys: Mapping[str, str]
) -> tuple[ScoredRun, list[Any], dict[str, list[Any]]]:
    """The scores as columns, what each row has in a column of its data, and the class each metric gave it.

    All three are of the same moment, also while the run goes on.

    Args:
        database: where the run is.
        record: the run.
        by: a metadata column, or ``label``, which is known truth unless the metadata has a column of that
            name.
        class_keys: by metric, the entry of its details that holds a row's class.

    Raises:
        UnknownNameError: no row has such a column; says which there are.
    """
    with database.reading() as connection:
        run = _scored_run(database, connection, record)
        values = _column_values(connection, record, by)
        return run, values, _classes(connection, record, class_keys)


def whole_run(
    database: Database, record: RunRecord, class_keys: Mapping[str, str]
) -> tuple[ScoredRun, list[bool | None], list[Mapping[str, Any]], dict[str, list[Any]]]:
    """The scores as columns, and of each row its label, its metadata and the class each metric gave it.

    All are of the same moment, also while the run goes on. Rows of equal metadata share one mapping.

    Args:
        database: where the run is.
        record: the run.
        class_keys: by metric, the entry of its details that holds a row's class.
    """
    with database.reading() as connection:
        run = _scored_run(database, connection, record)
        samples = schema.samples
        body = sa.cast(samples.c.metadata, sa.Text)
        rows = list(driver_rows(connection, committed(record, samples.c.label, body)))
        classes = _classes(connection, record, class_keys)
    metadata = [found or _NOTHING for found in equal_json_shared(row[1] for row in rows)]
    return run, [None if row[0] is None else bool(row[0]) for row in rows], metadata, classes


def _scored_run(database: Database, connection: Connection, record: RunRecord) -> ScoredRun:
    positions, names = _sample_columns(connection, record)
    clusters, clustering = run_clusters(connection, record)
    metrics = {
        row.metric: _column(connection, row, positions)
        for row in connection.execute(run_metrics(record.id)).all()
    }
    return ScoredRun(
        record.label,
        record.rows,
        names,
        clusters,
        metrics,
        record.signature,
        rejected=record.rejected,
        finished=record.scored == record.rows,
        dataset=record.dataset,
        numbered=are_numbers(names, PurePath(record.dataset_name).name.partition(".")[0]),
        samples=sample_reader(database, record, positions),
        clustering=clustering,
    )


def _column_values(connection: Connection, record: RunRecord, by: str) -> list[Any]:
    samples = schema.samples
    rows = connection.execute(committed(record, samples.c.metadata, samples.c.label)).all()
    columns = {name for row in rows for name in row.metadata or ()}
    if any(row.label is not None for row in rows):
        columns.add("label")
    if by not in columns and rows:
        raise unknown_column(record.dataset_name, by, columns)
    value = column_reader(by, (row.metadata for row in rows))
    return [value(row.metadata, row.label) for row in rows]


def _classes(connection: Connection, record: RunRecord, keys: Mapping[str, str]) -> dict[str, list[Any]]:
    """The class of every committed row, for each metric that gives one."""
    classes = {
        name: _class_values(connection, record, number, keys[name])
        for name, number in metric_ids(connection, record.id).items()
        if name in keys
    }
    return {name: found for name, found in classes.items() if found}


def _class_values(connection: Connection, record: RunRecord, metric: int, key: str) -> list[Any]:
    """The class of every committed row, in order; empty if the metric gives none."""
    details = schema.details
    entry = sa.cast(details.c.body[key], sa.Text)
    query = sa.select(details.c.position, entry).where(details.c.metric == metric)
    entries = list(driver_rows(connection, query))
    values = equal_json_shared(text for _, text in entries)
    by_position = {row[0]: value for row, value in zip(entries, values, strict=True)}
    if not any(isinstance(named, str) for named in by_position.values()):
        return []
    positions = driver_rows(connection, committed(record, schema.samples.c.position))
    return [by_position.get(position) for (position,) in positions]


def metadata_values(database: Database, record: RunRecord, column: str) -> list[Any]:
    """A metadata column of all committed rows, in order; None where a row has none."""
    with database.reading() as connection:
        found = connection.execute(committed(record, schema.samples.c.metadata)).scalars()
        return [(body or {}).get(column) for body in found]


def reasons(database: Database, record: RunRecord, *, most: int = 5) -> list[Reason]:
    """Why rows have no value, the most frequent first."""
    scores, metrics = schema.scores, schema.run_metrics
    rows = sa.func.count()
    query = (
        sa.select(metrics.c.metric, scores.c.status, scores.c.reason, rows)
        .join(metrics, metrics.c.id == scores.c.metric)
        .where(metrics.c.run == record.id, scores.c.reason.is_not(None))
        .group_by(metrics.c.metric, scores.c.status, scores.c.reason)
        .order_by(rows.desc(), metrics.c.metric, scores.c.reason)
        .limit(most)
    )
    with database.reading() as connection:
        return [Reason(m, status, restored(why), n) for m, status, why, n in connection.execute(query)]


def stored_batches(database: Database, record: RunRecord, *, texts: bool = True) -> Iterator[StoredBatch]:
    """The committed batches of a run, in order, each read when it is asked for.

    Args:
        database: where the run is.
        record: the run.
        texts: whether to read the texts of the samples, and not only id, label and metadata.

    Raises:
        StoreError: the run was deleted meanwhile.
    """
    with database.reading() as connection:
        starts = _starts(connection, record.id)
    for start in starts:
        yield stored_batch(database, record, start, texts=texts)


def stored_batch(database: Database, record: RunRecord, start: int, *, texts: bool = True) -> StoredBatch:
    """A committed batch; see `stored_batches`."""
    batches, samples = schema.batches, schema.samples
    with database.reading() as connection:
        wanted = (batches.c.run == record.id) & (batches.c.start == start)
        head = connection.execute(sa.select(batches).where(wanted)).one_or_none()
        if head is None:
            raise StoreError(f"The run {record.label} was changed or deleted meanwhile.", hint="Try again.")
        inside = samples.c.position.between(start, start + head.rows - 1)
        columns = (
            samples.c if texts else [c if c.name in _FACTS else sa.null().label(c.name) for c in samples.c]
        )
        query = sa.select(*columns).where(samples.c.dataset == record.dataset, inside)
        rows = connection.execute(query.order_by(samples.c.position)).mappings().all()
        given = [sample_of(dict(row)) for row in rows]
        answers = saved_answers(connection, record.id, start, head.rows) if texts else {}
        if answers:
            given = [_answered(sample, answers.get(start + n)) for n, sample in enumerate(given)]
        scores = _scores(connection, record.id, start, head.rows)
    return StoredBatch(start, Batch.of(given), scores, head.truncated, head.failures)


def saved_answers(connection: Connection, run: str, start: int, rows: int) -> dict[int, StoredAnswer]:
    """The target's answers to consecutive samples, by position."""
    answers = schema.answers
    inside = answers.c.position.between(start, start + rows - 1)
    found = connection.execute(sa.select(answers).where(answers.c.run == run, inside))
    return {
        row.position: StoredAnswer(
            response=None if row.response is None else restored(row.response),
            contexts=None if row.contexts is None else tuple(row.contexts),
            reason=None if row.reason is None else restored(row.reason),
            seconds=row.seconds,
        )
        for row in found
    }


def _answered(sample: Any, answer: StoredAnswer | None) -> Any:
    return sample if answer is None else sample.answered(answer.response, answer.contexts)


def _starts(connection: Connection, run: str) -> list[int]:
    batches = schema.batches
    query = sa.select(batches.c.start).where(batches.c.run == run).order_by(batches.c.start)
    return list(connection.execute(query).scalars())


def _sample_columns(connection: Connection, record: RunRecord) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Positions and ids of the committed rows."""
    samples = schema.samples
    rows = list(driver_rows(connection, committed(record, samples.c.position, samples.c.id)))
    positions = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    return positions, tuple(restored(row[1]) for row in rows)


_STORED_SCORE = np.dtype([("position", np.int64), ("value", np.float64), ("code", np.int8)])


def _column(connection: Connection, metric: Row[Any], positions: NDArray[np.int64]) -> MetricColumn:
    """One metric's values and status codes, at these positions."""
    scores = schema.scores
    code = sa.case(*((scores.c.status == status.value, n) for n, status in enumerate(STATUSES)), else_=-1)
    value = sa.func.coalesce(scores.c.value, sa.literal_column("0.0"))  # numpy takes no NULL
    query = sa.select(scores.c.position, value, code).where(scores.c.metric == metric.id)
    rows = np.fromiter(driver_rows(connection, query.order_by(scores.c.position)), dtype=_STORED_SCORE)
    found, values, codes = (np.ascontiguousarray(rows[name]) for name in ("position", "value", "code"))
    values[codes != STATUSES.index(Status.OK)] = np.nan
    if not np.array_equal(found, positions):
        values, codes = _spread(found, values, codes, positions)
    facts = (metric.low, metric.high, metric.higher_is_better, metric.version, metric.unit)
    return MetricColumn(metric.metric, values, codes, *facts, read_provenance(metric.provenance))


def _spread(
    found: NDArray[np.int64],
    values: NDArray[np.float64],
    codes: NDArray[np.int8],
    positions: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """The same at all positions; a row that a metric knows nothing of is ``missing``.

    Raises:
        StoreError: there is a score of a row that no batch holds.
    """
    if not np.isin(found, positions).all():
        hint = "The database is damaged: take a copy of it, and name another database with --db."
        raise StoreError("The database holds scores of rows that are in no batch of the run.", hint=hint)
    spread = np.full(len(positions), np.nan)
    status = np.full(len(positions), STATUSES.index(Status.MISSING), dtype=np.int8)
    places = np.searchsorted(positions, found)
    spread[places], status[places] = values, codes
    return spread, status


def _scores(connection: Connection, run: str, start: int, rows: int) -> dict[str, Scores]:
    """The scores of consecutive rows, with what they were made of."""
    scores, details = schema.scores, schema.details
    joined = scores.outerjoin(
        details, (details.c.metric == scores.c.metric) & (details.c.position == scores.c.position)
    )
    numbers = metric_ids(connection, run)
    found: dict[int, list[tuple[Any, ...]]] = {number: [] for number in numbers.values()}
    parts = (scores.c.value, scores.c.status, scores.c.reason, sa.cast(details.c.body, sa.Text))
    query = (
        sa.select(scores.c.metric, *parts)
        .select_from(joined)
        .where(scores.c.metric.in_(list(found)), scores.c.position.between(start, start + rows - 1))
        .order_by(scores.c.metric, scores.c.position)
    )
    for number, *row in driver_rows(connection, query):
        found[number].append(tuple(row))
    return {name: _as_scores(found[number]) for name, number in numbers.items()}


def _as_scores(rows: Sequence[tuple[Any, ...]]) -> Scores:
    values, statuses, reasons, bodies = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Scores(
        np.array(values, dtype=np.float64),
        np.array(statuses, dtype="<U9"),
        tuple("" if reason is None else restored(reason) for reason in reasons),
        tuple(_NOTHING if body is None else restored_json(body) for body in bodies),
    )
