"""Rows through `sgi run -m sgi` with an empty and with a filled cache: rows a second and peak memory.

    python benchmarks/streaming.py [--quick]

The rows repeat the texts of 400 made-up items, so that nearly all vectors come from the cache.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from harness import Figure, benchmark_main, peak_megabytes
from sgi.io.write import open_writer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 1_000_000
FEWER = 100_000
FORMATS = {"jsonl": "JSON Lines", "csv": "CSV", "parquet": "Parquet"}
"""In and out, each by its own; ``FEWER`` rows."""
ITEMS = 400
WORDS = ["paris", "rome", "emma", "austen", "wrote", "the", "of", "novel", "river", "tower", "built", "1889"]


def rows(n: int) -> Iterator[dict[str, Any]]:
    """Rows of about 600 bytes, from a fixed seed; two answers to each of a few questions."""
    chance = random.Random(0)  # noqa: S311 - data, not a secret

    def text(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    items = [(text(10), [text(40), text(30)], (text(4), text(12))) for _ in range(ITEMS)]
    for number in range(n):
        question, contexts, answers = items[number // 2 % ITEMS]
        yield {
            "id": str(number),
            "question": question,
            "contexts": contexts,
            "response": answers[number % 2],
            "reference": answers[0],
            "label": number % 2 == 0,
        }


def write(path: Path, n: int) -> None:
    if path.suffix != ".jsonl":
        with open_writer(path) as table:
            table.write(rows(n))
        return
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows(n))


def seconds(data: Path, out: Path, folder: Path) -> float:
    """Of one run in a process of its own."""
    began = perf_counter()
    command = [sys.executable, "-m", "sgi", "run", str(data), "-m", "sgi", "-o", str(out), "-q"]
    kept = ["--db", str(folder / "runs.db"), "--cache", str(folder / "vectors.db")]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    subprocess.run([*command, *kept], check=True, capture_output=True, env=environment)
    return perf_counter() - began


def measure(*, quick: bool) -> Iterator[Figure]:
    """Fill the cache with one row of each text, then run the data: all vectors are there."""
    n, fewer = (5_000, 1_000) if quick else (ROWS, FEWER)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = folder / "few.jsonl"
        write(few, 2 * ITEMS)
        seconds(few, folder / "out.jsonl", folder)
        before = peak_megabytes(children=True)
        data = folder / "rows.jsonl"
        write(data, n)
        took = seconds(data, folder / "out.jsonl", folder)
        work = f"sgi run -m sgi, {n:,} rows of JSON Lines, every vector known"
        yield Figure(work, "rows/s", n / took)
        yield Figure(
            f"{work}: peak memory",
            "MB",
            peak_megabytes(children=True),
            wanted=1000,
            higher_is_better=False,
            note=f"{before:.0f} MB with {2 * ITEMS} rows",
        )
        for kind, written in FORMATS.items():
            data = folder / f"fewer.{kind}"
            write(data, fewer)
            took = seconds(data, folder / f"out.{kind}", folder)
            yield Figure(
                f"sgi run -m sgi, {fewer:,} rows of {written}, every vector known", "rows/s", fewer / took
            )


if __name__ == "__main__":
    benchmark_main(measure)
