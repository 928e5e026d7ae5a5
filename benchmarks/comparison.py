"""`compare` of two runs of 50,000 rows and five metrics, 2,000 draws: seconds and peak memory.

    python benchmarks/comparison.py [ROWS] [--rows-a-question N]

Beside it, the plain means of the same columns (one pass over the memory) and the interval of a mean.
"""

from __future__ import annotations

import argparse
import resource
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.compare import compare
from sgi.kernel.scored import MetricColumn, ScoredRun
from sgi.stats import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 50_000
METRICS = 5
DRAWS = 2000
TARGET_SECONDS, TARGET_MEGABYTES = 10, 1000


def scored(name: str, rows: int, in_question: int, gain: float, seed: int) -> ScoredRun:
    """A run of five shares; the last is yes or no. Both runs share what makes a row easy or hard."""
    easy, own = (np.random.default_rng(key).normal(size=(rows, METRICS)) for key in (0, seed))
    values = 1 / (1 + np.exp(-(easy + 0.5 * own + gain)))
    values[:, -1] = values[:, -1] > 0.5  # noqa: PLR2004 - yes or no
    codes = np.zeros(rows, dtype=np.int8)
    metrics = {
        f"metric_{i}": MetricColumn(f"metric_{i}", column, codes, 0.0, 1.0)
        for i, column in enumerate(values.T.copy())
    }
    ids = tuple(f"row-{row}" for row in range(rows))
    return ScoredRun(name, rows, ids, np.arange(rows) // in_question, metrics)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def peak() -> float:
    """The most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=int, nargs="?", default=ROWS)
    parser.add_argument("--rows-a-question", type=int, default=1)
    options = parser.parse_args()
    base, new = (
        scored(name, options.rows, options.rows_a_question, gain, seed)
        for name, gain, seed in (("base", 0.0, 1), ("new", 0.01, 2))
    )
    before = peak()
    plain = min(
        seconds(lambda: [column.values.mean() for run in (base, new) for column in run.metrics.values()])
        for _ in range(5)
    )
    start = perf_counter()
    comparison = compare(base, new, draws=DRAWS)
    taken = perf_counter() - start
    most = peak()
    one = seconds(lambda: mean_interval(base.metrics["metric_0"].values, base.clusters))
    method = comparison.metrics[0].difference.method
    print(f"{options.rows:,} pairs, {METRICS} metrics, {DRAWS:,} draws, {method}")
    print(f"compare                {taken:8.2f} s   (target: under {TARGET_SECONDS} s)")
    print(f"peak memory            {most:8.0f} MB  (target: under {TARGET_MEGABYTES:,}; {before:.0f} before)")
    print(f"plain means            {plain:8.5f} s   compare takes {taken / plain:,.0f} times as long")
    print(f"interval of one mean   {one:8.3f} s")


if __name__ == "__main__":
    main()
