"""Read the scores of a run as columns, with the columns that group or cluster its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from sgi.kernel.clusters import (
    BY_CONTEXTS,
    BY_ROW,
    Clustering,
    DominantCluster,
    Weighting,
    cluster_number,
    dominant_cluster,
    has_value,
    read_weights,
    unknown_column,
)
from sgi.kernel.metric import Status
from sgi.kernel.metric_column import STATUSES, MetricColumn, parts_of_rows
from sgi.store import schema
from sgi.store.bulk_rows import (
    chunks,
    column_json,
    decode_json_shared,
    decode_text,
    driver_rows,
    encode_json,
)
from sgi.store.database_location import damaged_error
from sgi.store.human_labels import label_values, no_labels
from sgi.store.label_consensus import ALL_PEOPLE, PEOPLE
from sgi.store.row_query import column_reader, group_name
from sgi.store.run_queries import metric_ids, run_metrics, select_committed
from sgi.store.samples import passages, with_answers
from sgi.store.stored_json import read_provenance

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection, Row

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_NOTHING: Mapping[str, Any] = {}


class Reason(NamedTuple):
    """A reason why rows have no value, and the number of these rows."""

    metric: str
    status: str
    reason: str
    rows: int


def metric_origins(database: Database, runs: Sequence[str], metric: str) -> dict[str, MetricColumn]:
    """Return, for each run with the metric, its version and provenance as a column without values."""
    table, none = schema.run_metrics, np.zeros(0)
    query = sa.select(table).where(table.c.metric == metric)
    with database.reading() as connection:
        rows = [
            row for some in chunks(runs) for row in connection.execute(query.where(table.c.run.in_(some)))
        ]
    return {
        row.run: MetricColumn(
            metric,
            none,
            none.astype(np.int8),
            version=row.version,
            provenance=read_provenance(row.provenance),
        )
        for row in rows
    }


def row_ids(connection: Connection, record: RunRecord) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the position of each committed row in the data, int64, shape (n,), and its id."""
    samples = schema.samples
    rows = list(driver_rows(connection, select_committed(record, samples.c.position, samples.c.id)))
    positions = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    return positions, tuple(decode_text(row[1]) for row in rows)


def read_columns(
    connection: Connection,
    record: RunRecord,
    positions: NDArray[np.int64],
    only: Collection[str] | None = None,
) -> dict[str, MetricColumn]:
    """Read the scores of the rows at these positions, of all metrics or of these, by canonical string."""
    return {
        row.metric: read_column(connection, row, positions)
        for row in connection.execute(run_metrics(record.id)).all()
        if only is None or row.metric in only
    }


def row_weights(
    connection: Connection, record: RunRecord, ids: Sequence[str]
) -> tuple[NDArray[np.float64], Weighting] | tuple[None, None]:
    """Return the weight of each committed row, and their summary; None if the run counts each row once."""
    if record.weights is None:
        return None, None
    values = [body.get(record.weights) for body in _metadata_with(connection, record, record.weights)]
    weights = read_weights(record.weights, values, ids, record.dataset_name)
    return weights, Weighting.of(record.weights, weights)


def _metadata_with(connection: Connection, record: RunRecord, column: str) -> list[Mapping[str, Any]]:
    """Return the metadata of each committed row; raises UnknownNameError if no row has the column."""
    bodies = connection.execute(select_committed(record, schema.samples.c.metadata)).scalars()
    rows: list[Mapping[str, Any]] = [body or {} for body in bodies]
    if rows and not any(column in body for body in rows):
        raise unknown_column(record.dataset_name, column, {name for body in rows for name in body})
    return rows


def labels_and_metadata(
    connection: Connection, record: RunRecord
) -> tuple[list[bool | None], list[Mapping[str, Any]]]:
    """Return the label and the metadata of each committed row; rows of equal metadata share one mapping."""
    samples = schema.samples
    body = sa.cast(samples.c.metadata, sa.Text)
    rows = list(driver_rows(connection, select_committed(record, samples.c.label, body)))
    metadata = [found or _NOTHING for found in decode_json_shared(row[1] for row in rows)]
    return [None if row[0] is None else bool(row[0]) for row in rows], metadata


SYSTEM_COLUMNS = ("system", "method", "model")
"""Columns that name the system of an answer."""


def system_column(database: Database, record: RunRecord) -> str:
    """Return the column that names the systems of a run with answers of several; an empty text without."""
    with database.reading() as connection:
        return next((name for name in SYSTEM_COLUMNS if _has_two_values(connection, record, name)), "")


