"""Measure the metrics without a judge: `grounding` beside `sgi`, and `sgi run -m sgi` beside factlens.

    python benchmarks/grounding.py [--quick]

`grounding` and `sgi` score the answers of RAGTruth QA with `sgi.evaluate`, cold (no vector is cached) and
warm (all are), in turn. The unit is rows per second of processor time, all threads together, so other work
on the machine matters less; a machine with two free cores reaches up to twice as many rows per second.

On HaluEval, `sgi run -m sgi` is compared with `evaluate_batch` of factlens, and with a second run. SGI is the
whole command in a new process: start, reading, storing and writing. The peer is loaded and warm before its
measurement starts. Both use the weights of the embedded model.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sgi
from harness import Figure, Timing, benchmark_main, time_alternately
from material import long_rows, triples, write_jsonl
from peer_processes import NotInstalledError, PeerError, peer
from peer_weights import same_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, PEER_ROWS = 2_997, 60  # every question of the published file
DETECTORS = ("grounding", "sgi")
DETECTOR_ROWS = 306


class Runs:
    """Runs of one file, each with its own database."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows, self.caches = folder, rows, 0
        write_jsonl(folder / "rows.jsonl", rows)

    def cold(self) -> float:
        """Return the seconds of a run with an empty cache."""
        self.caches += 1
        return self._run(self.caches)

    def warm(self) -> float:
        """Return the seconds of a run with the cache of the last run."""
        return self._run(self.caches)

    def _run(self, cache: int) -> float:
        out = self.folder / "out.jsonl"
        command = ["-m", "sgi", "run", str(self.folder / "rows.jsonl"), "-m", "sgi", "-o", str(out), "-q"]
        outputs = ["--db", str(self.folder / "runs.db"), "--cache", str(self.folder / f"cache{cache}.db")]
        (self.folder / "runs.db").unlink(missing_ok=True)
        start = time.perf_counter()
        subprocess.run([sys.executable, *command, *outputs], check=True, capture_output=True)
        seconds = time.perf_counter() - start
        with out.open("rb") as lines:
            count = sum(1 for _ in lines)
        if count != self.rows:
            raise SystemExit(f"The run wrote {count} of {self.rows} rows")
        return seconds


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the detector, and then the command."""
    yield from measure_detector(quick=quick)
    yield from measure_command(quick=quick)


def measure_detector(*, quick: bool) -> Iterator[Figure]:
    """Measure `grounding` and `sgi`, cold and warm, alternately."""
    rows, repeats = (12, 1) if quick else (DETECTOR_ROWS, 3)
    data = long_rows(rows)
    with tempfile.TemporaryDirectory() as name:
        filled = Path(name) / "vectors.db"
        sgi.evaluate(data, list(DETECTORS), cache=filled)

        def processor_seconds(metric: str, cache: bool | Path) -> float:
            start = time.process_time()
            sgi.evaluate(data, metric, cache=cache)
            return time.process_time() - start

        caches: dict[str, bool | Path] = {"cold": False, "warm": filled}
        times = time_alternately(
            {
                f"{metric} {how}": partial(processor_seconds, metric, cache)
                for how, cache in caches.items()
                for metric in DETECTORS
            },
            repeats,
        )
    for how in caches:
        ours, theirs = (times[f"{metric} {how}"] for metric in DETECTORS)
        yield Figure(
            f"grounding, {len(data):,} rows of RAGTruth QA, {how}",
            "rows/s of processor time",
            ours=len(data) / ours.least,
            peer=len(data) / theirs.least,
            beside="the metric sgi",
            note="the least disturbed of all turns",
            repeats=rates({"ours": ours, "peer": theirs}, len(data)),
        )


def measure_command(*, quick: bool) -> Iterator[Figure]:
    """Measure cold runs, warm runs and the peer alternately."""
    rows, peer_rows, repeats = (100, 10, 1) if quick else (ROWS, PEER_ROWS, 5)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        runs = Runs(Path(name), rows)
        work: dict[str, Callable[[], object]] = {"cold": runs.cold, "warm": runs.warm}
        try:
            folder = stack.enter_context(same_weights("factlens"))
            setting = {"rows": triples(peer_rows), "folder": str(folder)}
            other = stack.enter_context(peer("factlens", "evaluate_rows", setting))
            work["peer"] = other.run
            note = f"factlens {other.about['version']}, {peer_rows} rows per turn"
        except (NotInstalledError, PeerError) as error:
            note = str(error)
        times = time_alternately(work, repeats, warm=0)
    yield from figures(times, rows, peer_rows, note)


def figures(times: dict[str, Timing], rows: int, peer_rows: int, note: str) -> Iterator[Figure]:
    """Yield rows per second: the peer scores fewer rows than we do."""
    theirs = times.get("peer")
    line = Figure("", "rows/s", ours=rows / times["cold"].median)
    yield replace(
        line,
        work=f"sgi run -m sgi, {rows:,} rows, cold",
        peer=None if theirs is None else peer_rows / theirs.median,
        beside="factlens evaluate_batch",
        wanted=25,
        note=note,
        repeats=rates({"ours": times["cold"]}, rows) | rates({"peer": theirs} if theirs else {}, peer_rows),
    )
    yield replace(
        line,
        work=f"the same again, all vectors cached, {rows:,} rows",
        ours=rows / times["warm"].median,
        peer=line.ours,
        beside="the first run",
        wanted=20,
        note="both are whole commands; most of the second one is its start",
        repeats=rates({"ours": times["warm"], "peer": times["cold"]}, rows),
    )


def rates(times: dict[str, Timing], rows: int) -> dict[str, tuple[float, ...]]:
    """Return the rows per second of every turn."""
    return {name: tuple(rows / seconds for seconds in timing.seconds) for name, timing in times.items()}


if __name__ == "__main__":
    benchmark_main(measure)
