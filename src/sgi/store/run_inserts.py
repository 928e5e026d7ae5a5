"""Insert runs, batches, samples and scores into the database."""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from sgi.kernel.names import as_name
from sgi.kernel.sample import FURTHER_FIELDS
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks
from sgi.store.text_codec import encode_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import AnyMetric, MetricSpec, Scores
    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.store.samples import StoredAnswer

_A_STATEMENT = 500
"""Rows per statement; PostgreSQL allows 65535 values in one."""
_NO_FURTHER = (None,) * len(FURTHER_FIELDS)


@dataclass(frozen=True)
class RunStart:
    """The facts of a run before its first batch.

    Attributes:
        dataset: hash of the samples.
        dataset_name: name of the data for messages.
        rows: number of samples.
        spec: settings of the run as JSON, without secrets.
        spec_hash: a hash of the settings that can change a score.
        rejected: number of rows that could not be read.
        provenance: the models, judge and prompts that compute each metric, by its canonical string.
    """

    dataset: str
    dataset_name: str
    rows: int
    spec: Mapping[str, JsonValue]
    spec_hash: str
    signature: str
    versions: Mapping[str, str]
    metrics: Sequence[AnyMetric] = ()
    name: str | None = None
    rejected: int = 0
    provenance: Mapping[str, MetricProvenance | None] = field(default_factory=dict)
    tags: Sequence[str] = ()


class ScoreRow(NamedTuple):
    """The score of one row: a ``value`` (status ``ok``) or a ``reason``; details and judgement as JSON."""

    metric: int
    position: int
    value: float | None
    status: str
    reason: str = ""
    details: Mapping[str, JsonValue] | None = None
    judgement: Mapping[str, JsonValue] | None = None


def insert_run(
    connection: Connection, run: str, start: RunStart, moment: str, *, finished_at: str | None = None
) -> dict[str, int]:
    """Insert a run, and its dataset unless it is stored already; return the number of each metric."""
    dataset = (start.dataset, encode_text(as_name(start.dataset_name)), start.rows, moment)
    insert_rows(connection, schema.datasets, [dataset], unless_there=True)
    connection.execute(
        sa.insert(schema.runs).values(
            id=run,
            dataset=start.dataset,
            name=start.name,
            spec=dict(start.spec),
            spec_hash=start.spec_hash,
            signature=start.signature,
            versions=dict(start.versions),
            created_at=moment,
            finished_at=finished_at,
            rejected=start.rejected,
        )
    )
    insert_rows(connection, schema.run_tags, ((run, tag) for tag in start.tags))
    specs = {metric.canonical: metric.spec for metric in start.metrics}
    return {
        name: insert_metric(connection, run, position, name, spec, start.provenance.get(name))
        for position, (name, spec) in enumerate(specs.items())
    }


def insert_metric(
    connection: Connection,
    run: str,
    position: int,
    name: str,
    spec: MetricSpec,
    provenance: MetricProvenance | None = None,
) -> int:
    """Insert a metric of a run and return its number."""
    row = {
        "run": run,
        "position": position,
        "metric": name,
        "version": spec.version,
        "low": bind(spec.low),
        "high": bind(spec.high),
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "provenance": None if provenance is None else asdict(provenance),
    }
    inserted = sa.insert(schema.run_metrics).values(row).returning(schema.run_metrics.c.id)
    return int(connection.execute(inserted).scalar_one())


def insert_batch(
    connection: Connection,
    run: str,
    start: int,
    rows: int,
    *,
    truncated: Mapping[str, int] | None = None,
    failures: Mapping[str, str] | None = None,
    windowed: Mapping[str, int] | None = None,
) -> None:
    """Insert the record of a batch; raises IntegrityError if the batch is stored already."""
    facts = (encode_json(dict(truncated or {})), encode_json(dict(failures or {})))
    in_windows = encode_json(dict(windowed)) if windowed else None
    insert_rows(connection, schema.batches, [(run, start, rows, *facts, in_windows)])


def insert_samples(connection: Connection, dataset: str, start: int, samples: Sequence[Sample]) -> None:
    """Insert consecutive samples, the first at ``start``; samples that are stored already are skipped."""
    rows = (sample_row(dataset, position, sample) for position, sample in enumerate(samples, start))
    insert_rows(connection, schema.samples, rows, unless_there=True)


def sample_row(dataset: str, position: int, sample: Sample) -> tuple[Any, ...]:
    """Convert a sample for the table ``samples``: values for the driver, in column order, JSON as text.

    NULL marks an absent field, which differs from a blank one.
    """
    given = sample.model_fields_set
    return (
        dataset,
        position,
        encode_text(sample.id),
        sample.cluster(position),
        encode_text(sample.question) if "question" in given else None,
        encode_json(sample.contexts) if "contexts" in given else None,
        encode_text(sample.response) if "response" in given else None,
        None if sample.reference is None else encode_text(sample.reference),
        encode_json(sample.alternatives) if "alternatives" in given else None,
        sample.label,
        encode_json(sample.metadata) if "metadata" in given else None,
        *_further_values(sample),
    )


