"""Two Ray workers on two cores beside one on one core, and beside one process of two threads, no cache.

    python benchmarks/ray_scaling.py [--quick]

Each figure comes from a process of its own, taken by turns. The rate of a cluster is that of the rows after
the first partition: starting Ray and its workers takes seconds whatever the data, and is told beside it.
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

ONE, TWO, PLAIN = "one worker, one core", "two workers", "one process, two threads"
WAYS = {ONE: (1, "ray"), TWO: (2, "ray"), PLAIN: (2, "process")}
ROWS = 1_500
METRIC = "sgi"


class Clock:
    """When rows were told to be done, in the stage of scoring."""

    def __init__(self) -> None:
        self.told: list[tuple[float, int]] = []
        self.scoring = False

    def __call__(self, event: Event) -> None:
        """Hear of the progress."""
        self.scoring = self.scoring or (isinstance(event, Started) and event.stage == "scoring")
        if self.scoring and isinstance(event, Advanced) and event.rows:
            self.told.append((time.perf_counter(), event.rows))

    def rate(self) -> float:
        """Rows a second, after the first that were told."""
        rows = sum(rows for _, rows in self.told[1:])
        return rows / (self.told[-1][0] - self.told[0][0])


def child(data: str, cores: int, way: str) -> None:
    """Score once on so many cores, and print the rate and the seconds in all."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    began, clock = time.perf_counter(), Clock()
    with tempfile.TemporaryDirectory() as folder:
        if way == "ray":
            from sgi.distributed import run

            run(data, Path(folder) / "parts", METRIC, workers=cores, cache=False, listener=clock)
        else:
            from sgi.engine.evaluate import evaluate

            evaluate(data, METRIC, cache=False, listener=clock)
    print(json.dumps([clock.rate(), time.perf_counter() - began]))


def measure(*, quick: bool) -> Iterator[Figure]:
    """All ways by turns, each in a process of its own."""
    rows, repeats = (600, 1) if quick else (ROWS, REPEATS)
    found: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.jsonl"
        write_jsonl(data, rows)
        for _ in range(repeats):
            for name, (cores, way) in WAYS.items():
                command = [sys.executable, __file__, "--child", str(data), str(cores), way]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
    rates = {name: tuple(rate for rate, _ in made) for name, made in found.items()}
    whole = {name: median(seconds for _, seconds in made) for name, made in found.items()}
    for base, wanted in ((ONE, 1.7), (PLAIN, None)):
        yield Figure(
            f"Ray, {TWO}, sgi over {rows:,} new rows",
            "rows/s",
            ours=median(rates[TWO]),
            peer=median(rates[base]),
            beside=base,
            wanted=wanted,
            note=f"seconds in all, with starting: {whole[TWO]:.1f} and {whole[base]:.1f}",
            repeats={"ours": rates[TWO], "peer": rates[base]},
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        benchmark_main(measure)
