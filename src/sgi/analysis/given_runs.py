"""Runs as arguments of the Python API: results, opened runs, or names of stored runs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.analysis.stored_run import StoredRun, open_run
from sgi.engine.results import Result
from sgi.kernel.errors import UsageError
from sgi.kernel.scored_run import ScoredRun
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

Db = str | Path | None
Stored = str | StoredRun
Run = str | StoredRun | Result | ScoredRun


@contextmanager
def open_given_runs(
    names: Sequence[Stored], cluster: str | None, db: Db
) -> Iterator[tuple[Database, list[RunRecord]]]:
    """Context manager that opens the database of stored runs, and yields it with the records of the runs."""
    databases = dict.fromkeys(name.db if isinstance(name, StoredRun) else db for name in names)
    if len(databases) > 1:
        raise UsageError("The runs are in different databases.", hint="Compare them with `compare`.")
    ids = [name.record.id if isinstance(name, StoredRun) else name for name in names]
    rules = [cluster or (name.record.cluster if isinstance(name, StoredRun) else None) for name in names]
    columns = [name.record.weights if isinstance(name, StoredRun) else None for name in names]
    with open_runs(next(iter(databases)), *ids) as (database, records):
        yield (
            database,
            [
                record.with_clusters(rule).with_weights(weights)
                for record, rule, weights in zip(records, rules, columns, strict=True)
            ],
        )


def scored_given_run(run: Run, cluster: str | None, db: Db) -> ScoredRun:
    """Return the scores of a run; ``cluster`` is the rule of a stored run, None for its own."""
    if isinstance(run, ScoredRun):
        return run
    if isinstance(run, Result) or (isinstance(run, StoredRun) and cluster is None):
        return run.scored()
    name, database = (run.record.id, run.db) if isinstance(run, StoredRun) else (run, db)
    weights = run.record.weights if isinstance(run, StoredRun) else None
    return open_run(name, db=database, cluster=cluster, weights=weights).scored()
