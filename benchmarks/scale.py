"""Write the cost of a billion rows into `docs/scale.md`, computed from the results of the benchmarks.

    python benchmarks/scale.py [results.json]

Without a file, the newest of `benchmarks/results`. Only the part between the two marks is replaced. Times are
those of one core, and are not divided by a number of cores: scaling was measured for two workers only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cost import DISK, TIME
from material import ROOT
from results import RESULTS
from table import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- computed by benchmarks/scale.py: begin -->", "<!-- computed: end -->"
BILLION = 1e9
HOUR = 3600.0


def figures(record: Mapping[str, Any], beginning: str) -> dict[str, dict[str, Any]]:
    """The figures whose name begins so and that were measured, by the rest of the name."""
    return {
        row["work"].removeprefix(beginning).removeprefix(": "): row
        for row in record["figures"]
        if row["work"].startswith(beginning) and row["ours"]
    }


def computed(record: Mapping[str, Any]) -> str:
    """The tables: core hours by metric, bytes by file format, and the measured speed of two workers."""
    about = record["machine"]
    where = f"{about['processor']}, {about['cores']} cores, Python {about['python']}"
    lines = [f"Measured {record['date'][:10]}, revision {record['revision']}, on {where}.\n"]
    lines += _costs(record)
    lines += _disk(record)
    lines += _actors(record)
    return "\n".join(lines)


def _costs(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| metric | a row, ms of one core | rows/s on one core | 10⁹ rows, hours of one core |"
    yield "|---|---|---|---|"
    for name, row in figures(record, TIME).items():
        hours = row["ours"] / 1000 * BILLION / HOUR
        yield f"| {name} | {number(row['ours'])} | {number(1000 / row['ours'])} | {number(hours)} |"
    yield ""


def _disk(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| kept of a row, two metrics | bytes a row | 10⁹ rows |"
    yield "|---|---|---|"
    for name, row in figures(record, DISK).items():
        yield f"| {name} | {number(row['ours'])} | {number(row['ours'])} GB |"
    yield ""


def _actors(record: Mapping[str, Any]) -> Iterator[str]:
    found = [row for row in record["figures"] if row["work"].startswith("Ray") and row["ratio"]]
    for row in found:
        yield f"{row['work']}: {number(row['ratio'])} × {row['beside']}.\n"
    if found:
        yield (
            f"Measured on {record['machine']['cores']} cores of one machine; more workers, and several "
            "machines, were not measured. Do not divide the hours of one core by your number of cores.\n"
        )


def placed(page: str, text: str) -> str:
    """The page with the part between the marks replaced."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Compute and write."""
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else max(RESULTS.glob("*.json"))
    record = json.loads(chosen.read_text(encoding="utf-8"))
    PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), computed(record)), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
