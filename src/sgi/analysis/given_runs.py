"""Runs as arguments of the Python API: a `Run`, or the name of a stored run."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.engine.run import Run
from sgi.engine.stored_runs import open_run
from sgi.kernel.errors import UsageError
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

Db = str | Path | None
RunLike = str | Run


@contextmanager
def open_given_runs(
    runs: Sequence[RunLike], cluster: str | None, db: Db
) -> Iterator[tuple[Database, list[RunRecord]]]:
    """Context manager that opens the database of stored runs, and yields it with the records of the runs.

    Raises UsageError if the runs are in different databases, or one is not stored.
    """
    records = [run.record if isinstance(run, Run) else None for run in runs]
    for record in records:
        if record is not None and not record.id:
            hint = "Score the data with `sgi.run`, which stores the run."
            raise UsageError(f"The run {record.name!r} is not stored.", hint=hint)
    databases = dict.fromkeys(run.db if isinstance(run, Run) else db for run in runs)
    if len(databases) > 1:
        raise UsageError("The runs are in different databases.", hint="Compare them with `compare`.")
    names = [run.record.id if isinstance(run, Run) else run for run in runs]
    with open_runs(next(iter(databases)), *names) as (database, found):
        yield (
            database,
            [
                record.with_clusters(cluster)
                if own is None
                else record.with_clusters(cluster or own.cluster).with_weights(own.weights)
                for record, own in zip(found, records, strict=True)
            ],
        )


def given_run(run: RunLike, cluster: str | None, db: Db) -> Run:
    """Return a run given as an object or by name; ``cluster`` replaces its stored cluster rule."""
    if isinstance(run, str):
        return open_run(run, db=db, cluster=cluster)
    if cluster is None or not run.record.id:
        return run
    return open_run(run.record.id, db=run.db, cluster=cluster, weights=run.record.weights)
