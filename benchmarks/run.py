"""All pieces of work, each in a process of its own, and one table of their figures.

    python benchmarks/run.py [--only NAME …] [--quick] [--peers FOLDER]

Writes ``benchmarks/results/<date>-<processor>.json``, and the same table as Markdown, unless only some pieces
are run, or quickly. A piece that fails is told and the others go on; the exit code is then 1. Peers are
measured where ``make bench-peers`` has built their environments.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measured import Figure
from results import write
from table import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HERE = Path(__file__).parent
PIECES = (
    "matrix_rate",
    "embedding",
    "grounding",
    "bertscore",
    "lexical",
    "geometry",
    "startup",
    "ray_scaling",
    "streaming",
    "cost",
    "toolkits",
    "store",
    "comparison",
    "service",
    "judge",
    "judged_run",
    "serving",
)
LONGEST = 1800
"""Seconds after which a piece is given up."""
_TOLD = 400
"""Characters of an error that a note quotes."""


def run_piece(script: Path, *, quick: bool, seconds: float = LONGEST) -> tuple[list[Figure], str]:
    """The figures of one script, and why it failed, or nothing.

    Figures that it told before it failed are kept.
    """
    command = [sys.executable, str(script), "--json", *(["--quick"] if quick else [])]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        told, fault = ended.stdout, ended.stderr.strip() if ended.returncode else ""
        if ended.returncode and not fault:
            fault = f"exit code {ended.returncode}"
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"").decode()  # bytes, whatever was asked for
        fault = f"not done after {seconds:g} s"
    figures = [Figure.from_json(line) for line in told.splitlines() if line.startswith("{")]
    if not figures and not fault:
        fault = "told no figures"
    return figures, fault


def run_all(
    scripts: Iterable[Path],
    *,
    quick: bool,
    seconds: float = LONGEST,
    keep: Callable[[Sequence[Figure]], object] = len,
) -> tuple[list[Figure], dict[str, str]]:
    """All figures, a line for each piece that failed among them, and the faults by piece.

    After each piece, all figures so far are given to ``keep``: a run of half an hour may be cut short.
    """
    figures: list[Figure] = []
    faults: dict[str, str] = {}
    for script in scripts:
        began = time.perf_counter()
        found, fault = run_piece(script, quick=quick, seconds=seconds)
        figures += found
        if fault:
            faults[script.stem] = fault
            figures.append(Figure(script.stem, "", note=f"FAILED: {fault.splitlines()[-1][-_TOLD:]}"))
        print(
            f"{script.stem:<14}{time.perf_counter() - began:6.1f} s  {'FAILED' if fault else ''}",
            file=sys.stderr,
        )
        keep(figures)
    return figures, faults


def main(words: Sequence[str] | None = None) -> int:
    """Run, show, write; 1 where a piece failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=PIECES, metavar="NAME", default=PIECES, help=", ".join(PIECES)
    )
    parser.add_argument("--quick", action="store_true", help="shows that all of it runs, not how fast")
    parser.add_argument("--write", action="store_true", help="keep the figures, also of some pieces alone")
    parser.add_argument("--peers", type=Path, help="folder of the peers' environments; else .venv-peers")
    options = parser.parse_args(words)
    if options.peers:
        os.environ["SGI_BENCH_PEERS"] = str(options.peers.absolute())
    whole = tuple(options.only) == PIECES and not options.quick
    written: dict[Path, None] = {}
    scripts = (HERE / f"{name}.py" for name in options.only)
    figures, faults = run_all(
        scripts,
        quick=options.quick,
        keep=(lambda found: written.setdefault(write(found))) if whole or options.write else len,
    )
    show(figures)
    for name, fault in faults.items():
        print(f"\n{name} failed:\n{fault}", file=sys.stderr)
    for path in written:
        print(f"written: {path}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
