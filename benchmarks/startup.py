"""Measure the start: `import sgi`, `sgi --help`, and `sgi compute` compared with factlens.

    python benchmarks/startup.py [--quick]

Each measurement is a new process. Both commands score one triple with the weights of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Figure, Timing, benchmark_main, time_alternately
from peer_processes import ENVIRONMENT, WORKERS, NotInstalledError, python_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPUTE = ["-m", "sgi", "compute", "--q", "Who wrote Emma?", "--c", "Jane Austen wrote it.", "--r", "Austen."]
IMPORT, HELP, COLD = "import sgi", "sgi --help", "sgi compute, cold"
WORK = {
    IMPORT: ["-c", "import sgi"],
    HELP: ["-m", "sgi", "--help"],
    COLD: COMPUTE,
}
TARGETS = {IMPORT: 150, COLD: 1000}
"""Maximum milliseconds."""


def start(command: list[str]) -> None:
    """Run a command and wait for it."""
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **ENVIRONMENT})


def factlens_command() -> list[str]:
    """Return the command of factlens for one triple, with the same model.

    Raises:
        NotInstalledError: its environment does not exist.
    """
    python = python_of("factlens")
    process = subprocess.run([python, WORKERS / "weights.py"], check=True, capture_output=True, text=True)
    arguments = ["--question", COMPUTE[4], "--context", COMPUTE[6], "--response", COMPUTE[8]]
    return [str(Path(python).parent / "factlens"), "check", "--model", process.stdout.strip(), *arguments]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield medians over new processes."""
    work: dict[str, Callable[[], object]] = {
        name: partial(start, [sys.executable, *arguments])
        for name, arguments in {"python": ["-c", "pass"], **WORK}.items()
    }
    note = ""
    try:
        work["factlens"] = partial(start, factlens_command())
    except (NotInstalledError, subprocess.CalledProcessError) as error:
        note = str(error)
    times = time_alternately(work, 1 if quick else 7)
    for name in WORK:
        yield Figure(
            name,
            "ms",
            ours=1000 * times[name].median,
            wanted=TARGETS.get(name),
            higher_is_better=False,
            note=f"includes {1000 * times['python'].median:.0f} ms for the start of Python"
            if name == IMPORT
            else "",
            repeats={"ours": milliseconds(times[name])},
        )
    theirs = times.get("factlens")
    yield Figure(
        COLD,
        "ms",
        ours=1000 * times[COLD].median,
        peer=None if theirs is None else 1000 * theirs.median,
        beside="factlens check",
        wanted=5,
        higher_is_better=False,
        note=note,
        repeats={"ours": milliseconds(times[COLD])} | ({"peer": milliseconds(theirs)} if theirs else {}),
    )


def milliseconds(timing: Timing) -> tuple[float, ...]:
    """Return the milliseconds of every turn."""
    return tuple(1000 * second for second in timing.seconds)


if __name__ == "__main__":
    benchmark_main(measure)
