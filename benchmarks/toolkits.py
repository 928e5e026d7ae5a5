"""Compare ROUGE-L and the import time with ragas and deepeval.

    python benchmarks/toolkits.py [--quick]

SGI is measured as `sgi.evaluate` with rows, statuses and summary. The metrics of the peers are called
directly, without the overhead of their frameworks. Unlike SGI, they stem words.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from harness import Figure, benchmark_main, time_alternately
from material import pairs as answer_pairs
from peer_processes import ENVIRONMENT, NotInstalledError, PeerError, peer, python_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PAIRS = 1_000
TOOLKITS = ("ragas", "deepeval")


def ours(pairs: Sequence[tuple[str, str]]) -> None:
    """Score all rows with the public function."""
    import sgi

    rows = [
        {"id": str(index), "response": response, "reference": reference}
        for index, (response, reference) in enumerate(pairs)
    ]
    sgi.evaluate(rows, ["rouge_l"])


def import_seconds(python: str | Path, module: str) -> float:
    """Return the seconds until a new process has imported a module."""
    start = time.perf_counter()
    subprocess.run(
        [str(python), "-c", f"import {module}"],
        check=True,
        capture_output=True,
        env={**os.environ, **ENVIRONMENT},
    )
    return time.perf_counter() - start


def measure(*, quick: bool) -> Iterator[Figure]:
    """Compare each toolkit with SGI alternately."""
    pairs = answer_pairs(100 if quick else PAIRS)
    repeats = 1 if quick else 5
    for toolkit in TOOLKITS:
        yield rouge(toolkit, pairs, repeats)
        yield import_time(toolkit, repeats)


def rouge(toolkit: str, pairs: Sequence[tuple[str, str]], repeats: int) -> Figure:
    """Compare ROUGE-L F1."""
    work = f"ROUGE-L by sgi.evaluate, {len(pairs):,} answer pairs"
    try:
        with peer(toolkit, "rouge", {"toolkit": toolkit, "pairs": pairs}) as other:
            times = time_alternately({"ours": partial(ours, pairs), "peer": other.run}, repeats)
            note = f"{toolkit} {other.about['version']}, called directly; it stems words"
    except (NotInstalledError, PeerError) as error:
        return Figure(work, "pairs/s", beside=toolkit, note=str(error))
    rates = {
        name: tuple(len(pairs) / seconds for seconds in timing.seconds) for name, timing in times.items()
    }
    medians = {name: len(pairs) / timing.median for name, timing in times.items()}
    return Figure(work, "pairs/s", medians["ours"], medians["peer"], toolkit, note=note, repeats=rates)


def import_time(toolkit: str, repeats: int) -> Figure:
    """Compare the import time of SGI and of the toolkit."""
    work = "import, in a new process"
    try:
        theirs = partial(import_seconds, python_of(toolkit), toolkit)
        times = time_alternately(
            {"ours": partial(import_seconds, sys.executable, "sgi"), "peer": theirs}, repeats
        )
    except (NotInstalledError, subprocess.CalledProcessError) as error:
        return Figure(work, "s", beside=toolkit, higher_is_better=False, note=str(error))
    seconds = {name: timing.seconds for name, timing in times.items()}
    ours_, theirs_ = times["ours"].median, times["peer"].median
    return Figure(work, "s", ours_, theirs_, toolkit, higher_is_better=False, repeats=seconds)


if __name__ == "__main__":
    benchmark_main(measure)
