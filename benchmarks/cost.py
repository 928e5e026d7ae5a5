"""What one more row costs `sgi run`: processor time by metric, and bytes on disk.

    python benchmarks/cost.py [--quick]

`docs/scale.md` is made of these. Every figure is the difference of two whole runs over that of their rows, so
that starting is not in it. Processor time of all threads, not wall time, since other work hardly changes it.
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
PRIMED = "known.db"
TIME, DISK = "core time a row", "disk a row"


@dataclass(frozen=True)
class Case:
    """Rows whose texts come from so many different questions and passages, and what scores them."""

    name: str
    metrics: str
    rows: tuple[int, int]
    questions: int | None = None
    passages: int | None = None
    primed: bool = False


CASES = (
    Case("sgi, every text new", "sgi", (100, 400)),
    Case("sgi, passages known", "sgi", (100, 400), passages=20, primed=True),
    Case("sgi, every text known", "sgi", (500, 4000), questions=50, passages=50, primed=True),
    Case(LEXICAL.replace(",", ", "), LEXICAL, (500, 4000)),
    Case("bertscore, every text new", "bertscore", (50, 400)),
)


def write(path: Path, case: Case, count: int) -> None:
    """Rows of HaluEval, with references."""
    items = halueval()
    with path.open("w", encoding="utf-8") as file:
        for place in range(count):
            row = items[place % min(case.questions or count, len(items))]
            passage = items[place % min(case.passages or count, len(items))]["knowledge"]
            sample = {"id": str(place), "question": row["question"], "contexts": [passage]}
            answers = {"response": row["hallucinated_answer"], "reference": row["right_answer"]}
            file.write(json.dumps(sample | answers) + "\n")


def run(folder: Path, case: Case, count: int) -> tuple[float, dict[str, int]]:
    """Seconds of the processors, and the bytes written; what was primed is known, nothing else."""
    data, out, runs, cache = (folder / name for name in ("rows.jsonl", "out.parquet", "runs.db", "cache.db"))
    write(data, case, count)
    for path in (out, runs, cache):
        path.unlink(missing_ok=True)
    if (folder / PRIMED).exists():
        shutil.copy(folder / PRIMED, cache)
    command = ["-m", "sgi", "run", str(data), "-m", case.metrics, "-o", str(out), "-q"]
    before = _spent()
    places = ["--db", str(runs), "--cache", str(cache)]
    subprocess.run([sys.executable, *command, *places], check=True, capture_output=True)
    return _spent() - before, {path.suffix: path.stat().st_size for path in (out, runs)}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(*, quick: bool) -> Iterator[Figure]:
    """A line a case, and what the largest of them left on disk."""
    for case in CASES:
        fewer, more = (count // 10 or 1 for count in case.rows) if quick else case.rows
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if case.primed:
                prime(folder, case)
            spent = {count: run(folder, case, count) for count in (fewer, more)}
        apart = more - fewer
        if spent[more][0] <= spent[fewer][0]:
            raise SystemExit(f"{case.name}: {more} rows took no longer than {fewer}; the machine is too busy")
        yield Figure(
            f"{TIME}: {case.name}",
            "core-ms",
            ours=1000 * (spent[more][0] - spent[fewer][0]) / apart,
            higher_is_better=False,
            note=f"{more:,} rows beside {fewer:,}",
        )
        if case.metrics == LEXICAL:
            for suffix, kind in ((".db", "SQLite"), (".parquet", "Parquet")):
                size = (spent[more][1][suffix] - spent[fewer][1][suffix]) / apart
                note = f"with the row's texts in SQLite; metrics {case.name}"
                yield Figure(f"{DISK}: {kind}", "bytes", size, higher_is_better=False, note=note)


def prime(folder: Path, case: Case) -> None:
    """Know the texts that are to be known: all of them, or the passages with a single question."""
    known = replace(case, questions=case.questions or 1)
    run(folder, known, case.passages or 1)
    shutil.copy(folder / "cache.db", folder / PRIMED)


if __name__ == "__main__":
    benchmark_main(measure)
