"""`sgi run -m sgi` on rows of HaluEval: beside factlens' `evaluate_batch`, and beside its own second run.

    python benchmarks/grounding.py [--quick]

Ours is the whole command in a new process, with start, reading, storing and writing; the peer is loaded and
warm when its clock starts. Both have the same weights, the embedded model's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Figure, Timing, benchmark_main, time_alternately
from material import triples, write_jsonl
from peer_processes import NotInstalledError, PeerError, peer
from peer_weights import same_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, PEER_ROWS = 2_997, 60  # every question of the published file


class Runs:
    """Runs of one file of rows, each with a database and an output of its own."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows, self.made = folder, rows, 0
        write_jsonl(folder / "rows.jsonl", rows)

    def cold(self) -> float:
        """Seconds of a run with no vector known."""
        self.made += 1
        return self._run(self.made)

    def warm(self) -> float:
        """Seconds of the same again, with the cache that the last run left."""
        return self._run(self.made)

    def _run(self, cache: int) -> float:
        out = self.folder / "out.jsonl"
        command = ["-m", "sgi", "run", str(self.folder / "rows.jsonl"), "-m", "sgi", "-o", str(out), "-q"]
        places = ["--db", str(self.folder / "runs.db"), "--cache", str(self.folder / f"cache{cache}.db")]
        (self.folder / "runs.db").unlink(missing_ok=True)
        began = time.perf_counter()
        subprocess.run([sys.executable, *command, *places], check=True, capture_output=True)
        took = time.perf_counter() - began
        with out.open("rb") as lines:
            written = sum(1 for _ in lines)
        if written != self.rows:
            raise SystemExit(f"{written} of {self.rows} rows were written")
        return took


def measure(*, quick: bool) -> Iterator[Figure]:
    """Cold, warm and the peer by turns."""
    rows, peer_rows, repeats = (100, 10, 1) if quick else (ROWS, PEER_ROWS, 5)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        runs = Runs(Path(name), rows)
        work: dict[str, Callable[[], object]] = {"cold": runs.cold, "warm": runs.warm}
        try:
            folder = stack.enter_context(same_weights("factlens"))
            setting = {"rows": triples(peer_rows), "folder": str(folder)}
            other = stack.enter_context(peer("factlens", "evaluate_rows", setting))
            work["peer"] = other.run
            note = f"factlens {other.about['version']}, {peer_rows} rows a turn"
        except (NotInstalledError, PeerError) as error:
            note = str(error)
        times = time_alternately(work, repeats, warm=0)
    yield from figures(times, rows, peer_rows, note)


def figures(times: dict[str, Timing], rows: int, peer_rows: int, note: str) -> Iterator[Figure]:
    """Rows a second, so that the slower may have fewer of them."""
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
        work=f"the same again, every vector known, {rows:,} rows",
        ours=rows / times["warm"].median,
        peer=line.ours,
        beside="the first run",
        wanted=20,
        note="both are whole commands, of which starting takes most of the second",
        repeats=rates({"ours": times["warm"], "peer": times["cold"]}, rows),
    )


def rates(times: dict[str, Timing], rows: int) -> dict[str, tuple[float, ...]]:
    """Rows a second of every turn."""
    return {name: tuple(rows / took for took in timing.seconds) for name, timing in times.items()}


if __name__ == "__main__":
    benchmark_main(measure)
