"""What keeping a run costs: rows written a second, means over stored rows, the share of a run, resuming.

python benchmarks/store.py [ROWS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import numpy as np

from sgi.engine.groups import grouped
from sgi.engine.job import Surroundings, perform
from sgi.engine.spec import RunSpec
from sgi.kernel.metric import Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from sgi.store.queries import find_run
from sgi.store.recorder import RunRecorder, RunStart, create_run
from sgi.store.run_rows import scored_run
from streaming import write_rows

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
        grouped(run, [None] * len(run.ids))
    return time.perf_counter() - began


def score(data: Path, folder: Path, metrics: str) -> float:
    """What the store adds to a run: seconds inside its commits over the seconds of everything else."""
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
        anyio.run(perform, spec, Surroundings(folder / "run.db", cache=folder / "vectors.db"))
    took = time.perf_counter() - began
    print(f"sgi run -m {metrics}: {took:.1f} s, of them {inside:.1f} s in the store")
    return inside / (took - inside)


def main() -> None:
    """Write, read, run, resume; report."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took = write(folder / "bench.db", rows)
        print(f"written: {rows * len(NAMES) / took:,.0f} score rows/s, with their samples")
        took = summarise(folder / "bench.db")
        print(f"means and intervals of {rows * len(NAMES):,} stored scores: {took:.2f} s")
        data = folder / "rows.jsonl"
        write_rows(data, rows)
        print(f"the store adds {score(data, folder, LEXICAL):.1%} to a run of quick lexical metrics")
        command = [sys.executable, "-m", "sgi", "run", "--resume", "last", "--db", "run.db", "-q"]
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        print(f"resuming the finished run of {rows:,} rows: {time.perf_counter() - began:.2f} s")
        for state in ("cold", "warm"):
            (folder / "run.db").unlink()
            added = score(SAMPLE, folder, "sgi,semantic_similarity,lexical_aggregate")
            print(f"the store adds {added:.1%} to the default run of the bundled sample, cache {state}")


if __name__ == "__main__":
    main()
