"""Write a run batch by batch, each with samples, scores, details, judgements and usage in one transaction.

A committed batch is never written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Status
from sgi.store import schema
from sgi.store.leases import Lease
from sgi.store.run_inserts import (
    RunStart,
    answer_row,
    count_change,
    delete_scores,
    insert_batch,
    insert_rows,
    insert_run,
    insert_samples,
    insert_scores,
    new_run_id,
    now,
    score_rows,
    upsert,
)
from sgi.store.run_names import require_free_name
from sgi.store.run_queries import metric_ids
from sgi.store.text_codec import encode_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue
    from sqlalchemy import Connection

    from sgi.kernel.metric import Scores
    from sgi.kernel.protocols import Usage
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.samples import StoredAnswer

__all__ = ["RunRecorder", "RunStart", "create_run", "open_recorder"]

Judgements = Mapping[str, "Sequence[Mapping[str, JsonValue] | None]"]
"""Judgements as JSON by the metric's canonical string: one entry per row, None for a row without one."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(eq=False)
class RunRecorder:
    """Writes one run, whose data has the hash ``dataset``.

    ``metric_ids`` are by canonical string; ``done`` holds the first positions of the committed batches. If
    ``samples_are_there``, all samples of the data are stored already. `create_run` and `open_recorder` take
    the ``lease``, the right to write the run.
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
        windowed: Mapping[str, int] = _NOTHING,
        judgements: Judgements = _NOTHING,
        usage: Mapping[str, Usage] = _NOTHING,
    ) -> None:
        """Commit a batch whose first sample has the position ``start``.

        ``scores`` and ``judgements`` have the metric's canonical string as key. ``truncated`` counts rows by
        the field that a model truncated, ``windowed`` by the field that it read in windows. ``failures``
        gives the reason for each model without vectors. ``usage`` holds, by the judge's
        fingerprint, the totals since the run was started or resumed; they replace earlier ones.

        Raises RunBusyError if another process took the run over; StoreError if the database cannot be
        written, the batch exists already, or the run was deleted.
        """
        if unknown := judgements.keys() - scores.keys():
            raise ValueError(f"judgements of metrics without scores: {sorted(unknown)}")
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if start in self._reopened:
                self._delete_batch(connection, start, len(samples))
            try:
                insert_batch(
                    connection,
                    self.run,
                    start,
                    len(samples),
                    truncated=truncated,
                    failures=failures,
                    windowed=windowed,
                )
            except IntegrityError as error:
                raise self._concurrent_write_error() from error
            count_change(connection, self.run)
            if not self.samples_are_there:
                insert_samples(connection, self.dataset, start, samples)
            for name, metric_scores in scores.items():
                scored = score_rows(self.metric_ids[name], start, metric_scores, judgements.get(name))
                insert_scores(connection, scored)
            self._save_usage(connection, usage)
        self.done.add(start)
        self._reopened.discard(start)

    def save_usage(self, usage: Mapping[str, Usage]) -> None:
        """Store the judge usage since the run was started or resumed, in place of earlier totals.

        Raises RunBusyError if another process took the run over; `stop` still stores the usage.
        """
        with self.database.writing() as connection:
            self.lease.renew(connection)
            self._save_usage(connection, usage)

    def _save_usage(self, connection: Connection, usage: Mapping[str, Usage]) -> None:
        for judge, used in usage.items():
            key = {"run": self.run, "judge": encode_text(judge), "attempt": self.lease.owner}
            upsert(connection, schema.usage, key | asdict(used))

    def _concurrent_write_error(self) -> StoreError:
        hint = "Nothing was overwritten. Resume the run with one process."
        return StoreError(f"Another process is writing the run {self.run}.", hint=hint)

    def save_answers(self, answers: Mapping[int, StoredAnswer]) -> None:
        """Store answers of the target by position; they replace earlier failures."""
        rows = [answer_row(self.run, position, answer) for position, answer in answers.items()]
        with self.database.writing() as connection:
            self.lease.renew(connection)
            count_change(connection, self.run)
            table = schema.answers
            failed = (
                (table.c.run == self.run) & table.c.position.in_(list(answers)) & table.c.response.is_(None)
            )
            connection.execute(sa.delete(table).where(failed))
            try:
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

    def _delete_batch(self, connection: Connection, start: int, rows: int) -> None:
        """Delete a reopened batch; the run is unfinished until it gets a new summary."""
        delete_scores(connection, self.metric_ids.values(), start, start + rows - 1)
        batches = schema.batches
        connection.execute(sa.delete(batches).where(batches.c.run == self.run, batches.c.start == start))
        _update(connection, self.run, finished_at=None, summary=None)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Mark the run as finished, store its summary, and release the lease.

        Raises RunBusyError if another process took the run over, StoreError if it was deleted or rows are
        missing.
        """
        with self.database.writing() as connection:
            self.lease.renew(connection)
            if not _is_complete(connection, self.run):
                hint = f"Resume the run {self.run}."
                raise StoreError(f"Not every row of the run {self.run} is there.", hint=hint)
            _update(connection, self.run, finished_at=now(), stopped=None, summary=dict(summary))
            self.lease.release(connection)

    def stop(self, reason: str, usage: Mapping[str, Usage] = _NOTHING) -> None:
        """Store why the run ends early and the judge usage, and release the lease.

        If another process took the run over, only the usage is stored.
        """
        with self.database.writing() as connection:
            if self.lease.release(connection):
                _update(connection, self.run, stopped=encode_text(reason))
            if _run_exists(connection, self.run):
                self._save_usage(connection, usage)

    def discard(self) -> None:
        """Delete the run and its scores; the samples, which other runs may share, stay in the database."""
        with self.database.writing() as connection:
            connection.execute(sa.delete(schema.runs).where(schema.runs.c.id == self.run))


