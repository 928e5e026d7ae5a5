"""Compare rows per second of `grounding` with those of `sgi`, and `sgi run -m sgi` with factlens.

    python benchmarks/grounding.py [--quick]

On RAGTruth QA, `sgi.evaluate` scores the same rows with each metric: cold (no vector is in the cache) and
warm (all are), in turn, in processor time of all threads.

On HaluEval QA, `sgi run -m sgi` is compared with `evaluate_batch` of factlens, and with a second run. SGI is
the whole command in a new process: start, reading, storing and writing. The peer is loaded and warm before
its measurement starts. Both use the weights of the embedded model.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sgi
from harness import Figure, benchmark_main, processor_time, rate_figure, time_alternately
from material import long_rows, triples, write_jsonl
from peer_processes import start_peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, PEER_ROWS = 2_997, 60  # every question of the published file
DETECTOR_ROWS = 306


def run(folder: Path, caches: Iterator[str]) -> None:
    """Run the command with its own database and the next cache."""
    (folder / "runs.db").unlink(missing_ok=True)
    command = [sys.executable, "-m", "sgi", "run", "rows.jsonl", "-m", "sgi", "-o", "out.jsonl", "-q"]
    outputs = ["--db", "runs.db", "--cache", next(caches)]
    subprocess.run([*command, *outputs], check=True, capture_output=True, cwd=folder)


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the detector, and then the command."""
    yield from measure_detector(quick=quick)
    yield from measure_command(quick=quick)


def measure_detector(*, quick: bool) -> Iterator[Figure]:
    """Measure `grounding` and `sgi`, cold and warm, alternately."""
    data = long_rows(12 if quick else DETECTOR_ROWS)
    with tempfile.TemporaryDirectory() as name:
        filled = Path(name) / "vectors.db"
        sgi.evaluate(data, ["grounding", "sgi"], cache=filled)
        caches: dict[str, bool | Path] = {"cold": False, "warm": filled}
        for how, cache in caches.items():
            work = {
                key: processor_time(partial(sgi.evaluate, data, metric, cache=cache))
                for key, metric in (("ours", "grounding"), ("peer", "sgi"))
            }
            yield rate_figure(
                f"grounding, {len(data):,} rows of RAGTruth QA, {how}",
                "rows/s of processor time",
                time_alternately(work, 1 if quick else 3),
                len(data),
                beside="the metric sgi",
            )


def measure_command(*, quick: bool) -> Iterator[Figure]:
    """Measure cold runs, warm runs and the peer alternately; the peer scores fewer rows."""
    rows, peer_rows, repeats = (100, 10, 1) if quick else (ROWS, PEER_ROWS, 5)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_jsonl(folder / "rows.jsonl", rows)
        caches = iter([f"{turn // 2}.db" for turn in range(2 * repeats)])  # each one cold, then warm
        work: dict[str, Callable[[], object]] = dict.fromkeys(("cold", "warm"), partial(run, folder, caches))
        other, note = start_peer(stack, "factlens", "factlens", same_weights=True, rows=triples(peer_rows))
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, repeats, warm=0)
    yield rate_figure(
        f"sgi run -m sgi, {rows:,} rows, cold",
        "rows/s",
        {"ours": times["cold"], **{key: times[key] for key in times if key == "peer"}},
        rows,
        peer_count=peer_rows,
        beside="factlens evaluate_batch",
        wanted=25,
        note=f"{note}, {peer_rows} rows per turn",
    )
    yield rate_figure(
        f"the same again, all vectors cached, {rows:,} rows",
        "rows/s",
        {"ours": times["warm"], "peer": times["cold"]},
        rows,
        beside="the first run",
        wanted=20,
        note="both are whole commands; most of the second one is its start",
    )


if __name__ == "__main__":
    benchmark_main(measure)