def _further_values(sample: Sample) -> Iterable[Any]:
    if not (values := sample.further_values()):
        return _NO_FURTHER
    columns = map(values.get, FURTHER_FIELDS)
    return (encode_json(value) if isinstance(value, (list, dict)) else value for value in columns)


def answer_row(run: str, position: int, answer: StoredAnswer) -> tuple[Any, ...]:
    """Convert an answer for the table ``answers``, as values for the driver."""
    response = None if answer.response is None else encode_text(answer.response)
    contexts = None if answer.contexts is None else encode_json(list(answer.contexts))
    reason = None if answer.reason is None else encode_text(answer.reason)
    ranking = (None if values is None else encode_json(list(values)) for values in answer.ranking)
    return run, position, response, contexts, reason, answer.seconds, *answer.costs, *ranking


def count_change(connection: Connection, run: str) -> None:
    """Increment the counter of changes of a run; call it in the transaction that changes the rows."""
    table = schema.run_changes
    upsert(connection, table, {"run": run, "count": 1}, count=table.c["count"] + 1)


def insert_scores(connection: Connection, rows: Iterable[ScoreRow]) -> None:
    """Insert scores with their details and judgements."""
    scores, details, judgements = [], [], []
    for row in rows:
        reason = encode_text(row.reason) if row.reason else None
        scores.append((row.metric, row.position, None if reason else row.value, row.status, reason))
        if row.details:
            details.append((row.metric, row.position, encode_json(dict(row.details))))
        if row.judgement is not None:
            judgements.append((row.metric, row.position, encode_json(dict(row.judgement))))
    insert_rows(connection, schema.scores, scores)
    insert_rows(connection, schema.details, details)
    insert_rows(connection, schema.evidence, judgements)


def delete_scores(connection: Connection, metrics: Iterable[int], first: int, last: int) -> None:
    """Delete the scores of rows from the positions ``first`` to ``last``, with details and judgements."""
    numbers = list(metrics)
    for table in (schema.scores, schema.details, schema.evidence):
        rows = table.c.position.between(first, last) & table.c.metric.in_(numbers)
        connection.execute(sa.delete(table).where(rows))


def score_rows(
    metric: int, start: int, scores: Scores, judgements: Sequence[Mapping[str, JsonValue] | None] | None
) -> Iterator[ScoreRow]:
    """Yield the scores of consecutive rows, the first at ``start``."""
    rows = len(scores)
    if judgements is not None and len(judgements) != rows:
        raise ValueError(f"{len(judgements)} judgements for {rows} rows")
    columns = (
        scores.values.tolist(),
        scores.status.tolist(),
        scores.reasons,
        scores.details,
        judgements or (None,) * rows,
    )
    for position, row in enumerate(zip(*columns, strict=True), start):
        yield ScoreRow(metric, position, *row)


def bind(value: float) -> float | None:
    """Convert a bound of a metric's range for the tables; an infinite bound becomes None."""
    return value if math.isfinite(value) else None


def new_run_id() -> str:
    """Return an id that sorts by time; the last part distinguishes runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def now() -> str:
    """Return the current time for the tables: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]], *, unless_there: bool = False
) -> None:
    """Insert rows through the database driver, because SQLAlchemy's layers cost as much as the writing.

    Rows hold values for the driver (JSON as text), in column order. ``unless_there`` skips rows whose key
    exists.
    """
    lite = connection.dialect.name == "sqlite"
    row = f"({', '.join(['?' if lite else '%s'] * len(table.columns))})"
    names = ", ".join(column.name for column in table.columns)
    head = f"INSERT INTO {table.name} ({names}) VALUES "  # noqa: S608 - our own names
    tail = " ON CONFLICT DO NOTHING" if unless_there else ""
    for some in chunks(rows, CHUNK if lite else _A_STATEMENT):
        if lite:
            connection.exec_driver_sql(f"{head}{row}{tail}", some)
        else:  # a server wants few statements, each of many rows
            values = ", ".join([row] * len(some))
            connection.exec_driver_sql(f"{head}{values}{tail}", tuple(chain.from_iterable(some)))


def upsert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any], **changed: Any) -> None:
    """Insert a row; if its key exists, replace its other values. ``changed`` has other values for that."""
    from sqlalchemy.dialects import postgresql, sqlite

    inserted = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table).values(**values)
    others = {name: value for name, value in values.items() if name not in table.primary_key.columns}
    connection.execute(
        inserted.on_conflict_do_update(index_elements=table.primary_key, set_=others | changed)
    )
