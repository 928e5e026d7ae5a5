"""Open stored runs to read them with weights of their rows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sgi.kernel.errors import DataError, UsageError
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@contextmanager
def open_weighted_runs(
    db: str | Path | None, *names: str, cluster: str | None = None, weights: str | None = None
) -> Iterator[tuple[Database, list[RunRecord]]]:
    """Context manager like `open_runs`; an error in a weight also names the line of the data file."""
    with open_runs(db, *names, cluster=cluster, weights=weights) as (database, records):
        try:
            yield database, records
        except DataError as error:
            if weights is None or error.field != weights or error.sample_id is None:
                raise
            raise _with_line(error, records) from error


def _with_line(error: DataError, records: list[RunRecord]) -> DataError:
    from sgi.reporting.views.failing_rows import line_of_row

    record = next(one for one in records if one.dataset_name == error.file)
    return DataError(
        error.message,
        file=error.file,
        line=line_of_row(record, str(error.sample_id)),
        sample_id=error.sample_id,
        field=error.field,
        hint=error.hint,
    )


def require_no_leaderboard(weights: str | None, is_leaderboard: bool) -> None:
    """Raise UsageError for weights with a leaderboard, whose means and tests do not support weights."""
    if weights is not None and is_leaderboard:
        raise UsageError(
            "--weights does not apply to a leaderboard.", hint="Compare two runs, or leave out --weights."
        )
