"""What the large toolkits do without a language model: ROUGE-L over the same pairs, and their import.

    python benchmarks/toolkits.py [--quick]

Ours is `sgi.evaluate` with its rows, statuses and summary. The peers' metrics are called directly, which
spares them their own frameworks; they stem words first, which ours does not.
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
    """All rows by the public function."""
    import sgi

    rows = [
        {"id": str(place), "response": response, "reference": reference}
        for place, (response, reference) in enumerate(pairs)
    ]
    sgi.evaluate(rows, ["rouge_l"])


def imported(python: str | Path, module: str) -> float:
    """Seconds until a new process has imported a module."""
    began = time.perf_counter()
    subprocess.run(
        [str(python), "-c", f"import {module}"],
        check=True,
        capture_output=True,
        env={**os.environ, **ENVIRONMENT},
    )
    return time.perf_counter() - began


def measure(*, quick: bool) -> Iterator[Figure]:
    """A toolkit at a time, by turns with ours."""
    pairs = answer_pairs(100 if quick else PAIRS)
    repeats = 1 if quick else 5
    for toolkit in TOOLKITS:
        yield rouge(toolkit, pairs, repeats)
        yield importing(toolkit, repeats)


def rouge(toolkit: str, pairs: Sequence[tuple[str, str]], repeats: int) -> Figure:
    """ROUGE-L F1."""
    work = f"ROUGE-L by sgi.evaluate, {len(pairs):,} answer pairs"
    try:
        with peer(toolkit, "rouge", {"toolkit": toolkit, "pairs": pairs}) as other:
            times = time_alternately({"ours": partial(ours, pairs), "peer": other.run}, repeats)
            note = f"{toolkit} {other.about['version']}, called directly; it stems words"
    except (NotInstalledError, PeerError) as error:
        return Figure(work, "pairs/s", beside=toolkit, note=str(error))
    rates = {name: tuple(len(pairs) / took for took in timing.seconds) for name, timing in times.items()}
    medians = {name: len(pairs) / timing.median for name, timing in times.items()}
    return Figure(work, "pairs/s", medians["ours"], medians["peer"], toolkit, note=note, repeats=rates)


def importing(toolkit: str, repeats: int) -> Figure:
    """The import of ours beside the toolkit's."""
    work = "import, in a new process"
    try:
        theirs = partial(imported, python_of(toolkit), toolkit)
        times = time_alternately({"ours": partial(imported, sys.executable, "sgi"), "peer": theirs}, repeats)
    except (NotInstalledError, subprocess.CalledProcessError) as error:
        return Figure(work, "s", beside=toolkit, higher_is_better=False, note=str(error))
    repeated = {name: timing.seconds for name, timing in times.items()}
    ours_, theirs_ = times["ours"].median, times["peer"].median
    return Figure(work, "s", ours_, theirs_, toolkit, higher_is_better=False, repeats=repeated)


if __name__ == "__main__":
    benchmark_main(measure)
