"""Write runs: the only module that inserts runs, metrics, batches, scores and judgements.

`create_run` or `open_writer` gives a `Writer`, which holds the lease of its run. `Writer.put` stores a batch
in one transaction. A committed batch is never written again: the same batch put twice changes nothing, and
another one is refused. So a killed process loses at most one batch, and the run resumes with ``done``.

All ways into the store use these functions, in different transactions:

* engine, rescoring: one transaction per batch; an error deletes a rescored run, others can be resumed;
* folder of a cluster, table ``evals``: one transaction for the import, so a failed one leaves nothing;
* `growing_runs`: one transaction per row, with a lock of the run in place of a lease; rows can be replaced;
* `transfer`: rows come by table, not by batch, and keep their ids; only the metrics get new numbers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Status
from sgi.kernel.names import as_name
from sgi.store import schema
from sgi.store.bulk_rows import driver_rows, insert_rows, upsert
from sgi.store.leases import Lease
from sgi.store.run_names import require_free_name
from sgi.store.run_queries import metric_ids
from sgi.store.samples import answer_row, sample_row
from sgi.store.schema import now
from sgi.store.text_codec import encode_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import MetricSpec, Scores
    from sgi.kernel.protocols import Usage
    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.samples import StoredAnswer

Judgements = Mapping[str, "Sequence[Mapping[str, JsonValue] | None]"]
"""Judgements as JSON by the metric's canonical string: one entry per row, None for a row without one."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class _Named(Protocol):
    """A metric, as far as the store describes it."""

    @property
    def canonical(self) -> str: ...
    @property
    def spec(self) -> MetricSpec: ...


