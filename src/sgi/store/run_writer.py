"""Every statement that writes a run: it begins, batches are committed one by one, it ends.

A batch is one transaction: its samples, scores, details and evidence, and what a judge took for them, are
there together or not at all. A batch that is there is never written again.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as lite
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Status
from sgi.kernel.names import as_name
from sgi.store import schema
from sgi.store.bulk_insert import insert_rows
from sgi.store.leases import Lease
from sgi.store.run_names import refuse_name
from sgi.store.run_views import count_change
from sgi.store.samples import sample_row
from sgi.store.text_codec import stored, stored_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import AnyMetric, MetricSpec, Scores
    from sgi.kernel.protocols import Usage
    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database


Evidence = Mapping[str, "Sequence[Mapping[str, JsonValue] | None]"]
"""What a judge said, as JSON, by the metric's canonical string: one entry a row, None where there is none."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class RunStart:
    """What is known of a run before its first batch.

    Attributes:
        dataset: the hash of the samples.
        dataset_name: what messages call the data.
        rows: how many samples there are.
        spec: how the run was asked for, as JSON; without secrets.
        spec_hash: tells specs apart that can give other numbers.
        signature: everything that can change a number.
        versions: of the packages that made the numbers.
        metrics: in the order asked.
        name: the user's name for it, unique in the database.
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
    metrics: Sequence[AnyMetric]
    name: str | None = None
    rejected: int = 0
    provenance: Mapping[str, MetricProvenance] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredAnswer:
    """What came of asking the target: a response, or the reason why there is none.

    Attributes:
        response: the answer; None where the call failed.
        contexts: the passages the target answered from; None where it named none.
        reason: why there is no response.
        seconds: how long it took, tries and waits included.
    """

    response: str | None
    contexts: tuple[str, ...] | None = None
    reason: str | None = None
    seconds: float = 0.0


@dataclass(eq=False)
class RunRecorder:
    """Writes one run.

    Attributes:
        database: where.
        run: the run's id.
        dataset: the hash of its samples.
        metric_ids: the number of each metric, by canonical string.
        done: the first positions of the batches that are committed.
        samples_are_there: whether the samples of the data are all kept already, so that none is written.
        lease: the right to write the run; taken by `create_run` and `open_recorder`.
    """

    database: Database
    run: str
    dataset: str
    metric_ids: Mapping[str, int]
    lease: Lease
    done: set[int] = field(default_factory=set)
    samples_are_there: bool = False
    _reopened: set[int] = field(default_factory=set)

    def commit(
        self,
        start: int,
        samples: Sequence[Sample],
        scores: Mapping[str, Scores],
        *,
        truncated: Mapping[str, int],
        failures: Mapping[str, str],
        evidence: Evidence = _NOTHING,
        usage: Mapping[str, Usage] = _NOTHING,
    ) -> None:
        """Keep a batch whose first sample has the position ``start``.

        Args:
            start: its place.
            samples: its rows.
            scores: by the metric's canonical string.
            truncated: rows by the field that was longer than a model reads.
            failures: models that gave no vectors, with the reason.
            evidence: what the judged scores were made of.
            usage: totals of this attempt by the judge's fingerprint; they replace those stored before.

        Raises:
            RunBusyError: another process took the run over.
            StoreError: the database cannot be written, the batch is there already, or the run was deleted.
        """
        head = (self.run, start, len(samples), stored_json(dict(truncated)), stored_json(dict(failures)))
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if start in self._reopened:
                self._take_away(connection, start, len(samples))
            try:
                insert_rows(connection, schema.batches, [head])
            except IntegrityError as error:
                raise self._twice() from error
            count_change(connection, self.run)
            if not self.samples_are_there:
                rows = (tuple(sample_row(self.dataset, start + n, s).values()) for n, s in enumerate(samples))
                insert_rows(connection, schema.samples, rows, unless_there=True)
            for name, made in scores.items():
                insert_scores(connection, self.metric_ids[name], start, made)
            for name, said in evidence.items():
                if len(said) != len(samples):
                    raise ValueError(f"{len(said)} entries of evidence for {len(samples)} rows of {name}")
                _insert_evidence(connection, self.metric_ids[name], start, said)
            self._save_usage(connection, usage)
        self.done.add(start)
        self._reopened.discard(start)

    def save_usage(self, usage: Mapping[str, Usage]) -> None:
        """Store the totals of this attempt, by the judge's fingerprint; they replace those stored before.

        Raises:
            RunBusyError: another process took the run over; what was paid is stored all the same at `stop`.
        """
        with self.database.writing() as connection:
            self.lease.renew(connection)
            self._save_usage(connection, usage)

    def _save_usage(self, connection: Connection, usage: Mapping[str, Usage]) -> None:
        table = schema.usage
        insert = lite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        for judge, used in usage.items():
            row = insert(table).values(
                run=self.run, judge=stored(judge), attempt=self.lease.owner, **asdict(used)
            )
            totals = {name: row.excluded[name] for name in asdict(used)}
            connection.execute(row.on_conflict_do_update(index_elements=table.primary_key, set_=totals))

    def _twice(self) -> StoreError:
        hint = "Nothing was overwritten. Resume the run with one process."
        return StoreError(f"Another process is writing the run {self.run}.", hint=hint)

    def save_answers(self, answers: Mapping[int, StoredAnswer]) -> None:
        """Keep answers of the target by position; an earlier failure gives way."""
        rows = [answer_row(self.run, position, answer) for position, answer in answers.items()]
        with self.database.writing() as connection:
            self.lease.renew(connection)
            table = schema.answers
            failed = (
                (table.c.run == self.run) & table.c.position.in_(list(answers)) & table.c.response.is_(None)
            )
            connection.execute(sa.delete(table).where(failed))
            try:
                insert_rows(connection, table, rows)
            except IntegrityError as error:
                raise self._twice() from error

    def reopen_failed(self) -> int:
        """Have the batches that hold a failed row done again; says how many there are.

        Nothing is forgotten: what is there stays until the new scores take its place.
        """
        scores, batches = schema.scores, schema.batches
        inside = schema.in_batch(scores.c.position) & scores.c.metric.in_(list(self.metric_ids.values()))
        failed = sa.exists().where(inside, scores.c.status == Status.FAILED.value)
        with self.database.reading() as connection:
            starts = connection.execute(sa.select(batches.c.start).where(batches.c.run == self.run, failed))
            self._reopened = set(starts.scalars())
        self.done -= self._reopened
        return len(self._reopened)

    def _take_away(self, connection: Connection, start: int, rows: int) -> None:
        """Make room for a batch that was reopened; its run is not finished until it is summed up again."""
        ids = list(self.metric_ids.values())
        for table in (schema.scores, schema.details, schema.evidence):
            there = table.c.position.between(start, start + rows - 1) & table.c.metric.in_(ids)
            connection.execute(sa.delete(table).where(there))
        batches = schema.batches
        connection.execute(sa.delete(batches).where(batches.c.run == self.run, batches.c.start == start))
        _update(connection, self.run, finished_at=None, summary=None)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Mark the run as finished, store its summary, and give the lease back.

        Raises:
            RunBusyError: another process took the run over.
            StoreError: some of its rows are not there, or the run was deleted.
        """
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if not _is_whole(connection, self.run):
                hint = f"Resume it with sgi run --resume {self.run}."
                raise StoreError(f"Not every row of the run {self.run} is there.", hint=hint)
            _update(connection, self.run, finished_at=now(), stopped=None, summary=dict(summary))
            self.lease.release(connection)

    def stop(self, reason: str, usage: Mapping[str, Usage] = _NOTHING) -> None:
        """Store why the run ends before its time, and what it took; give the lease back.

        Where another process took the run over, only the usage is stored.
        """
        with self.database.writing() as connection:
            if self.lease.release(connection):
                _update(connection, self.run, stopped=stored(reason))
            if _is_there(connection, self.run):
                self._save_usage(connection, usage)

    def discard(self) -> None:
        """Forget the run; its data stays, for other runs."""
        with self.database.writing() as connection:
            connection.execute(sa.delete(schema.runs).where(schema.runs.c.id == self.run))


