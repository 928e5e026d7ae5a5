"""Compare two Ray workers with one worker and with one process of two threads, without a cache.

    python benchmarks/ray_scaling.py [--quick]

Each measurement is a new process, and the variants alternate. The rate of a cluster counts the rows after the
first batch of each worker, because the start of Ray and its workers takes seconds for any data. The note has
the total time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from harness import REPEATS, Figure, benchmark_main
from material import write_jsonl
from sgi.engine.progress import Advanced, Started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.progress import Event

ONE, TWO, PROCESS = "one worker, one core", "two workers", "one process, two threads"
VARIANTS = {ONE: (1, "ray"), TWO: (2, "ray"), PROCESS: (2, "process")}
ROWS = 2_560
METRIC = "sgi"


class Clock:
    """Listener that records when rows were scored."""

    def __init__(self) -> None:
        self.scored: list[tuple[float, int]] = []
        self.scoring = False

    def __call__(self, event: Event) -> None:
        """Record the time and the rows of an event."""
        self.scoring = self.scoring or (isinstance(event, Started) and event.stage == "scoring")
        if self.scoring and isinstance(event, Advanced) and event.rows:
            self.scored.append((time.perf_counter(), event.rows))

    def rate(self, workers: int) -> float:
        """Return the rows per second after the first batch of each worker."""
        rows = sum(rows for _, rows in self.scored[workers:])
        return rows / (self.scored[-1][0] - self.scored[workers - 1][0])


def child(data: str, cores: int, variant: str) -> None:
    """Score once on some cores, and print the rate and the total seconds."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    start, clock = time.perf_counter(), Clock()
    with tempfile.TemporaryDirectory() as folder:
        if variant == "ray":
            from sgi_cluster import run

            run(data, Path(folder) / "parts", METRIC, workers=cores, cache=False, listener=clock)
        else:
            from sgi.engine.evaluate import evaluate

            evaluate(data, METRIC, cache=False, listener=clock)
    print(json.dumps([clock.rate(cores), time.perf_counter() - start]))


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure all variants alternately, each in a new process."""
    rows, repeats = (1_024, 1) if quick else (ROWS, REPEATS)
    results: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.jsonl"
        write_jsonl(data, rows)
        for _ in range(repeats):
            for name, (cores, variant) in VARIANTS.items():
                command = [sys.executable, __file__, "--child", str(data), str(cores), variant]
                process = subprocess.run(command, check=True, capture_output=True, text=True)
                results[name].append(json.loads(process.stdout.splitlines()[-1]))
    rates = {name: tuple(rate for rate, _ in runs) for name, runs in results.items()}
    total = {name: median(seconds for _, seconds in runs) for name, runs in results.items()}
    for base, target in ((ONE, 1.7), (PROCESS, None)):
        yield Figure(
            f"Ray, {TWO}, sgi over {rows:,} new rows",
            "rows/s",
            ours=median(rates[TWO]),
            peer=median(rates[base]),
            beside=base,
            wanted=target,
            note=f"total seconds with start: {total[TWO]:.1f} and {total[base]:.1f}",
            repeats={"ours": rates[TWO], "peer": rates[base]},
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        benchmark_main(measure)
