"""Read single rows of a run with all their scores."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Score, Status
from sgi.kernel.signature import display_text
from sgi.store import schema
from sgi.store.bulk_rows import chunks, decode_text, encode_text
from sgi.store.samples import answered_samples, sample_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import MetricSpec
    from sgi.kernel.metric_column import MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_LOOKED_AT = 20_000
"""The maximum number of ids of similar length that are compared with an unknown id, to suggest one."""
_SHOWN = 5
_IDS_A_QUERY = 300


_THIS: sa.BindParameter[str] = sa.bindparam("this")
_FIND: sa.Select[Any] = (
    sa.select(
        schema.runs.c.id,
        schema.runs.c.name,
        sa.func.coalesce(schema.runs.c.name, schema.runs.c.id).label("label"),
        schema.runs.c.dataset,
        schema.runs.c.spec,
        schema.datasets.c.rows,
    )
    .join(schema.datasets)
    .where((schema.runs.c.name == _THIS) | (schema.runs.c.id == _THIS))
)
_FIND_AND_LOCK = _FIND.with_for_update()  # SQLite, which doesn't know it, has locked the file already


@dataclass(frozen=True)
class MetricScore(Score):
    """The score of one metric in one row, with its origin, as it is stored.

    Attributes:
        reasoning: the judge's text; if it is not given, it is taken from the evidence.
        spec: version, range and direction of the metric; None if this package did not compute the value.
        provenance: the models, judge and prompts that computed the value; None if unknown.
        evidence: the complete reply of the judge for the row, with the reasoning.
    """

    reasoning: str | None = None
    spec: MetricSpec | None = None
    provenance: MetricProvenance | None = None
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = self.evidence.get("reasoning") if self.reasoning is None else self.reasoning
        if isinstance(words, str):
            object.__setattr__(self, "reasoning", words)
            object.__setattr__(self, "evidence", {**self.evidence, "reasoning": words})


@dataclass(frozen=True)
class StoredEvaluation:
    """A stored row of a run.

    ``id`` is the run's id and the row's position; ``run`` is the run's name, or its id without a name. The
    sample's response is the answer; ``reason`` says why there is no answer. ``scores`` are by canonical
    string, without ``spec``.
    """

    id: str
    run: str
    position: int
    sample: Sample
    reason: str
    scores: Mapping[str, MetricScore]


def find_exact(connection: Connection, text: str, *, lock: bool = False) -> sa.Row[Any] | None:
    """Find a run by its name, or by its id if no run has this name: id, label, dataset, rows and spec."""
    if text != encode_text(text):
        return None
    rows = connection.execute(_FIND_AND_LOCK if lock else _FIND, {"this": text}).all()
    return next((row for row in rows if row.name == text), rows[0] if rows else None)


def read_evaluations(database: Database, run: str) -> list[StoredEvaluation]:
    """Return the rows of a run, in order; empty if there is no such run."""
    with database.reading() as connection:
        found = find_exact(connection, run)
        return [] if found is None else list(_evaluations(connection, found))


def read_evaluation(database: Database, run: str, sample_id: str) -> StoredEvaluation | None:
    """Return one row of a run; None if there is no such row."""
    with database.reading() as connection:
        found = find_exact(connection, run)
        return None if found is None else next(_evaluations(connection, found, [sample_id]), None)


def sample_evaluation(database: Database, record: RunRecord, sample_id: str) -> StoredEvaluation:
    """Return the stored texts and scores of one sample of a run, by its id or the beginning of its id.

    Raises UnknownNameError with similar ids, UsageError if it or the whole run is not scored yet.
    """
    evaluation = read_evaluation(database, record.id, sample_id)
    if evaluation is not None:
        return evaluation
    samples = schema.samples
    ours = samples.c.dataset == record.dataset
    if not record.scored:
        message = f"The run {record.label} has no scored rows."
        raise UsageError(message, hint=f"`sgi show {record.id}` says why it stopped.")
    alike = sa.func.length(samples.c.id).between(len(sample_id) - 2, len(sample_id) + 2)
    with database.reading() as connection:
        there = sa.select(samples.c.id).where(ours, samples.c.id == encode_text(sample_id))
        if connection.execute(there).first() is not None:
            message = f"The sample {sample_id!r} of the run {record.label} is not scored yet."
            raise UsageError(message, hint=f"Resume the run {record.id}.")
        some = sa.select(samples.c.id).where(ours, alike).order_by(samples.c.position).limit(_LOOKED_AT)
        known = [decode_text(name) for name in connection.execute(some).scalars()]
        begin = encode_text(sample_id.rstrip("…"))
        same = sa.func.substr(samples.c.id, 1, len(begin)) == begin
        longer = sa.select(samples.c.id).where(ours, same).limit(2 if begin else 0)
        matches = [decode_text(name) for name in connection.execute(longer).scalars()]
        some = sa.select(samples.c.id).where(ours).order_by(samples.c.position).limit(_SHOWN)
        first = [decode_text(name) for name in connection.execute(some).scalars()]
    if len(matches) == 1:
        return sample_evaluation(database, record, matches[0])
    near = tuple(difflib.get_close_matches(sample_id, known, n=3))
    hint = f"Its first ids: {', '.join(map(repr, first))}."
    raise UnknownNameError(f"sample of {record.dataset_name}", sample_id, near, hint="" if near else hint)


def sample_evaluations(
    database: Database, record: RunRecord, sample_ids: Iterable[str]
) -> dict[str, StoredEvaluation]:
    """Return texts and scores of some samples of a run, by id; samples without scores are left out."""
    unique = list(dict.fromkeys(sample_ids))
    by_id: dict[str, StoredEvaluation] = {}
    with database.reading() as connection:
        run = find_exact(connection, record.id)
        if run is None:
            return {}
        for some in chunks(unique, _IDS_A_QUERY):
            by_id |= {evaluation.sample.id: evaluation for evaluation in _evaluations(connection, run, some)}
    return {name: by_id[name] for name in unique if name in by_id}


def _evaluations(
    connection: Connection, run: sa.Row[Any], sample_ids: Sequence[str] | None = None
) -> Iterator[StoredEvaluation]:
    samples, batches = schema.samples, schema.batches
    committed = sa.exists().where(batches.c.run == run.id, schema.in_batch(samples.c.position))
    query = answered_samples(run.id, run.dataset).where(committed).order_by(samples.c.position)
    if sample_ids is not None:
        query = query.where(samples.c.id.in_([encode_text(name) for name in sample_ids]))
    rows = {row["position"]: dict(row) for row in connection.execute(query).mappings()}
    scores: dict[int, dict[str, MetricScore]] = {}
    for position, name, score in _scores(connection, run, None if sample_ids is None else list(rows)):
        scores.setdefault(position, {})[name] = score
    for position, row in rows.items():
        sample = sample_of(row).with_texts(display_text)
        reason = decode_text(row["answer_reason"] or "")
        row_id, by_metric = f"{run.id}:{position}", scores.get(position, {})
        yield StoredEvaluation(row_id, run.label, position, sample, reason, by_metric)


def _scores(
    connection: Connection, run: sa.Row[Any], positions: Sequence[int] | None = None
) -> Iterator[tuple[int, str, MetricScore]]:
    metrics, scores, details, evidence = schema.run_metrics, schema.scores, schema.details, schema.evidence
    joined = metrics.join(scores, scores.c.metric == metrics.c.id)
    for table in (details, evidence):
        beside = (table.c.metric == scores.c.metric) & (table.c.position == scores.c.position)
        joined = joined.outerjoin(table, beside)
    bodies = (details.c.body.label("details"), evidence.c.body.label("evidence"))
    query = sa.select(metrics.c.metric.label("name"), *scores.c, *bodies).select_from(joined)
    query = query.where(metrics.c.run == run.id).order_by(metrics.c.position)
    if positions is not None:
        query = query.where(scores.c.position.in_(positions))
    for row in connection.execute(query).mappings():
        yield (
            row["position"],
            row["name"],
            MetricScore(
                row["value"],
                Status(row["status"]),
                decode_text(row["reason"] or ""),
                details=row["details"] or {},
                evidence=row["evidence"] or {},
            ),
        )
