"""Insert a run, its metrics, batches and scores, for every kind of run."""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from sgi.kernel.names import as_name
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.text_codec import encode_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import AnyMetric, MetricSpec, Scores
    from sgi.kernel.provenance import MetricProvenance


@dataclass(frozen=True)
class RunStart:
    """The facts of a run before its first batch.

    Attributes:
        dataset: hash of the samples.
        dataset_name: name of the data for messages.
        rows: number of samples.
        spec: settings of the run as JSON, without secrets.
        spec_hash: differs for settings that can give other numbers.
        rejected: rows that could not be read.
        provenance: what computes each metric, by canonical string.
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
    """The score of one row: ``value`` with ``ok``, else ``reason``; JSON of its details and its judgement."""

    metric: int
    position: int
    value: float | None
    status: str
    reason: str = ""
    details: Mapping[str, JsonValue] | None = None
    judgement: Mapping[str, JsonValue] | None = None


def insert_run(
    connection: Connection, run: str, start: RunStart, moment: str, *, finished_at: str | None = None
) -> None:
    """Insert a run and, unless it is there, its dataset."""
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
) -> None:
    """Insert the head of a batch; an IntegrityError says that it is there already."""
    head = (run, start, rows, encode_json(dict(truncated or {})), encode_json(dict(failures or {})))
    insert_rows(connection, schema.batches, [head])


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


def score_rows(
    metric: int, start: int, scores: Scores, judgements: Sequence[Mapping[str, JsonValue] | None] | None
) -> Iterator[ScoreRow]:
    """The scores of consecutive rows, the first at ``start``."""
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
    """Convert a bound for the tables: None if it is infinite."""
    return value if math.isfinite(value) else None


def new_run_id() -> str:
    """Return an id that sorts by time; the last part distinguishes runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def now() -> str:
    """Return the time for the tables: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