def create_run(database: Database, start: RunStart) -> RunRecorder:
    """A new run, without rows yet.

    Raises:
        UsageError: the name is taken, or is one that stands for something else.
        StoreError: the database cannot be written.
    """
    run, moment = new_run_id(), now()
    with database.writing() as connection:
        if start.name is not None:
            refuse_name(connection, start.name, otherwise=f"go on with it: --resume {start.name}")
        dataset = (start.dataset, stored(as_name(start.dataset_name)), start.rows, moment)
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
                rejected=start.rejected,
            )
        )
        specs = {metric.canonical: metric.spec for metric in start.metrics}
        ids = {
            name: add_metric(connection, run, position, name, spec, start.provenance.get(name))
            for position, (name, spec) in enumerate(specs.items())
        }
        there = has_all_samples(connection, start.dataset, start.rows)
        lease = Lease(run)
        lease.take(connection, moment)
    return RunRecorder(database, run, start.dataset, ids, lease, samples_are_there=there)


def new_run_id() -> str:
    """An id that sorts by time and reads as one; the last part keeps runs of one second apart."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def now() -> str:
    """The time, as the tables hold it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def answer_row(run: str, position: int, answer: StoredAnswer) -> tuple[Any, ...]:
    """The row of the table ``answers``, as a driver takes it, its columns in the table's order."""
    response = None if answer.response is None else stored(answer.response)
    contexts = None if answer.contexts is None else stored_json(list(answer.contexts))
    reason = None if answer.reason is None else stored(answer.reason)
    return run, position, response, contexts, reason, answer.seconds