def create_run(database: Database, start: RunStart) -> RunRecorder:
    """Create a run without rows. Raises UsageError if the name is taken or reserved."""
    run, moment = new_run_id(), now()
    with database.writing() as connection:
        if start.name is not None:
            require_free_name(connection, start.name, otherwise=f"resume the run {start.name!r}")
        ids = insert_run(connection, run, start, moment)
        there = has_all_samples(connection, start.dataset, start.rows)
        lease = Lease(run)
        lease.take(connection, moment)
    return RunRecorder(database, run, start.dataset, ids, lease, samples_are_there=there)


def open_recorder(database: Database, record: RunRecord, *, take_over: bool = False) -> RunRecorder:
    """Open the writer of an existing run, and take the run's lease, so that no other process writes it.

    Raises RunBusyError if another process writes it and ``take_over`` is false; StoreError if it was deleted.
    """
    batches, lease = schema.batches, Lease(record.id)
    with database.writing() as connection:
        lease.take(connection, now(), take_over=take_over)
        _update(connection, record.id, stopped=None)
        starts = connection.execute(sa.select(batches.c.start).where(batches.c.run == record.id)).scalars()
        return RunRecorder(
            database,
            record.id,
            record.dataset,
            metric_ids(connection, record.id),
            lease,
            set(starts),
            samples_are_there=has_all_samples(connection, record.dataset, record.rows),
        )


def _update(connection: Connection, run: str, **values: Any) -> None:
    connection.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(**values))


def _run_exists(connection: Connection, run: str) -> bool:
    return connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.id == run)).first() is not None


def _is_complete(connection: Connection, run: str) -> bool:
    batches, runs, datasets = schema.batches, schema.runs, schema.datasets
    committed = sa.select(sa.func.coalesce(sa.func.sum(batches.c.rows), 0)).where(batches.c.run == run)
    expected = (
        sa.select(datasets.c.rows).join(runs, runs.c.dataset == datasets.c.hash).where(runs.c.id == run)
    )
    return bool(connection.execute(committed).scalar_one() == connection.execute(expected).scalar_one())


def has_all_samples(connection: Connection, dataset: str, rows: int) -> bool:
    """Return whether an earlier run stored all samples of the data."""
    count = sa.select(sa.func.count()).select_from(schema.samples).where(schema.samples.c.dataset == dataset)
    return bool(connection.execute(count).scalar_one() == rows)