@dataclass(frozen=True)
class Setup:
    """What is known of a run before its first batch.

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
    metrics: Sequence[_Named] = ()
    name: str | None = None
    rejected: int = 0
    provenance: Mapping[str, MetricProvenance | None] = field(default_factory=dict)
    tags: Sequence[str] = ()


@dataclass(eq=False)
class Writer:
    """Writes one run, whose data has the hash ``dataset``.

    ``metric_ids`` are by canonical string; ``done`` holds the first positions of the committed batches. If
    ``has_samples``, all samples of the data are stored already. `create_run` and `open_writer` take the
    ``lease``, the right to write the run: methods raise RunBusyError if another process took it over, and
    StoreError if the run was deleted or the database cannot be written.
    """

    database: Database
    run: str
    dataset: str
    metric_ids: Mapping[str, int]
    lease: Lease
    done: set[int] = field(default_factory=set)
    has_samples: bool = False
    _reopened: set[int] = field(default_factory=set)

    def put(
        self,
        start: int,
        samples: Sequence[Sample],
        scores: Mapping[str, Scores],
        *,
        truncated: Mapping[str, int] = _NOTHING,
        failures: Mapping[str, str] = _NOTHING,
        windowed: Mapping[str, int] = _NOTHING,
        judgements: Judgements = _NOTHING,
        usage: Mapping[str, Usage] = _NOTHING,
    ) -> None:
        """Store a batch whose first sample has the position ``start``, unless it is stored already.

        ``scores`` and ``judgements`` have the metric's canonical string as key. ``truncated`` counts rows by
        the field that a model truncated, ``windowed`` by the field that it read in windows. ``failures``
        gives the reason for each model without vectors. ``usage`` holds, by the judge's
        fingerprint, the totals since the run was started or resumed; they replace earlier ones.

        Raises StoreError also if another batch is stored there.
        """
        if unknown := judgements.keys() - scores.keys():
            raise ValueError(f"judgements of metrics without scores: {sorted(unknown)}")
        rows = {
            number: list(_score_rows(number, start, scores[name], judgements.get(name)))
            for name, number in zip(scores, map(self.metric_ids.__getitem__, scores), strict=True)
        }
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if start in self._reopened:
                self._delete_batch(connection, start, len(samples))
            if not self._is_stored(connection, start, len(samples), rows):
                insert_batch(connection, self.run, start, len(samples), truncated, failures, windowed)
                count_change(connection, self.run)
                if not self.has_samples:
                    encoded = (sample_row(self.dataset, k, sample) for k, sample in enumerate(samples, start))
                    insert_rows(connection, schema.samples, encoded, unless_there=True)
                for of_metric in rows.values():
                    insert_scores(connection, of_metric)
            self._put_usage(connection, usage)
        self.done.add(start)
        self._reopened.discard(start)

    def put_usage(self, usage: Mapping[str, Usage]) -> None:
        """Store the judge usage since the run was started or resumed, in place of earlier totals."""
        with self.database.writing() as connection:
            self.lease.renew(connection)
            self._put_usage(connection, usage)

    def put_answers(self, answers: Mapping[int, StoredAnswer]) -> None:
        """Store answers of the target by position; they replace earlier failures."""
        table = schema.answers
        failed = (table.c.run == self.run) & table.c.position.in_(list(answers)) & table.c.response.is_(None)
        with self.database.writing() as connection:
            self.lease.renew(connection)
            count_change(connection, self.run)
            connection.execute(sa.delete(table).where(failed))
            try:
                rows = (answer_row(self.run, position, answer) for position, answer in answers.items())
                insert_rows(connection, table, rows)
            except IntegrityError as error:
                raise self._concurrent_write_error() from error

    def reopen_failed(self) -> int:
        """Reopen the batches with a failed row; return their number. Old scores stay until replaced."""
        scores, batches = schema.scores, schema.batches
        inside = schema.in_batch(scores.c.position) & scores.c.metric.in_(list(self.metric_ids.values()))
        failed = sa.exists().where(inside, scores.c.status == Status.FAILED.value)
        with self.database.reading() as connection:
            starts = connection.execute(sa.select(batches.c.start).where(batches.c.run == self.run, failed))
            self._reopened = set(starts.scalars())
        self.done -= self._reopened
        return len(self._reopened)

    def finish(self, summary: Mapping[str, Any] | None) -> None:
        """Mark the run as finished, store its summary, and release the lease.

        Raises StoreError also if rows are missing.
        """
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if not _is_complete(connection, self.run):
                hint = f"Resume the run {self.run}."
                raise StoreError(f"Not every row of the run {self.run} is there.", hint=hint)
            update_run(connection, self.run, finished_at=now(), stopped=None, summary=summary)
            self.lease.release(connection)

    def stop(self, reason: str, usage: Mapping[str, Usage] = _NOTHING) -> None:
        """Store why the run ends early and the judge usage, and release the lease.

        If another process took the run over, only the usage is stored; nothing if the run was deleted.
        """
        with self.database.writing() as connection:
            if self.lease.release(connection):
                update_run(connection, self.run, stopped=encode_text(reason))
            if connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.id == self.run)).first():
                self._put_usage(connection, usage)

    def discard(self) -> None:
        """Delete the run and its scores; the samples, which other runs may share, stay in the database."""
        with self.database.writing() as connection:
            connection.execute(sa.delete(schema.runs).where(schema.runs.c.id == self.run))

    def _is_stored(
        self, connection: Connection, start: int, size: int, rows: Mapping[int, Iterable[_ScoreRow]]
    ) -> bool:
        """Return whether the batch is stored with these scores; StoreError if it has others."""
        batches, scores = schema.batches, schema.scores
        this = (batches.c.run == self.run) & (batches.c.start == start)
        stored = connection.execute(sa.select(batches.c.rows).where(this)).scalar()
        if stored is None:
            return False
        inside = scores.c.position.between(start, start + stored - 1) & scores.c.metric.in_(list(rows))
        there = sorted(driver_rows(connection, sa.select(scores).where(inside)))
        if stored != size or there != sorted(row[:5] for of_metric in rows.values() for row in of_metric):
            raise self._concurrent_write_error()
        return True

    def _delete_batch(self, connection: Connection, start: int, size: int) -> None:
        """Delete a reopened batch; the run is unfinished until it gets a new summary."""
        delete_scores(connection, self.metric_ids.values(), start, start + size - 1)
        batches = schema.batches
        connection.execute(sa.delete(batches).where(batches.c.run == self.run, batches.c.start == start))
        update_run(connection, self.run, finished_at=None, summary=None)

    def _put_usage(self, connection: Connection, usage: Mapping[str, Usage]) -> None:
        for judge, used in usage.items():
            key = {"run": self.run, "judge": encode_text(judge), "attempt": self.lease.owner}
            upsert(connection, schema.usage, key | asdict(used))

    def _concurrent_write_error(self) -> StoreError:
        hint = "Nothing was overwritten. Resume the run with one process."
        return StoreError(f"Another process is writing the run {self.run}.", hint=hint)


def create_run(database: Database, setup: Setup, *, run: str | None = None) -> Writer:
    """Create a run without rows; ``run`` is its id. Raises UsageError if the name is taken or reserved."""
    run, moment = run or new_run_id(), now()
    with database.writing() as connection:
        if setup.name is not None:
            require_free_name(connection, setup.name, otherwise=f"resume the run {setup.name!r}")
        ids = insert_run(connection, run, setup, moment)
        has_samples = _has_all_samples(connection, setup.dataset, setup.rows)
        lease = Lease(run)
        lease.take(connection, moment)
    return Writer(database, run, setup.dataset, ids, lease, has_samples=has_samples)


def open_writer(database: Database, record: RunRecord, *, take_over: bool = False) -> Writer:
    """Open the writer of an existing run, and take the run's lease, so that no other process writes it.

    Raises RunBusyError if another process writes it and ``take_over`` is false; StoreError if it was deleted.
    """
    run, batches, lease = record.id, schema.batches, Lease(record.id)
    with database.writing() as connection:
        lease.take(connection, now(), take_over=take_over)
        update_run(connection, run, stopped=None)
        ids = metric_ids(connection, run)
        done = set(connection.execute(sa.select(batches.c.start).where(batches.c.run == run)).scalars())
        has_samples = _has_all_samples(connection, record.dataset, record.rows)
    return Writer(database, run, record.dataset, ids, lease, done, has_samples)


def insert_run(connection: Connection, run: str, setup: Setup, moment: str) -> dict[str, int]:
    """Insert a run, and its dataset unless it is stored already; return the number of each metric."""
    dataset = (setup.dataset, encode_text(as_name(setup.dataset_name)), setup.rows, moment)
    insert_rows(connection, schema.datasets, [dataset], unless_there=True)
    connection.execute(
        sa.insert(schema.runs).values(
            id=run,
            dataset=setup.dataset,
            name=setup.name,
            spec=dict(setup.spec),
            spec_hash=setup.spec_hash,
            signature=setup.signature,
            versions=dict(setup.versions),
            created_at=moment,
            rejected=setup.rejected,
        )
    )
    insert_rows(connection, schema.run_tags, ((run, tag) for tag in setup.tags))
    specs = {metric.canonical: metric.spec for metric in setup.metrics}
    return {
        name: insert_metric(connection, run, position, name, spec, setup.provenance.get(name))
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
    computed = None if provenance is None else asdict(provenance)
    row = {"run": run, "position": position, "metric": name, "unit": spec.unit, "provenance": computed}
    return insert_metric_row(connection, row | spec_columns(spec))


def insert_metric_row(connection: Connection, row: Mapping[str, Any]) -> int:
    """Insert a row of the table ``run_metrics`` without its number, and return the number."""
    inserted = sa.insert(schema.run_metrics).values(row).returning(schema.run_metrics.c.id)
    return int(connection.execute(inserted).scalar_one())


def spec_columns(spec: MetricSpec) -> dict[str, Any]:
    """Return version, direction and bounds of a metric for the tables; an infinite bound becomes None."""
    low, high = (bound if math.isfinite(bound) else None for bound in (spec.low, spec.high))
    return {"version": spec.version, "higher_is_better": spec.higher_is_better, "low": low, "high": high}


def insert_batch(
    connection: Connection,
    run: str,
    start: int,
    size: int,
    truncated: Mapping[str, int] = _NOTHING,
    failures: Mapping[str, str] = _NOTHING,
    windowed: Mapping[str, int] = _NOTHING,
) -> None:
    """Insert the record of a batch of ``size`` rows."""
    facts = (encode_json(dict(truncated)), encode_json(dict(failures)))
    in_windows = encode_json(dict(windowed)) if windowed else None
    insert_rows(connection, schema.batches, [(run, start, size, *facts, in_windows)])


_ScoreRow = tuple[
    int, int, float | None, str, str | None, "Mapping[str, JsonValue]", "Mapping[str, JsonValue] | None"
]
"""A row of the table ``scores``, with the details and the judgement as JSON."""


def score_row(
    metric: int,
    position: int,
    value: float | None,
    status: str,
    reason: str,
    details: Mapping[str, JsonValue],
    judgement: Mapping[str, JsonValue] | None,
) -> _ScoreRow:
    """Return the score of one row for `insert_scores`: a value (status ``ok``) or a reason."""
    encoded = encode_text(reason) if reason else None
    return metric, position, None if encoded else value, status, encoded, details, judgement


def insert_scores(connection: Connection, rows: Sequence[_ScoreRow]) -> None:
    """Insert scores with their details and judgements."""
    insert_rows(connection, schema.scores, (row[:5] for row in rows))
    details = ((metric, position, encode_json(dict(body))) for metric, position, *_, body, _ in rows if body)
    insert_rows(connection, schema.details, details)
    judged = ((row[0], row[1], encode_json(dict(row[6]))) for row in rows if row[6] is not None)
    insert_rows(connection, schema.evidence, judged)


def delete_scores(connection: Connection, metrics: Iterable[int], first: int, last: int) -> None:
    """Delete the scores of rows from the positions ``first`` to ``last``, with details and judgements."""
    numbers = list(metrics)
    for table in (schema.scores, schema.details, schema.evidence):
        rows = table.c.position.between(first, last) & table.c.metric.in_(numbers)
        connection.execute(sa.delete(table).where(rows))


def update_run(connection: Connection, run: str, **values: Any) -> None:
    """Change columns of a run."""
    connection.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(**values))


def count_change(connection: Connection, run: str) -> None:
    """Increment the counter of changes of a run; call it in the transaction that changes the rows."""
    table = schema.run_changes
    upsert(connection, table, {"run": run, "count": 1}, count=table.c["count"] + 1)


def new_run_id() -> str:
    """Return an id that sorts by time; the last part distinguishes runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _score_rows(
    metric: int, start: int, scores: Scores, judgements: Sequence[Mapping[str, JsonValue] | None] | None
) -> Iterator[_ScoreRow]:
    size = len(scores)
    if judgements is not None and len(judgements) != size:
        raise ValueError(f"{len(judgements)} judgements for {size} rows")
    cells = (scores.values.tolist(), scores.status.tolist(), scores.reasons, scores.details)
    for position, row in enumerate(zip(*cells, judgements or (None,) * size, strict=True), start):
        yield score_row(metric, position, *row)


def _is_complete(connection: Connection, run: str) -> bool:
    batches, runs, datasets = schema.batches, schema.runs, schema.datasets
    committed = sa.select(sa.func.coalesce(sa.func.sum(batches.c.rows), 0)).where(batches.c.run == run)
    expected = (
        sa.select(datasets.c.rows).join(runs, runs.c.dataset == datasets.c.hash).where(runs.c.id == run)
    )
    return bool(connection.execute(committed).scalar_one() == connection.execute(expected).scalar_one())


def _has_all_samples(connection: Connection, dataset: str, rows: int) -> bool:
    """Return whether an earlier run stored all samples of the data."""
    count = sa.select(sa.func.count()).select_from(schema.samples).where(schema.samples.c.dataset == dataset)
    return bool(connection.execute(count).scalar_one() == rows)