def _has_two_values(connection: Connection, record: RunRecord, column: str) -> bool:
    """Return whether a metadata column names two systems; rows are read until the second one."""
    key, text = f'"{column}"', sa.cast(schema.samples.c.metadata, sa.Text)
    first, known = "", tuple[str, ...]()
    query = select_committed(record, text).where(text.contains(key, autoescape=True))
    for (body,) in driver_rows(connection, query):
        # Not decoded, which takes twice as long: a key that occurs once has one value.
        if any(pair in body for pair in known) and body.count(key) == 1:
            continue
        values = column_json(body)
        name = system_name(values, column)
        if first and name and name != first:
            return True
        if name and not first:
            pair = encode_json({column: values[column]})[1:-1]
            first, known = name, (f"{pair},", f"{pair}}}")
    return False


def system_name(metadata: Mapping[str, Any], column: str) -> str:
    """Return the system that a column of the metadata names, without spaces around it; empty for none."""
    return (group_name(metadata.get(column)) or "").strip()


def column_values(connection: Connection, record: RunRecord, by: str) -> list[Any]:
    """Return a metadata column, or labels, of each committed row.

    ``by`` is a metadata column, or, unless the metadata has such a column, ``label`` for the known label,
    `PEOPLE` or `ALL_PEOPLE` for labels by people.

    Raises UnknownNameError if no row has such a column; the message lists the columns.
    """
    samples = schema.samples
    rows = connection.execute(select_committed(record, samples.c.metadata, samples.c.label)).all()
    columns = {name for row in rows for name in row.metadata or ()}
    if any(row.label is not None for row in rows):
        columns.add("label")
    if by in {PEOPLE, ALL_PEOPLE} and by not in columns:
        return label_values(connection, record, by)
    if by not in columns and rows:
        if by == "label":
            raise no_labels(record, columns=columns)
        raise unknown_column(record.dataset_name, by, columns)
    value = column_reader(by, (row.metadata for row in rows))
    return [value(row.metadata, row.label) for row in rows]


