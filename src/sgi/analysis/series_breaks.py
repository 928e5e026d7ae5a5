"""Which runs of a series are not comparable with the run before, such as for another judge."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sgi.analysis.pairing import pair_rows
from sgi.analysis.run_differences import OTHER_QUESTIONS, data_differences, origin_differences
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import NotPairedError
from sgi.kernel.signature import is_same_data
from sgi.store.run_history import TRACES
from sgi.store.run_queries import find_run
from sgi.store.scored_runs import metric_origins

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.engine.run import Run
    from sgi.store.database import Database
    from sgi.store.run_history import SeriesEntry

MAX_COMPARED = 20_000
"""Maximum rows of data whose questions are compared with those of the run before."""


def series_breaks(database: Database, runs: Sequence[SeriesEntry], metric: str) -> dict[str, str]:
    """Return, by id, why runs with this metric are not comparable with the run before them.

    Each hour of live traces has other questions, so there only what computed the metric counts. The questions
    of large data are not compared; see ``MAX_COMPARED``.
    """
    columns = metric_origins(database, [run.id for run in runs], metric)
    reader = _Reader(database)
    breaks = {}
    for before, run in pairwise(runs):
        found = (one.in_short for one in origin_differences(columns[before.id], columns[run.id]))
        breaks[run.id] = ", ".join([*reader.data_obstacles(before, run), *found])
    return {run: reason for run, reason in breaks.items() if reason}


class _Reader:
    """Compares the data of runs, and keeps the newest one, which the next run needs again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last: tuple[str, Run] | None = None

    def data_obstacles(self, before: SeriesEntry, run: SeriesEntry) -> Iterator[str]:
        large = max(before.rows, run.rows) > MAX_COMPARED
        if run.data == TRACES or large or is_same_data(before.dataset, run.dataset):
            return
        base, new = self._read(before.id), self._read(run.id)
        try:
            differences = data_differences(base, new, pair_rows(base, new))
        except NotPairedError:
            yield OTHER_QUESTIONS
            return
        yield from (one.in_short for one in differences)

    def _read(self, run: str) -> Run:
        if self._last is None or self._last[0] != run:
            self._last = run, read_run(self._database, find_run(self._database, run), metrics=())
        return self._last[1]
