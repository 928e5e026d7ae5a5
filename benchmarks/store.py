"""Measure the store: rows written per second, means of stored rows, its share of a run, resuming.

python benchmarks/store.py [--quick]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import anyio
import numpy as np

from harness import Figure, Timing, benchmark_main, seconds_of, time_alternately
from material import write_rows
from sgi.analysis.groups import group_by
from sgi.engine.runner import RunContext, start_run
from sgi.engine.spec import RunSpec
from sgi.kernel.metric import Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.run_writer import RunRecorder, RunStart, create_run
from sgi.store.scored_runs import scored_run

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 100_000
NAMES = ("rouge_l", "squad_token_f1", "squad_em", "content_f1", "bleu")
BATCH = 256
LEXICAL = "rouge_l,squad_token_f1,content_f1"
SAMPLE = Path(str(files("sgi") / "data" / "halueval_qa_sample.jsonl"))


def write(path: Path, rows: int) -> float:
    """Return the seconds to commit ``rows`` samples with five metrics in batches."""
    metrics = [metric(name) for name in NAMES]
    samples = [
        Sample(id=str(n), question=f"question {n}", response="an answer", reference="a reference")
        for n in range(rows)
    ]
    values = np.random.default_rng(0).random((rows, len(NAMES)))
    with open_database(path) as database:
        start = RunStart("data", "data", rows, {}, "", "", {}, metrics, name="bench")
        recorder = create_run(database, start)
        start_time = time.perf_counter()
        for first in range(0, rows, BATCH):
            scores = {
                one.canonical: Scores.of(values[first : first + BATCH, n]) for n, one in enumerate(metrics)
            }
            recorder.commit(first, samples[first : first + BATCH], scores, truncated={}, failures={})
        seconds = time.perf_counter() - start_time
        recorder.finish({})
    return seconds


def summarise(path: Path) -> float:
    """Return the seconds to read all scores and compute means with intervals."""
    start = time.perf_counter()
    with open_database(path) as database:
        run = scored_run(database, find_run(database, "bench"))
        group_by(run, [None] * len(run.ids))
    return time.perf_counter() - start


def score(data: Path, folder: Path, metrics: str) -> tuple[float, float]:
    """Return the time of the commits divided by the time of everything else, and the rows per second."""
    inside = 0.0
    commit = RunRecorder.commit

    def timed_commit(*args: Any, **kwargs: Any) -> None:
        nonlocal inside
        start = time.perf_counter()
        commit(*args, **kwargs)
        inside += time.perf_counter() - start

    spec = RunSpec.of({"data": data, "metrics": tuple(metrics.split(",")), "out": folder / "out.jsonl"})
    start = time.perf_counter()
    with patch.object(RunRecorder, "commit", timed_commit):
        anyio.run(start_run, spec, RunContext(folder / "run.db", cache=folder / "vectors.db"))
    seconds = time.perf_counter() - start
    with data.open("rb") as lines:
        rows = sum(1 for _ in lines)
    return inside / (seconds - inside), rows / seconds


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure writing, reading, a run and resuming."""
    rows, repeats = (2_000, 1) if quick else (ROWS, 5)
    scores = rows * len(NAMES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates = tuple(scores / write(folder / f"bench{turn}.db", rows) for turn in range(repeats))
        line = Figure("score rows written into SQLite, with their samples", "rows/s", wanted=50_000)
        yield replace(line, ours=statistics.median(rates), repeats={"ours": rates})
        times = time_alternately({"ours": lambda: summarise(folder / "bench0.db")}, repeats)
        yield seconds_figure(f"means and intervals of {scores:,} stored scores", times, 2)
        data = folder / "rows.jsonl"
        write_rows(data, rows)
        yield share("three fast lexical metrics", data, folder, LEXICAL)
        yield seconds_figure(
            f"resuming a finished run of {rows:,} rows",
            time_alternately({"ours": lambda: resume(folder)}, repeats),
            5,
        )
        for state in ("cold", "warm"):
            (folder / "run.db").unlink()
            yield share(
                f"the default metrics, cache {state}",
                SAMPLE,
                folder,
                "sgi,semantic_similarity,lexical_aggregate",
            )


def seconds_figure(work: str, times: dict[str, Timing], target: float) -> Figure:
    line = Figure(work, "s", times["ours"].median, wanted=target, higher_is_better=False)
    return replace(line, repeats=seconds_of(times))


def share(name: str, data: Path, folder: Path, metrics: str) -> Figure:
    """Return the share of time that the store adds to a run."""
    added, rate = score(data, folder, metrics)
    work = f"time that the store adds to a run of {name}"
    return Figure(work, "%", 100 * added, wanted=10, higher_is_better=False, note=f"{rate:,.0f} rows/s")


def resume(folder: Path) -> None:
    """Resume the finished run in a new process."""
    command = [sys.executable, "-m", "sgi", "run", "--resume", "last", "--db", "run.db", "-q"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


if __name__ == "__main__":
    benchmark_main(measure)
