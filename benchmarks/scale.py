"""Compute the cost of a billion rows from the benchmark results, and write it into `docs/scale.md`.

    python benchmarks/scale.py [results.json]

The default is the newest file in `benchmarks/results` that has costs. Only the part between the two markers
is replaced. Times are for one core and are not divided by a number of cores: scaling was measured for two
workers only.
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


def figures(record: Mapping[str, Any], prefix: str) -> dict[str, dict[str, Any]]:
    """Return the measured figures whose name starts with the prefix, by the rest of the name."""
    return {
        row["work"].removeprefix(prefix).removeprefix(": "): row
        for row in record["figures"]
        if row["work"].startswith(prefix) and row["ours"]
    }


def cost_tables(record: Mapping[str, Any]) -> str:
    """Return the tables: core hours by metric, bytes by file format, and the speed of two workers."""
    about = record["machine"]
    machine = f"{about['processor']}, {about['cores']} cores, Python {about['python']}"
    lines = [f"Measured {record['date'][:10]}, revision {record['revision']}, on {machine}.\n"]
    lines += _costs(record)
    lines += _disk(record)
    lines += _actors(record)
    return "\n".join(lines)


def _costs(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| metric | ms of one core per row | rows/s on one core | 10⁹ rows, hours of one core |"
    yield "|---|---|---|---|"
    for name, row in figures(record, TIME).items():
        hours = row["ours"] / 1000 * BILLION / HOUR
        yield f"| {name} | {number(row['ours'])} | {number(1000 / row['ours'])} | {number(hours)} |"
    yield ""


def _disk(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| stored row with two metrics | bytes per row | 10⁹ rows |"
    yield "|---|---|---|"
    for name, row in figures(record, DISK).items():
        yield f"| {name} | {number(row['ours'])} | {number(row['ours'])} GB |"
    yield ""


def _actors(record: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for row in record["figures"] if row["work"].startswith("Ray") and row["ratio"]]
    for row in rows:
        yield f"{row['work']}: {number(row['ratio'])} × {row['beside']}.\n"
    if rows:
        yield (
            f"Measured on {record['machine']['cores']} cores of one machine; more workers, and several "
            "machines, were not measured. Do not divide the hours of one core by your number of cores.\n"
        )


def replace_tables(page: str, text: str) -> str:
    """Replace the part of the page between the markers."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the tables into the page."""
    paths = [Path(sys.argv[1])] if len(sys.argv) > 1 else RESULTS.glob("*.json")
    records = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    record = max((each for each in records if figures(each, TIME)), key=lambda each: str(each["date"]))
    PAGE.write_text(replace_tables(PAGE.read_text(encoding="utf-8"), cost_tables(record)), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
