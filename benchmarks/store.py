"""What keeping a run costs: rows written a second, means over stored rows, the share of a run, resuming.

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
    """Seconds to commit ``rows`` samples with five metrics each, batch by batch."""
    metrics = [metric(name) for name in NAMES]
    samples = [
        Sample(id=str(n), question=f"question {n}", response="an answer", reference="a reference")
        for n in range(rows)
    ]
    values = np.random.default_rng(0).random((rows, len(NAMES)))
    with open_database(path) as database:
        start = RunStart("data", "data", rows, {}, "", "", {}, metrics, name="bench")
        recorder = create_run(database, start)
        began = time.perf_counter()
        for first in range(0, rows, BATCH):
            scores = {
                made.canonical: Scores.of(values[first : first + BATCH, n]) for n, made in enumerate(metrics)
            }
            recorder.commit(first, samples[first : first + BATCH], scores, truncated={}, failures={})
        took = time.perf_counter() - began
        recorder.finish({})
    return took


def summarise(path: Path) -> float:
    """Seconds to read all scores and make means with intervals."""
    began = time.perf_counter()
    with open_database(path) as database:
        run = scored_run(database, find_run(database, "bench"))
        group_by(run, [None] * len(run.ids))
    return time.perf_counter() - began


def score(data: Path, folder: Path, metrics: str) -> tuple[float, float]:
    """Seconds inside the store's commits over the seconds of everything else, and rows a second."""
    inside = 0.0
    commit = RunRecorder.commit

    def timed(*words: Any, **named: Any) -> None:
        nonlocal inside
        began = time.perf_counter()
        commit(*words, **named)
        inside += time.perf_counter() - began

    spec = RunSpec.of({"data": data, "metrics": tuple(metrics.split(",")), "out": folder / "out.jsonl"})
    began = time.perf_counter()
    with patch.object(RunRecorder, "commit", timed):
        anyio.run(start_run, spec, RunContext(folder / "run.db", cache=folder / "vectors.db"))
    took = time.perf_counter() - began
    with data.open("rb") as lines:
        rows = sum(1 for _ in lines)
    return inside / (took - inside), rows / took


def measure(*, quick: bool) -> Iterator[Figure]:
    """Write, read, run, resume."""
    rows, repeats = (2_000, 1) if quick else (ROWS, 5)
    kept = rows * len(NAMES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates = tuple(kept / write(folder / f"bench{turn}.db", rows) for turn in range(repeats))
        line = Figure("score rows written into SQLite, with their samples", "rows/s", wanted=50_000)
        yield replace(line, ours=statistics.median(rates), repeats={"ours": rates})
        times = time_alternately({"ours": lambda: summarise(folder / "bench0.db")}, repeats)
        yield own(f"means and intervals of {kept:,} stored scores", times, 2)
        data = folder / "rows.jsonl"
        write_rows(data, rows)
        yield share("three quick lexical metrics", data, folder, LEXICAL)
        yield own(
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


def own(work: str, times: dict[str, Timing], target: float) -> Figure:
    """Seconds of ours alone."""
    line = Figure(work, "s", times["ours"].median, wanted=target, higher_is_better=False)
    return replace(line, repeats=seconds_of(times))


def share(what: str, data: Path, folder: Path, metrics: str) -> Figure:
    """What part of a run the store adds."""
    added, rate = score(data, folder, metrics)
    work = f"what the store adds to a run of {what}"
    return Figure(work, "%", 100 * added, wanted=10, higher_is_better=False, note=f"{rate:,.0f} rows/s")


def resume(folder: Path) -> None:
    """Take up the finished run in a new process."""
    command = [sys.executable, "-m", "sgi", "run", "--resume", "last", "--db", "run.db", "-q"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


if __name__ == "__main__":
    benchmark_main(measure)
