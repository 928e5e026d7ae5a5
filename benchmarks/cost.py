"""Measure the cost per row of `sgi run`: processor time by metric, and bytes on disk.

    python benchmarks/cost.py [--quick]

docs/large-data.md has the cost per row. Each figure is the difference of two runs divided by the
difference of their rows, so it excludes the start. Other work on the machine affects the processor time of
all threads less than the elapsed time.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Figure, benchmark_main
from material import rows as halueval

if TYPE_CHECKING:
    from collections.abc import Iterator

LEXICAL = "rouge_l,squad_token_f1"
FILLED_CACHE = "filled.db"
TIME, DISK = "core time a row", "disk a row"


@dataclass(frozen=True)
class Case:
    """A measured run.

    Attributes:
        name: name in the table.
        metrics: argument of ``-m``.
        rows: row counts of the two runs.
        questions: number of different questions; None for a new one in each row.
        passages: number of different passages; None for a new one in each row.
        fill_cache: whether the cache has the repeated texts before the run.
    """

    name: str
    metrics: str
    rows: tuple[int, int]
    questions: int | None = None
    passages: int | None = None
    fill_cache: bool = False


CASES = (
    Case("sgi, every text new", "sgi", (100, 400)),
    Case("sgi, passages known", "sgi", (100, 400), passages=20, fill_cache=True),
    Case("sgi, every text known", "sgi", (500, 4000), questions=50, passages=50, fill_cache=True),
    Case(LEXICAL.replace(",", ", "), LEXICAL, (500, 4000)),
    Case("bertscore, every text new", "bertscore", (50, 400)),
)


def write(path: Path, case: Case, count: int) -> None:
    """Write rows of HaluEval with references."""
    items = halueval()
    with path.open("w", encoding="utf-8") as file:
        for index in range(count):
            row = items[index % min(case.questions or count, len(items))]
            passage = items[index % min(case.passages or count, len(items))]["knowledge"]
            sample = {"id": str(index), "question": row["question"], "contexts": [passage]}
            answers = {"response": row["hallucinated_answer"], "reference": row["right_answer"]}
            file.write(json.dumps(sample | answers) + "\n")


def run(folder: Path, case: Case, count: int) -> tuple[float, dict[str, int]]:
    """Return the processor time in seconds, and the size of each output file in bytes."""
    data, out, runs, cache = (folder / name for name in ("rows.jsonl", "out.parquet", "runs.db", "cache.db"))
    write(data, case, count)
    for path in (out, runs, cache):
        path.unlink(missing_ok=True)
    if (folder / FILLED_CACHE).exists():
        shutil.copy(folder / FILLED_CACHE, cache)
    command = ["-m", "sgi", "run", str(data), "-m", case.metrics, "-o", str(out), "-q"]
    before = _processor_seconds()
    outputs = ["--db", str(runs), "--cache", str(cache)]
    subprocess.run([sys.executable, *command, *outputs], check=True, capture_output=True)
    return _processor_seconds() - before, {path.suffix: path.stat().st_size for path in (out, runs)}


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield the processor time of each case, and the bytes on disk of the lexical metrics."""
    for case in CASES:
        fewer, more = (count // 10 or 1 for count in case.rows) if quick else case.rows
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if case.fill_cache:
                fill_cache(folder, case)
            costs = {count: run(folder, case, count) for count in (fewer, more)}
        extra = more - fewer
        if costs[more][0] <= costs[fewer][0]:
            raise SystemExit(
                f"{case.name}: {more} rows needed no more time than {fewer}; the machine is too busy"
            )
        yield Figure(
            f"{TIME}: {case.name}",
            "core-ms",
            ours=1000 * (costs[more][0] - costs[fewer][0]) / extra,
            higher_is_better=False,
            note=f"{more:,} rows compared with {fewer:,}",
        )
        if case.metrics == LEXICAL:
            for suffix, kind in ((".db", "SQLite"), (".parquet", "Parquet")):
                size = (costs[more][1][suffix] - costs[fewer][1][suffix]) / extra
                note = f"SQLite includes the texts of the row; metrics {case.name}"
                yield Figure(f"{DISK}: {kind}", "bytes", size, higher_is_better=False, note=note)


def fill_cache(folder: Path, case: Case) -> None:
    """Embed the repeated texts: all of them, or the passages with one question."""
    repeated = replace(case, questions=case.questions or 1)
    run(folder, repeated, case.passages or 1)
    shutil.copy(folder / "cache.db", folder / FILLED_CACHE)


if __name__ == "__main__":
    benchmark_main(measure)
