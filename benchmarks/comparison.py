"""Measure time and peak memory of `compare` for two runs with 50,000 rows and five metrics.

python benchmarks/comparison.py [--quick]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness import Figure, benchmark_main, peak_megabytes, seconds_of, time_alternately
from sgi.analysis.compare import compare
from sgi.kernel.scored_run import MetricColumn, ScoredRun

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 50_000
METRICS = 5
DRAWS = 2000
TARGET_SECONDS, TARGET_MEGABYTES = 10, 1000


def simulated_run(name: str, rows: int, in_question: int, gain: float, seed: int) -> ScoredRun:
    """Return a run with five metrics from 0 to 1, the last one binary; all runs share row difficulty."""
    difficulty, noise = (np.random.default_rng(key).normal(size=(rows, METRICS)) for key in (0, seed))
    values = 1 / (1 + np.exp(-(difficulty + 0.5 * noise + gain)))
    values[:, -1] = values[:, -1] > 0.5  # noqa: PLR2004 - binary
    codes = np.zeros(rows, dtype=np.int8)
    metrics = {
        f"metric_{i}": MetricColumn(f"metric_{i}", column, codes, 0.0, 1.0)
        for i, column in enumerate(values.T.copy())
    }
    ids = tuple(f"row-{row}" for row in range(rows))
    return ScoredRun(name, rows, ids, np.arange(rows) // in_question, metrics)


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield time and memory of one comparison."""
    rows = 2_000 if quick else ROWS
    base, new = (
        simulated_run(name, rows, 1, gain, seed) for name, gain, seed in (("base", 0.0, 1), ("new", 0.01, 2))
    )
    before = peak_megabytes()
    times = time_alternately({"compare": lambda: compare(base, new, draws=DRAWS)}, 1 if quick else 5, warm=0)
    work = f"compare {rows:,} pairs, {METRICS} metrics, {DRAWS:,} draws"
    line = Figure(work, "s", wanted=TARGET_SECONDS, higher_is_better=False, repeats=seconds_of(times))
    yield replace(line, ours=times["compare"].median)
    note = f"{before:.0f} MB before"
    yield replace(line, unit="MB", ours=peak_megabytes(), wanted=TARGET_MEGABYTES, note=note, repeats={})


if __name__ == "__main__":
    benchmark_main(measure)
