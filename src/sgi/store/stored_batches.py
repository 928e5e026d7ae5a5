"""Read batches of a run with samples and scores, answers of its target, and judgements of its judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Scores
from sgi.kernel.sample import FURTHER_FIELDS, Batch
from sgi.kernel.short_text import short_repr
from sgi.store import schema
from sgi.store.bulk_rows import chunks, column_json, decode_json, decode_text, driver_rows
from sgi.store.run_queries import metric_ids
from sgi.store.samples import answer_of, answered_samples, passages, sample_of, shown_response, with_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.samples import StoredAnswer


RowJudgements = tuple["Mapping[str, JsonValue] | None", ...]
"""Judgements of consecutive rows; None for a row without one."""

_NOTHING: Mapping[str, Any] = {}
_FACTS = {"position", "id", "label", "metadata"}
"""Columns that identify a row without its texts."""
_NO_SCORE = "no score is stored"
_AT_ONCE = 500
"""Rows per SQL statement."""
_TEXTS = {"question": "", "response": "", "reference": None}
"""Value of a text that is NULL."""


@dataclass(frozen=True, eq=False)
class StoredBatch:
    """A committed batch: its samples (with the target's answers), and its scores by canonical string.

    ``start`` is the position of its first sample. ``truncated`` counts rows by the field that a
    model truncated, ``windowed`` by the field that it read in windows; ``failures`` has the reason for each
    model without vectors.
    """

    start: int
    batch: Batch
    scores: Mapping[str, Scores]
    truncated: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    windowed: Mapping[str, int] = field(default_factory=dict)

    __repr__ = short_repr


class JudgementCount(NamedTuple):
    """The number of stored judgements of a metric."""

    version: int
    """Version of the metric; 0 if the scores were not computed here."""
    rows: int
    """Rows with evidence."""

    @property
    def usable(self) -> bool:
        """Whether there are judgements that this package computed, so that their format is known."""
        return bool(self.rows and self.version)


def stored_batches(database: Database, record: RunRecord, *, texts: bool = True) -> Iterator[StoredBatch]:
    """Yield the committed batches of a run, in order; each is read on demand.

    Without ``texts``, samples have only id, label and metadata. Raises StoreError if the run was deleted.
    """
    batches = schema.batches
    query = sa.select(batches.c.start).where(batches.c.run == record.id).order_by(batches.c.start)
    with database.reading() as connection:
        starts = list(connection.execute(query).scalars())
    for start in starts:
        yield stored_batch(database, record, start, texts=texts)


def stored_batch(database: Database, record: RunRecord, start: int, *, texts: bool = True) -> StoredBatch:
    """Return a committed batch; see `stored_batches`."""
    batches, samples = schema.batches, schema.samples
    with database.reading() as connection:
        this = (batches.c.run == record.id) & (batches.c.start == start)
        head = connection.execute(sa.select(batches).where(this)).one_or_none()
        if head is None:
            raise StoreError(f"The run {record.label} was changed or deleted meanwhile.", hint="Try again.")
        inside = samples.c.position.between(start, start + head.rows - 1)
        if texts:
            query = answered_samples(record.id, record.dataset)
        else:
            columns = (c if c.name in _FACTS else sa.null().label(c.name) for c in samples.c)
            query = sa.select(*columns).where(samples.c.dataset == record.dataset)
        rows = connection.execute(query.where(inside).order_by(samples.c.position)).mappings()
        batch = Batch.of([sample_of(dict(row)) for row in rows])
        scores = _scores(connection, record.id, start, head.rows)
    return StoredBatch(start, batch, scores, head.truncated, head.failures, head.windowed or {})


def further_fields(database: Database, record: RunRecord) -> tuple[str, ...]:
    """Return the fields of `FURTHER_FIELDS` that a sample of the run, or an answer of its target, has."""
    samples, answers = schema.samples, schema.answers
    present: set[str] = set()
    for table, owned in (samples, samples.c.dataset == record.dataset), (answers, answers.c.run == record.id):
        counts = [sa.func.count(table.c[name]).label(name) for name in FURTHER_FIELDS if name in table.c]
        with database.reading() as connection:
            row = connection.execute(sa.select(*counts).where(owned)).mappings().one()
        present |= {name for name, count in row.items() if count}
    return tuple(name for name in FURTHER_FIELDS if name in present)


def read_answers(connection: Connection, run: str, start: int, rows: int) -> dict[int, StoredAnswer]:
    """Return the target's answers to consecutive samples, by position."""
    answers = schema.answers
    inside = answers.c.position.between(start, start + rows - 1)
    stored = connection.execute(sa.select(answers).where(answers.c.run == run, inside))
    return {row.position: answer_of(row) for row in stored}


def _scores(connection: Connection, run: str, start: int, rows: int) -> dict[str, Scores]:
    scores, details = schema.scores, schema.details
    joined = scores.outerjoin(
        details, (details.c.metric == scores.c.metric) & (details.c.position == scores.c.position)
    )
    numbers = metric_ids(connection, run)
    cells: dict[int, list[tuple[Any, ...]]] = {number: [] for number in numbers.values()}
    parts = (scores.c.value, scores.c.status, scores.c.reason, sa.cast(details.c.body, sa.Text))
    query = (
        sa.select(scores.c.metric, *parts)
        .select_from(joined)
        .where(scores.c.metric.in_(list(cells)), scores.c.position.between(start, start + rows - 1))
        .order_by(scores.c.metric, scores.c.position)
    )
    for number, *row in driver_rows(connection, query):
        cells[number].append(tuple(row))
    return {name: _as_scores(cells[number]) for name, number in numbers.items()}


def _as_scores(rows: Sequence[tuple[Any, ...]]) -> Scores:
    values, statuses, reasons, bodies = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Scores(
        np.array(values, dtype=np.float64),
        np.array(statuses, dtype="<U9"),
        tuple("" if reason is None else decode_text(reason) for reason in reasons),
        tuple(_NOTHING if body is None else decode_json(body) for body in bodies),
    )


def sample_reader(
    database: Database, record: RunRecord, positions: NDArray[np.int64]
) -> Callable[[Sequence[int]], Iterator[Sample]]:
    """Return a function that reads the samples of rows in the given order, from the open database.

    ``positions`` are the positions of the run's rows, shape (n,).
    """

    def read(rows: Sequence[int]) -> Iterator[Sample]:
        for some in chunks(rows, _AT_ONCE):
            places = positions[some].tolist()
            query = answered_samples(record.id, record.dataset)
            with database.reading() as connection:
                stored = connection.execute(query.where(schema.samples.c.position.in_(places))).mappings()
                by_position = {row["position"]: dict(row) for row in stored}
            yield from (sample_of(by_position[position]) for position in places)

    return read


def field_reader(
    database: Database, record: RunRecord, positions: NDArray[np.int64]
) -> Callable[[Sequence[str]], Iterator[tuple[Any, ...]]]:
    """Return a function that reads fields of all rows: question, response, reference, contexts or metadata.

    ``positions`` are the positions of the run's rows, shape (n,). The values equal the fields of the samples
    that `sample_reader` returns; no sample is built.
    """
    samples = schema.samples

    def read(names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        query = sa.select(samples.c.position, *map(_column, names)).where(samples.c.dataset == record.dataset)
        if {"contexts", "response"} & {*names}:
            query = query.select_from(with_answers(record.id))
        for some in chunks(positions.tolist()):
            inside = samples.c.position.between(some[0], some[-1])
            with database.reading() as connection:
                rows = {row[0]: row[1:] for row in driver_rows(connection, query.where(inside))}
            for position in some:
                yield tuple(map(_value, names, rows[position]))

    return read


def details_reader(
    database: Database, record: RunRecord, positions: NDArray[np.int64]
) -> Callable[[str, Sequence[int]], Iterator[tuple[str, Mapping[str, Any]]]]:
    """Return a function that reads, for a metric, why rows have no value, and the details of their scores.

    ``positions`` are the positions of the run's rows, shape (n,).
    """
    scores, details = schema.scores, schema.details
    same_row = (details.c.metric == scores.c.metric) & (details.c.position == scores.c.position)
    columns = scores.c.position, scores.c.reason, sa.cast(details.c.body, sa.Text)
    query = sa.select(*columns).select_from(scores.outerjoin(details, same_row))

    def read(metric: str, rows: Sequence[int]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for some in chunks(rows, _AT_ONCE):
            places = positions[some].tolist()
            with database.reading() as connection:
                this = scores.c.metric == metric_ids(connection, record.id)[metric]
                of_rows = query.where(this, scores.c.position.in_(places))
                found = {row[0]: row[1:] for row in driver_rows(connection, of_rows)}
            for position in places:
                reason, body = found.get(position, (_NO_SCORE, None))
                yield (
                    "" if reason is None else decode_text(reason),
                    _NOTHING if body is None else decode_json(body),
                )

    return read


def _column(name: str) -> sa.ColumnElement[Any]:
    if name == "response":
        return shown_response()
    if name in _TEXTS:
        return schema.samples.c[name]
    return sa.cast(passages() if name == "contexts" else schema.samples.c[name], sa.Text)


def _value(name: str, stored: Any) -> Any:
    if name in _TEXTS:
        return _TEXTS[name] if stored is None else decode_text(stored)
    value = None if stored is None else column_json(stored)
    return tuple(value or ()) if name == "contexts" else value or {}


def count_judgements(database: Database, record: RunRecord) -> dict[str, JudgementCount]:
    """Count the stored judgements of each metric of a run, in the order of its metrics."""
    metrics, evidence = schema.run_metrics, schema.evidence
    rows = sa.select(sa.func.count()).where(evidence.c.metric == metrics.c.id).scalar_subquery()
    query = sa.select(metrics.c.metric, metrics.c.version, rows).where(metrics.c.run == record.id)
    with database.reading() as connection:
        counts = connection.execute(query.order_by(metrics.c.position)).all()
    return {name: JudgementCount(version, count) for name, version, count in counts}


def read_judgements(
    database: Database, record: RunRecord, positions: Sequence[int], metrics: Iterable[str]
) -> dict[str, RowJudgements]:
    """Return the judgements of consecutive rows by canonical string; KeyError for an unknown metric."""
    table = schema.evidence
    judgements = {}
    with database.reading() as connection:
        ids = metric_ids(connection, record.id)
        for name in metrics:
            query = sa.select(table.c.position, table.c.body).where(
                table.c.metric == ids[name], table.c.position.between(positions[0], positions[-1])
            )
            bodies = {row.position: row.body for row in connection.execute(query)}
            judgements[name] = tuple(bodies.get(position) for position in positions)
    return judgements
