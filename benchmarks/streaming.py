"""Measure rows per second and peak memory of `sgi run -m sgi` with cached vectors.

    python benchmarks/streaming.py [--quick]

The rows repeat the texts of 400 random items, so all vectors come from the cache.
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
FORMAT_ROWS = 100_000
FORMATS = {"jsonl": "JSON Lines", "csv": "CSV", "parquet": "Parquet"}
"""Formats of input and output, with ``FORMAT_ROWS`` rows each."""
ITEMS = 400
WORDS = ["paris", "rome", "emma", "austen", "wrote", "the", "of", "novel", "river", "tower", "built", "1889"]


def rows(n: int) -> Iterator[dict[str, Any]]:
    """Yield rows of about 600 bytes from a fixed seed; each item has two answers."""
    generator = random.Random(0)  # noqa: S311 - data, not a secret

    def text(words: int) -> str:
        return " ".join(generator.choices(WORDS, k=words))

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
    """Return the seconds of one run in a new process."""
    start = perf_counter()
    command = [sys.executable, "-m", "sgi", "run", str(data), "-m", "sgi", "-o", str(out), "-q"]
    files = ["--db", str(folder / "runs.db"), "--cache", str(folder / "vectors.db")]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    subprocess.run([*command, *files], check=True, capture_output=True, env=environment)
    return perf_counter() - start


def measure(*, quick: bool) -> Iterator[Figure]:
    """Fill the cache with all texts, then measure runs on the data."""
    n, format_rows = (5_000, 1_000) if quick else (ROWS, FORMAT_ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = folder / "few.jsonl"
        write(few, 2 * ITEMS)
        seconds(few, folder / "out.jsonl", folder)
        before = peak_megabytes(children=True)
        data = folder / "rows.jsonl"
        write(data, n)
        duration = seconds(data, folder / "out.jsonl", folder)
        work = f"sgi run -m sgi, {n:,} rows of JSON Lines, all vectors cached"
        yield Figure(work, "rows/s", n / duration)
        yield Figure(
            f"{work}: peak memory",
            "MB",
            peak_megabytes(children=True),
            wanted=1000,
            higher_is_better=False,
            note=f"{before:.0f} MB with {2 * ITEMS} rows",
        )
        for kind, title in FORMATS.items():
            data = folder / f"rows.{kind}"
            write(data, format_rows)
            duration = seconds(data, folder / f"out.{kind}", folder)
            yield Figure(
                f"sgi run -m sgi, {format_rows:,} rows of {title}, all vectors cached",
                "rows/s",
                format_rows / duration,
            )


if __name__ == "__main__":
    benchmark_main(measure)
