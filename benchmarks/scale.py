"""Write what a billion rows cost into `docs/scale.md`, computed from the figures of a run of the benchmarks.

    python benchmarks/scale.py [results.json]

Without a file, the newest of `benchmarks/results`. Only the part between the two marks is written anew.
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
    """The tables: core hours by metric, bytes by form."""
    about = record["machine"]
    where = f"{about['processor']}, {about['cores']} cores, Python {about['python']}"
    lines = [f"Measured {record['date'][:10]}, revision {record['revision']}, on {where}.\n"]
    lines += _costs(record)
    lines += _disk(record)
    lines += _actors(record)
    return "\n".join(lines)


def _costs(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| metric | a row, ms of one core | rows/s a core | 10⁹ rows, core hours | on 64 cores |"
    yield "|---|---|---|---|---|"
    for name, row in figures(record, TIME).items():
        hours = row["ours"] / 1000 * BILLION / HOUR
        yield (
            f"| {name} | {number(row['ours'])} | {number(1000 / row['ours'])} | {number(hours)} "
            f"| {_long(hours / 64)} |"
        )
    yield ""


def _disk(record: Mapping[str, Any]) -> Iterator[str]:
    yield "| kept of a row, two metrics | bytes a row | 10⁹ rows |"
    yield "|---|---|---|"
    for name, row in figures(record, DISK).items():
        yield f"| {name} | {number(row['ours'])} | {number(row['ours'])} GB |"
    yield ""


def _actors(record: Mapping[str, Any]) -> Iterator[str]:
    for row in record["figures"]:
        if row["work"].startswith("Ray") and row["ratio"]:
            yield f"{row['work']}: {number(row['ratio'])} × {row['beside']}.\n"


def _long(hours: float) -> str:
    """Hours or days, whichever is easier to grasp."""
    return f"{number(hours)} hours" if hours < 72 else f"{number(hours / 24)} days"  # noqa: PLR2004 - three days


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
