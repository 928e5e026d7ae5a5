"""Run all benchmarks, each in its own process, and print one table.

    python benchmarks/run.py [--only NAME … | --tracked] [--quick] [--peers FOLDER] [--results FOLDER]

A run of all benchmarks without ``--quick`` writes ``benchmarks/results/<date>-<processor>.json``, and the
same table as Markdown. If a benchmark fails, the others still run and the exit code is 1. Peers are measured
if ``make bench-peers`` has built their environments.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Figure
from results import RESULTS, write
from table import show
from tracked import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HERE = Path(__file__).parent
BENCHMARKS = (
    "embedding",
    "grounding",
    "bertscore",
    "lexical",
    "overhead",
    "geometry",
    "startup",
    "ray_scaling",
    "cost",
    "judge",
    "serving",
    "guard",
)
MAX_SECONDS = 1800
"""Time limit of a benchmark."""
_MAX_ERROR = 400
"""Characters of an error in a note."""


def run_benchmark(script: Path, *, quick: bool, seconds: float = MAX_SECONDS) -> tuple[list[Figure], str]:
    """Return the figures of one script and its error; the error is empty on success.

    The figures that it printed before an error are included.
    """
    command = [sys.executable, str(script), "--json", *(["--quick"] if quick else [])]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        output, error = process.stdout, process.stderr.strip() if process.returncode else ""
        if process.returncode and not error:
            error = f"exit code {process.returncode}"
    except subprocess.TimeoutExpired as timeout:
        output = (timeout.stdout or b"").decode()  # bytes, also with text=True
        error = f"timeout after {seconds:g} s"
    figures = [Figure.from_json(line) for line in output.splitlines() if line.startswith("{")]
    if not figures and not error:
        error = "printed no figures"
    return figures, error


def run_all(
    scripts: Iterable[Path],
    *,
    quick: bool,
    seconds: float = MAX_SECONDS,
    save: Callable[[Sequence[Figure]], object] = len,
) -> tuple[list[Figure], dict[str, str]]:
    """Return all figures, including one for each failed benchmark, and the errors by benchmark.

    ``save`` receives all figures so far after each benchmark, so an interrupted run keeps its figures.
    """
    figures: list[Figure] = []
    errors: dict[str, str] = {}
    for script in scripts:
        start = time.perf_counter()
        script_figures, error = run_benchmark(script, quick=quick, seconds=seconds)
        figures += script_figures
        if error:
            errors[script.stem] = error
            figures.append(Figure(script.stem, "", note=f"FAILED: {error.splitlines()[-1][-_MAX_ERROR:]}"))
        print(
            f"{script.stem:<14}{time.perf_counter() - start:6.1f} s  {'FAILED' if error else ''}",
            file=sys.stderr,
        )
        save(figures)
    return figures, errors


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks, print and write the table; return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--only",
        nargs="+",
        choices=BENCHMARKS,
        metavar="NAME",
        default=BENCHMARKS,
        help=", ".join(BENCHMARKS),
    )
    chosen.add_argument(
        "--tracked",
        dest="only",
        action="store_const",
        const=SCRIPTS,
        help=f"the benchmarks of the ratios that have a limit: {', '.join(SCRIPTS)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="use little data: tests that they run, not how fast"
    )
    parser.add_argument("--write", action="store_true", help="write the results also with --only or --quick")
    parser.add_argument("--results", type=Path, help="write the results to this folder; implies --write")
    parser.add_argument("--peers", type=Path, help="folder with the peers' environments; default .venv-peers")
    options = parser.parse_args(arguments)
    if options.peers:
        os.environ["SGI_BENCH_PEERS"] = str(options.peers.absolute())
    save = partial(write, folder=options.results or RESULTS)
    whole = tuple(options.only) == BENCHMARKS and not options.quick
    paths: dict[Path, None] = {}
    scripts = (HERE / f"{name}.py" for name in options.only)
    figures, errors = run_all(
        scripts,
        quick=options.quick,
        save=(lambda some: paths.setdefault(save(some)))
        if whole or options.write or options.results
        else len,
    )
    show(figures)
    for name, error in errors.items():
        print(f"\n{name} failed:\n{error}", file=sys.stderr)
    for path in paths:
        print(f"Wrote {path}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
