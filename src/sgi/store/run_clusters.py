"""The clusters of a run's committed rows, by the rule of the run or by another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from sgi.kernel.clusters import (
    BY_CONTEXTS,
    BY_ROW,
    Clustering,
    DominantQuestion,
    cluster_number,
    dominant_question,
    has_value,
    unknown_column,
)
from sgi.store import schema
from sgi.store.driver_rows import driver_rows
from sgi.store.run_queries import committed
from sgi.store.text_codec import restored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from sgi.store.run_queries import RunRecord


def run_clusters(connection: Connection, record: RunRecord) -> tuple[NDArray[np.int64], Clustering]:
    """The cluster of each committed row, in order, and what the notes on them need.

    Args:
        connection: to the database.
        record: the run, with the rule that is wanted.

    Returns:
        Numbers counted from 0 in the order of their first rows, shape (n,), as the engine has them: equal
        numbers give equal draws.

    Raises:
        UnknownNameError: the rule is a column that no row has.
    """
    match record.cluster:
        case "question":
            numbers = _of_questions(connection, record)
            return numbers, Clustering(dominant=_dominant(connection, record, numbers))
        case "contexts":
            return _numbered(list(_contexts_numbers(connection, record))), Clustering(BY_CONTEXTS)
        case "row":
            rows = connection.execute(_count(record)).scalar_one()
            return np.arange(rows, dtype=np.int64), Clustering(BY_ROW)
        case column:
            return _of_column(connection, record, column)


def _count(record: RunRecord) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(committed(record, schema.samples.c.position).subquery())


def _of_questions(connection: Connection, record: RunRecord) -> NDArray[np.int64]:
    rows = driver_rows(connection, committed(record, schema.samples.c.cluster))
    return _numbered([number for (number,) in rows])


def _of_column(
    connection: Connection, record: RunRecord, column: str
) -> tuple[NDArray[np.int64], Clustering]:
    rows = [body or {} for body in connection.execute(committed(record, schema.samples.c.metadata)).scalars()]
    if rows and not any(column in body for body in rows):
        raise unknown_column(record.dataset_name, column, {name for body in rows for name in body})
    numbers = [cluster_number(column, position, metadata=body) for position, body in enumerate(rows)]
    without = sum(not has_value(body, column) for body in rows)
    return _numbered(numbers), Clustering(column, without)


def _contexts_numbers(connection: Connection, record: RunRecord) -> Iterator[int]:
    """The cluster number of each row's passages; those that a target returned go before the data's."""
    samples, answers = schema.samples, schema.answers
    query = committed(record, samples.c.contexts, answers.c.contexts.label("returned"))
    answer = (answers.c.run == record.id) & (answers.c.position == samples.c.position)
    for position, row in enumerate(connection.execute(query.outerjoin(answers, answer))):
        contexts = row.contexts if row.returned is None else row.returned
        yield cluster_number(BY_CONTEXTS, position, contexts=contexts or ())


def _dominant(
    connection: Connection, record: RunRecord, numbers: NDArray[np.int64]
) -> DominantQuestion | None:
    """The question that most rows share, if there is one; few runs need more than a count for it."""
    counts = np.bincount(numbers) if len(numbers) else np.zeros(1, dtype=np.int64)
    most = int(counts.argmax())
    if 2 * counts[most] <= len(numbers):
        return None
    rows = np.flatnonzero(numbers == most)
    query = committed(record, schema.samples.c.question).offset(int(rows[0])).limit(1)
    question = connection.execute(query).scalar_one()
    passages = np.array(list(_contexts_numbers(connection, record)), dtype=np.int64)[rows]
    text = "" if question is None else restored(question)
    return dominant_question(text, len(rows), len(np.unique(passages)), of=len(numbers))


def _numbered(clusters: list[int]) -> NDArray[np.int64]:
    """The same clusters, numbered by their first row."""
    _, first, codes = np.unique(np.array(clusters, dtype=np.int64), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
