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
from sgi.kernel.short_text import as_name
from sgi.store import schema
from sgi.store.bulk_rows import driver_rows, encode_json, encode_text, insert_rows, upsert
from sgi.store.leases import Lease
from sgi.store.run_names import require_free_name
from sgi.store.run_queries import metric_ids
from sgi.store.samples import answer_row, delete_failed_answers, sample_row
from sgi.store.schema import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import MetricSpec, Scores
    from sgi.kernel.metric_column import MetricProvenance
    from sgi.kernel.protocols import Usage
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.samples import StoredAnswer

_JsonObject = Mapping[str, "JsonValue"]
Judgements = Mapping[str, "Sequence[_JsonObject | None]"]
"""Judgements as JSON by the metric's canonical string: one entry per row, None for a row without one."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_COUNT_CHANGE = sa.text(
    "INSERT INTO run_changes (run, count) VALUES (:run, 1)"
    " ON CONFLICT (run) DO UPDATE SET count = run_changes.count + 1"
)
_RUN_COLUMNS = ("dataset", "name", "spec", "spec_hash", "signature", "versions", "rejected")


class _Named(Protocol):
    """A metric, as far as the store describes it."""

    @property
    def canonical(self) -> str: ...
    @property
    def spec(self) -> MetricSpec: ...


@dataclass(frozen=True)
class Setup:
    """Facts about a run that are known before its first batch.

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
        gives the reason for each model without vectors. ``usage`` is as in `put_usage`. Raises StoreError
        also if another batch is stored there.
        """
        if unknown := judgements.keys() - scores.keys():
            raise ValueError(f"judgements of metrics without scores: {sorted(unknown)}")
        rows = [
            row
            for name, of_metric in scores.items()
            for row in _score_rows(self.metric_ids[name], start, of_metric, judgements.get(name))
        ]
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if start in self._reopened:
                self._delete_batch(connection, start, len(samples))
            if not self._is_stored(connection, start, len(samples), rows):
                insert_batch(connection, self.run, start, len(samples), truncated, failures, windowed)
                count_change(connection, self.run)
                if not self.has_samples:
                    insert_samples(connection, self.dataset, start, samples)
                insert_scores(connection, rows)
            self._put_usage(connection, usage)
        self.done.add(start)
        self._reopened.discard(start)

    def put_usage(self, usage: Mapping[str, Usage]) -> None:
        """Store the judge usage since the start or resumption, by fingerprint; it replaces the totals."""
        with self.database.writing() as connection:
            self.lease.renew(connection)
            self._put_usage(connection, usage)

    def put_answers(self, answers: Mapping[int, StoredAnswer]) -> None:
        """Store answers of the target by position; they replace earlier failures."""
        with self.database.writing() as connection:
            self.lease.renew(connection)
            count_change(connection, self.run)
            delete_failed_answers(connection, self.run, answers)
            try:
                insert_answers(connection, self.run, answers)
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
        """Store the summary, and release the lease. Raises StoreError also if rows are missing."""
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if not _is_complete(connection, self.run):
                hint = f"Resume the run {self.run}."
                raise StoreError(f"Some rows of the run {self.run} are missing.", hint=hint)
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

    def _is_stored(self, connection: Connection, start: int, size: int, rows: Sequence[ScoreRow]) -> bool:
        """Return whether the batch is stored with these scores; StoreError if it has others."""
        batches, scores = schema.batches, schema.scores
        this = (batches.c.run == self.run) & (batches.c.start == start)
        stored = connection.execute(sa.select(batches.c.rows).where(this)).scalar()
        if stored is None:
            return False
        ours = scores.c.metric.in_(list(self.metric_ids.values()))
        inside = ours & scores.c.position.between(start, start + stored - 1)
        there = sorted(driver_rows(connection, sa.select(scores).where(inside)))
        if stored != size or there != sorted(map(_score_columns, rows)):
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
    """Open the writer of an existing run, and take its lease; ``take_over`` takes it from another process."""
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
    facts = {name: getattr(setup, name) for name in _RUN_COLUMNS}
    connection.execute(sa.insert(schema.runs).values(id=run, created_at=moment, **facts))
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


def insert_samples(
    connection: Connection, dataset: str, start: int, samples: Iterable[Sample], *, unless_there: bool = True
) -> None:
    """Insert consecutive samples, the first at ``start``; by default, stored samples are skipped."""
    rows = (sample_row(dataset, position, sample) for position, sample in enumerate(samples, start))
    insert_rows(connection, schema.samples, rows, unless_there=unless_there)


def insert_answers(connection: Connection, run: str, answers: Mapping[int, StoredAnswer]) -> None:
    """Insert answers of the target by position."""
    rows = (answer_row(run, position, answer) for position, answer in answers.items())
    insert_rows(connection, schema.answers, rows)


ScoreRow = tuple[int, int, float | None, str, str, _JsonObject, _JsonObject | None]
"""The score of one row: metric, position, value, status, reason, details and judgement."""


def insert_scores(connection: Connection, rows: Sequence[ScoreRow]) -> None:
    """Insert scores with their details and judgements."""
    insert_rows(connection, schema.scores, map(_score_columns, rows))
    details = ((row[0], row[1], encode_json(dict(row[5]))) for row in rows if row[5])
    insert_rows(connection, schema.details, details)
    judgements = ((row[0], row[1], encode_json(dict(row[6]))) for row in rows if row[6] is not None)
    insert_rows(connection, schema.evidence, judgements)


def _score_columns(row: ScoreRow) -> tuple[Any, ...]:
    metric, position, value, status, reason, *_ = row
    return metric, position, None if reason else value, status, encode_text(reason) if reason else None


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
    connection.execute(_COUNT_CHANGE, {"run": run})


def new_run_id() -> str:
    """Return an id that sorts by time; the last part distinguishes runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _score_rows(
    metric: int, start: int, scores: Scores, judgements: Sequence[_JsonObject | None] | None
) -> list[ScoreRow]:
    size = len(scores)
    if judgements is not None and len(judgements) != size:
        raise ValueError(f"{len(judgements)} judgements for {size} rows")
    cells = (scores.values.tolist(), scores.status.tolist(), scores.reasons, scores.details)
    numbers = (metric,) * size, range(start, start + size)
    return list(zip(*numbers, *cells, judgements or (None,) * size, strict=True))


def _is_complete(connection: Connection, run: str) -> bool:
    batches, runs, datasets = schema.batches, schema.runs, schema.datasets
    committed = sa.select(sa.func.sum(batches.c.rows)).where(batches.c.run == run).scalar_subquery()
    is_complete = datasets.c.rows == sa.func.coalesce(committed, 0)
    return bool(connection.execute(sa.select(is_complete).join(runs).where(runs.c.id == run)).scalar())


def _has_all_samples(connection: Connection, dataset: str, rows: int) -> bool:
    """Return whether an earlier run stored all samples of the data."""
    count = sa.select(sa.func.count()).select_from(schema.samples).where(schema.samples.c.dataset == dataset)
    return bool(connection.execute(count).scalar_one() == rows)
