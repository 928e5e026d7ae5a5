"""Compare two result files, and fail if a ratio got worse by more than 10 %.

    python benchmarks/compare_results.py                # the two newest files of the processor measured last
    python benchmarks/compare_results.py OLD NEW [--limit 0.1]

It compares the ratios to peers and bounds, because they depend less on the state of the machine than times.
Both files must come from the same processor and number of cores. A ratio that only one file has is listed,
and is not a failure.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness import Figure
from results import RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 0.1


class Change(NamedTuple):
    """The change of one ratio; a gain of 0.1 is 10 % better, None if only one file has the ratio."""

    work: str
    old: float | None
    new: float | None
    gain: float | None


def read(path: Path) -> dict[str, Any]:
    """Read a result file."""
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def processor(record: dict[str, Any]) -> tuple[str, int]:
    """Return what two files must share to be compared."""
    return record["machine"]["processor"], record["machine"]["cores"]


def newest_pair(folder: Path = RESULTS) -> list[Path]:
    """Return the newest file and the one before it of the same processor; fewer if there are fewer."""
    files = sorted(folder.glob("*.json"), key=lambda path: read(path)["date"])
    return [path for path in files if processor(read(path)) == processor(read(files[-1]))][-2:]


def ratios(record: dict[str, Any]) -> dict[str, tuple[float, bool]]:
    """Return each ratio by its work and peer, with whether more is better."""
    found = {}
    for row in record["figures"]:
        figure = Figure(**{name: value for name, value in row.items() if name not in {"ratio", "met"}})
        if figure.ratio is not None:
            found[f"{figure.work} / {figure.beside}"] = (figure.ratio, figure.at_least)
    return found


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the change of each ratio.

    Raises:
        SystemExit: the files come from different processors.
    """
    if processor(old) != processor(new):
        raise SystemExit(f"The files are of different processors: {processor(old)} and {processor(new)}.")
    before, after = ratios(old), ratios(new)
    changes = []
    for work in before | after:
        (one, _), (other, more) = before.get(work, (None, True)), after.get(work, (None, True))
        gain = None
        if one and other:
            gain = other / one - 1 if more else one / other - 1
        changes.append(Change(work, one, other, gain))
    return changes


def table(changes: Sequence[Change], limit: float) -> str:
    """Return the changes as a table in Markdown, the worst first."""
    lines = ["| work | old | new | change | |", "| --- | --- | --- | --- | --- |"]
    for work, old, new, gain in sorted(changes, key=lambda change: (change.gain is None, change.gain or 0)):
        shown = ["–" if value is None else f"{value:.3g} ×" for value in (old, new)]
        percent = "–" if gain is None else f"{gain:+.1%}"
        verdict = "worse" if gain is not None and gain < -limit else ""
        lines.append(f"| {work} | {shown[0]} | {shown[1]} | {percent} | {verdict} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and exit with 1 if a ratio got worse."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument("--limit", type=float, default=LIMIT)
    arguments = parser.parse_args()
    files = arguments.files or newest_pair()
    if len(files) != 2:  # noqa: PLR2004 - a pair
        raise SystemExit("Two result files of the same processor are needed.")
    changes = compare(*map(read, files))
    print(table(changes, arguments.limit))
    if any(change.gain is not None and change.gain < -arguments.limit for change in changes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
