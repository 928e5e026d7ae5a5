"""Measure the start: `import sgi` beside other toolkits, and two commands beside numpy with onnxruntime.

    python benchmarks/startup.py [--quick]

Each measurement is a new process. Both commands score one triple with the weights of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness import Figure, benchmark_main, time_alternately
from peer_processes import ENVIRONMENT, PeerError, published_weights, python_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUESTION, CONTEXT, RESPONSE = "Who wrote Emma?", "Jane Austen wrote it.", "Austen."
IMPORT = ["-c", "import sgi"]
HELP = ["-m", "sgi", "--help"]
COMPUTE = ["-m", "sgi", "compute", "--q", QUESTION, "--c", CONTEXT, "--r", RESPONSE]
LIBRARIES = "import of numpy and onnxruntime"
WORK = (
    ("import sgi", IMPORT, "python", 150),
    ("import sgi", IMPORT, "ragas", None),
    ("import sgi", IMPORT, "deepeval", None),
    ("sgi --help", HELP, LIBRARIES, 0.5),
    ("sgi compute, cold", COMPUTE, LIBRARIES, 0.5),
    ("sgi compute, cold", COMPUTE, "factlens", 5),
)
"""Name, our command, the peer, and the target: the maximum milliseconds for Python alone, else the ratio."""


def start(command: list[str]) -> None:
    """Run a command and wait for it."""
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **ENVIRONMENT})


def command_of(peer: str) -> list[str]:
    """Return the command of a peer: its import, or that of factlens for one triple, with the same model.

    Raises:
        PeerError: its environment does not exist.
    """
    if peer == "python":
        return [sys.executable, "-c", "pass"]
    if peer == LIBRARIES:
        return [sys.executable, "-c", "import numpy, onnxruntime"]
    python = python_of(peer)
    if peer != "factlens":
        return [str(python), "-c", f"import {peer}"]
    texts = ["--question", QUESTION, "--context", CONTEXT, "--response", RESPONSE]
    return [str(python.parent / peer), "check", "--model", published_weights(peer), *texts]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield medians over new processes."""
    for name, arguments, peer, target in WORK:
        work: dict[str, Callable[[], object]] = {"ours": partial(start, [sys.executable, *arguments])}
        note = ""
        try:
            work["peer"] = partial(start, command_of(peer))
        except PeerError as error:
            note = str(error)
        times = time_alternately(work, 1 if quick else 7)
        repeats = {key: [1000 * second for second in timing.seconds] for key, timing in times.items()}
        medians = {key: 1000 * timing.median for key, timing in times.items()}
        line = Figure(name, "ms", medians["ours"], wanted=target, higher_is_better=False, repeats=repeats)
        if peer == "python":
            yield replace(line, note=f"includes {medians['peer']:.0f} ms for the start of Python")
        else:
            yield replace(line, peer=medians.get("peer"), beside=peer, note=note)


if __name__ == "__main__":
    benchmark_main(measure)