def insert_scores(connection: Connection, metric: int, start: int, made: Scores) -> None:
    """The scores of consecutive rows, and what they were made of."""
    columns = zip(made.values.tolist(), made.status.tolist(), made.reasons, strict=True)
    rows = [
        (metric, position, None if reason else value, status, stored(reason) if reason else None)
        for position, (value, status, reason) in enumerate(columns, start)
    ]
    insert_rows(connection, schema.scores, rows)
    bodies = ((metric, start + n, stored_json(dict(body))) for n, body in enumerate(made.details) if body)
    insert_rows(connection, schema.details, bodies)


def _insert_evidence(
    connection: Connection, metric: int, start: int, said: Sequence[Mapping[str, JsonValue] | None]
) -> None:
    """What a judge said of consecutive rows."""
    bodies = ((metric, start + n, stored_json(dict(body))) for n, body in enumerate(said) if body is not None)
    insert_rows(connection, schema.evidence, bodies)


def _update(connection: Connection, run: str, **values: Any) -> None:
    connection.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(**values))


def add_metric(
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
        "low": bound(spec.low),
        "high": bound(spec.high),
        "higher_is_better": spec.higher_is_better,
        "unit": spec.unit,
        "provenance": None if provenance is None else asdict(provenance),
    }
    made = sa.insert(schema.run_metrics).values(row).returning(schema.run_metrics.c.id)
    return int(connection.execute(made).scalar_one())


def bound(value: float) -> float | None:
    """A bound as the tables hold it: one that is not finite is none."""
    return value if math.isfinite(value) else None


def _is_there(connection: Connection, run: str) -> bool:
    return connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.id == run)).first() is not None


def _is_whole(connection: Connection, run: str) -> bool:
    """Whether the committed batches hold every row of the data."""
    batches, runs, datasets = schema.batches, schema.runs, schema.datasets
    there = sa.select(sa.func.coalesce(sa.func.sum(batches.c.rows), 0)).where(batches.c.run == run)
    wanted = sa.select(datasets.c.rows).join(runs, runs.c.dataset == datasets.c.hash).where(runs.c.id == run)
    return bool(connection.execute(there).scalar_one() == connection.execute(wanted).scalar_one())


def has_all_samples(connection: Connection, dataset: str, rows: int) -> bool:
    """Whether the samples of the data are all kept already, by a run before."""
    count = sa.select(sa.func.count()).select_from(schema.samples).where(schema.samples.c.dataset == dataset)
    return bool(connection.execute(count).scalar_one() == rows)