def class_columns(connection: Connection, record: RunRecord, keys: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the class of each committed row by metric; ``keys`` has the key of the details."""
    classes = {
        name: class_values(connection, record, number, keys[name])
        for name, number in metric_ids(connection, record.id).items()
        if name in keys
    }
    return {name: found for name, found in classes.items() if found}


def class_values(connection: Connection, record: RunRecord, metric: int, key: str) -> list[Any]:
    """Return the class of each committed row under a metric; empty if no row has one."""
    details = schema.details
    entry = sa.cast(details.c.body[key], sa.Text)
    query = sa.select(details.c.position, entry).where(details.c.metric == metric)
    entries = list(driver_rows(connection, query))
    values = decode_json_shared(text for _, text in entries)
    by_position = {row[0]: value for row, value in zip(entries, values, strict=True)}
    if not any(isinstance(named, str) for named in by_position.values()):
        return []
    positions = driver_rows(connection, select_committed(record, schema.samples.c.position))
    return [by_position.get(position) for (position,) in positions]


def reasons(database: Database, record: RunRecord, *, most: int = 1000) -> list[Reason]:
    """Return why rows have no value, the most frequent reason first."""
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
        return [Reason(m, status, decode_text(why), n) for m, status, why, n in connection.execute(query)]


_STORED_SCORE = np.dtype([("position", np.int64), ("value", np.float64), ("code", np.int8)])


def read_column(connection: Connection, metric: Row[Any], positions: NDArray[np.int64]) -> MetricColumn:
    """Read the scores of a metric (a row of ``run_metrics``) at these positions."""
    scores = schema.scores
    code = sa.case(*((scores.c.status == status.value, n) for n, status in enumerate(STATUSES)), else_=-1)
    value = sa.func.coalesce(scores.c.value, sa.literal_column("0.0"))  # numpy takes no NULL
    query = sa.select(scores.c.position, value, code).where(scores.c.metric == metric.id)
    rows = np.fromiter(driver_rows(connection, query.order_by(scores.c.position)), dtype=_STORED_SCORE)
    stored, values, codes = (np.ascontiguousarray(rows[name]) for name in ("position", "value", "code"))
    values[codes != STATUSES.index(Status.OK)] = np.nan
    if not np.array_equal(stored, positions):
        values, codes = _spread(stored, values, codes, positions)
    facts = (metric.low, metric.high, metric.higher_is_better, metric.version, metric.unit)
    provenance, parts = read_provenance(metric.provenance), _parts(connection, metric, positions)
    return MetricColumn(metric.metric, values, codes, *facts, provenance, parts)


_PEEKED = 20


def _parts(
    connection: Connection, metric: Row[Any], positions: NDArray[np.int64]
) -> dict[str, NDArray[np.bool_]]:
    """Return which parts have a value in each row; empty unless one of the first details has parts."""
    details = schema.details
    own = details.c.metric == metric.id
    first = connection.execute(sa.select(details.c.body).where(own).limit(_PEEKED)).scalars()
    if not any(isinstance(body, dict) and "parts" in body for body in first):
        return {}
    entry = sa.cast(details.c.body["parts"], sa.Text)
    entries = list(driver_rows(connection, sa.select(details.c.position, entry).where(own)))
    found = decode_json_shared(text for _, text in entries)
    by_position = {row[0]: {"parts": parts} for row, parts in zip(entries, found, strict=True)}
    return parts_of_rows([by_position.get(position, _NOTHING) for position in positions.tolist()])


def _spread(
    stored: NDArray[np.int64],
    values: NDArray[np.float64],
    codes: NDArray[np.int8],
    positions: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Align values and codes to all positions; rows without a score are ``missing``.

    Raises StoreError if a score belongs to a row outside all batches.
    """
    if not np.isin(stored, positions).all():
        raise damaged_error("it holds scores of rows that are in no batch of the run")
    spread = np.full(len(positions), np.nan)
    status = np.full(len(positions), STATUSES.index(Status.MISSING), dtype=np.int8)
    places = np.searchsorted(positions, stored)
    spread[places], status[places] = values, codes
    return spread, status


def run_clusters(connection: Connection, record: RunRecord) -> tuple[NDArray[np.int64], Clustering]:
    """Return the cluster of each committed row, in order, and the numbers for the notes on clusters.

    Clusters are numbered from 0 in the order of their first rows, shape (n,), as in the engine: equal
    numbers give equal bootstrap draws. Raises UnknownNameError if the rule is a column that no row has.
    """
    match record.cluster:
        case "question":
            rows = driver_rows(connection, select_committed(record, schema.samples.c.cluster))
            numbers = _number_by_first_row([number for (number,) in rows])
            return numbers, Clustering(dominant=_dominant_question(connection, record, numbers))
        case "contexts":
            numbers = _number_by_first_row(list(_contexts_numbers(connection, record)))
            return numbers, Clustering(BY_CONTEXTS, dominant=_dominant(numbers))
        case "row":
            positions = select_committed(record, schema.samples.c.position).subquery()
            count = connection.execute(sa.select(sa.func.count()).select_from(positions)).scalar_one()
            return np.arange(count, dtype=np.int64), Clustering(BY_ROW)
        case column:
            return _of_column(connection, record, column)


def _of_column(
    connection: Connection, record: RunRecord, column: str
) -> tuple[NDArray[np.int64], Clustering]:
    rows = _metadata_with(connection, record, column)
    numbers = [cluster_number(column, position, metadata=body) for position, body in enumerate(rows)]
    without = sum(not has_value(body, column) for body in rows)
    codes = _number_by_first_row(numbers)
    return codes, Clustering(column, without, _dominant(codes))


def _contexts_numbers(connection: Connection, record: RunRecord) -> Iterator[int]:
    query = select_committed(record, passages()).select_from(with_answers(record.id))
    for position, contexts in enumerate(connection.execute(query).scalars()):
        yield cluster_number(BY_CONTEXTS, position, contexts=contexts or ())


def _dominant(numbers: NDArray[np.int64], text: str = "", contexts: int = 0) -> DominantCluster | None:
    """Return the dominant cluster, with its question; None if there is none."""
    counts = np.bincount(numbers, minlength=1)
    return dominant_cluster(text, int(counts.max()), contexts, of=len(numbers), clusters=len(counts))


def _dominant_question(
    connection: Connection, record: RunRecord, numbers: NDArray[np.int64]
) -> DominantCluster | None:
    """Find the question that more than a fifth of the rows share; None if there is none."""
    if _dominant(numbers, contexts=2) is None:
        return None
    rows = np.flatnonzero(numbers == np.bincount(numbers).argmax())
    query = select_committed(record, schema.samples.c.question).offset(int(rows[0])).limit(1)
    question = connection.execute(query).scalar_one()
    passages = np.array(list(_contexts_numbers(connection, record)), dtype=np.int64)[rows]
    text = "" if question is None else decode_text(question)
    return _dominant(numbers, text, len(np.unique(passages)))


def _number_by_first_row(clusters: list[int]) -> NDArray[np.int64]:
    _, first, codes = np.unique(np.array(clusters, dtype=np.int64), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
