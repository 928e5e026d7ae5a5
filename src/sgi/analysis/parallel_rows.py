"""The rows of several runs side by side, matched to the rows of the first run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.pairing import pair_rows, pairing_notes
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import ReadSamples, Run

MAX_PARALLEL_RUNS = 8
"""The largest number of runs whose rows are shown side by side."""
NO_ROW = -1


@dataclass(frozen=True, eq=False)
class ParallelRows:
    """Rows of k runs side by side: n rows of the first run that at least one other run has too.

    Attributes:
        rows: row number in each run, ``NO_ROW`` if it has no such row, int64, shape (n, k).
        values: the values by metric, NaN for a row without one, float64, shape (n, k).
        samples: for each run a function that reads its samples; None for a run without texts.
        left_out: number of rows of the first run that no other run has.
        notes: notes on the matching.
    """

    rows: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    samples: tuple[ReadSamples | None, ...] = field(repr=False)
    left_out: int
    notes: tuple[str, ...]

    def by_change(self, metric: str) -> NDArray[np.int64]:
        """Return row numbers, sorted by how much the runs differ in this metric, most first, shape (n,).

        Without a change, rows that lack a value in some runs come first. Others keep the order of the data.
        """
        values = self.values[metric]
        known = np.isfinite(values)
        spread = np.where(known, values, -np.inf).max(axis=1) - np.where(known, values, np.inf).min(axis=1)
        spread[known.sum(axis=1) == 0] = 0.0
        partial = known.any(axis=1) & ~known.all(axis=1)
        return np.lexsort((np.arange(len(values)), ~partial, -spread))


def parallel_rows(runs: Sequence[Run]) -> ParallelRows:
    """Match the rows of each run with the rows of the first run, as a comparison of two runs does.

    Raises:
        UsageError: there are fewer than two runs or too many, or a run cannot be paired with the first.
    """
    if not 1 < len(runs) <= MAX_PARALLEL_RUNS:
        message = f"{len(runs)} runs are selected; rows of 2 to {MAX_PARALLEL_RUNS} runs can be compared."
        raise UsageError(message, hint="Select fewer runs." if len(runs) > 1 else "Select another run.")
    first = runs[0]
    rows = np.full((len(first.ids), len(runs)), NO_ROW, dtype=np.int64)
    rows[:, 0] = np.arange(len(first.ids))
    notes: dict[str, None] = {}
    for place, run in enumerate(runs[1:], 1):
        pairs = pair_rows(first, run)
        rows[pairs.first, place] = pairs.second
        notes |= dict.fromkeys(pairing_notes(first, run, pairs))
    matched = (rows[:, 1:] != NO_ROW).any(axis=1)
    rows = rows[matched]
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics)
    values = {metric: _values(runs, metric, rows) for metric in metrics}
    samples = tuple(run.read_samples for run in runs)
    return ParallelRows(rows, values, samples, int((~matched).sum()), tuple(notes))


def _values(runs: Sequence[Run], metric: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    values = np.full(rows.shape, np.nan)
    for place, run in enumerate(runs):
        if metric in run.metrics:
            there = rows[:, place] != NO_ROW
            values[there, place] = run.metrics[metric].values[rows[there, place]]
    return values
