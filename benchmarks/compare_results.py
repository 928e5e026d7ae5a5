"""Compare the results of two revisions, and fail if a tracked ratio got worse by more than 10 %.

    python benchmarks/compare_results.py                # the two newest files of the processor measured last
    python benchmarks/compare_results.py OLD NEW [--limit 0.1]

OLD and NEW are result files, or folders with the files of several runs of one revision. It compares the
ratios to peers and bounds, because they depend less on the state of the machine than times. All files must
come from the same processor and number of cores.

A tracked ratio (tracked.py) is worse if its change exceeds the limit and the 95 % interval of the change,
a bootstrap of the repeats, does not contain zero. Other ratios are listed only, and so is a ratio that only
one side has.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness import Figure
from results import RESULTS
from tracked import LIMIT, tracked
from turns import change_interval, turns_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Gain(NamedTuple):
    """The change of a ratio, 0.1 for 10 % better, and its interval; no interval without repeats."""

    value: float
    low: float | None = None
    high: float | None = None

    def exceeds(self, limit: float) -> bool:
        """Return whether the ratio is worse by more than the limit, and not by chance."""
        return self.value < -limit and (self.high is None or self.high < 0)

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f" ({self.low:+.1%} to {self.high:+.1%})"
        return f"{self.value:+.1%}{interval}"


@dataclass(frozen=True)
class Change:
    """A ratio of both sides; None if a side does not have it."""

    name: str
    old: float | None
    new: float | None
    gain: Gain | None
    limited: bool

    def worse(self, limit: float) -> bool:
        """Return whether the change is a failure."""
        return self.limited and self.gain is not None and self.gain.exceeds(limit)


def read(path: Path) -> dict[str, Any]:
    """Read a result file."""
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def read_side(path: Path) -> list[dict[str, Any]]:
    """Read a file, or all files in a folder.

    Raises:
        SystemExit: there is no file.
    """
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise SystemExit(f"{path} has no result files.")
    return [read(file) for file in files]


def processor(record: dict[str, Any]) -> tuple[str, int]:
    """Return what two files must share to be compared."""
    return record["machine"]["processor"], record["machine"]["cores"]


def newest_pair(folder: Path = RESULTS) -> list[Path]:
    """Return the newest file and the one before it of the same processor; fewer if there are fewer."""
    files = sorted(folder.glob("*.json"), key=lambda path: read(path)["date"])
    return [path for path in files if processor(read(path)) == processor(read(files[-1]))][-2:]


def figures(record: dict[str, Any]) -> list[Figure]:
    """Return the figures of a file that have a ratio."""
    rows = ({name: row[name] for name in row if name not in {"ratio", "met"}} for row in record["figures"])
    return [figure for figure in (Figure(**row) for row in rows) if figure.ratio is not None]


def gain(old: Sequence[Figure], new: Sequence[Figure]) -> Gain:
    """Return the change between the runs of two revisions, from their repeats if all runs have them."""
    turns = [[turns_of(figure) for figure in side] for side in (old, new)]
    before, after = ([each for each in side if each is not None] for side in turns)
    if len(before) == len(old) and len(after) == len(new):
        changes: tuple[float, ...] = change_interval(before, after)
    else:
        changes = (_ratio(new) / _ratio(old) - 1,)
    if not new[0].at_least:  # a lower ratio is better
        changes = (1 / (1 + changes[0]) - 1, *sorted(1 / (1 + change) - 1 for change in changes[1:]))
    return Gain(*changes)


def _ratio(side: Sequence[Figure]) -> float:
    return statistics.median(figure.ratio for figure in side if figure.ratio is not None)


def compare(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[Change]:
    """Return the change of each ratio between the files of two revisions.

    Raises:
        SystemExit: the files come from different processors.
    """
    if len({processor(record) for record in (*old, *new)}) > 1:
        names = " and ".join(sorted({str(processor(record)) for record in (*old, *new)}))
        raise SystemExit(f"The files are of different processors: {names}.")
    before, after = _by_work(old), _by_work(new)
    changes = []
    for name in before | after:
        one, other = before.get(name), after.get(name)
        newest = (other or one or [])[0]
        found = tracked(newest.work, newest.beside)
        changes.append(
            Change(
                name,
                _ratio(one) if one else None,
                _ratio(other) if other else None,
                gain(one, other) if one and other else None,
                limited=found is not None and found.limited,
            )
        )
    return changes


def _by_work(records: Sequence[dict[str, Any]]) -> dict[str, list[Figure]]:
    """Return the figures of each ratio; that of a tracked one has its title, which does not change."""
    grouped: dict[str, list[Figure]] = {}
    for record in records:
        for figure in figures(record):
            found = tracked(figure.work, figure.beside)
            name = f"{found.title if found else figure.work} / {figure.beside}"
            grouped.setdefault(name, []).append(figure)
    return grouped


def table(changes: Sequence[Change], limit: float) -> str:
    """Return the changes as a table in Markdown, the worst first."""
    lines = [
        "| ratio | old | new | change (95 % interval) | limit | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for change in sorted(changes, key=lambda each: each.gain.value if each.gain else float("inf")):
        old, new = ("–" if value is None else f"{value:.3g} ×" for value in (change.old, change.new))
        cells = (
            change.name,
            old,
            new,
            str(change.gain or "–"),
            f"{-limit:.0%}" if change.limited else "none",
            "worse" if change.worse(limit) else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and exit with 1 if a tracked ratio got worse."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="*", metavar="FILE_OR_FOLDER")
    parser.add_argument("--limit", type=float, default=LIMIT)
    options = parser.parse_args(arguments)
    paths = options.paths or newest_pair()
    if len(paths) != 2:
        raise SystemExit("Two result files of the same processor are needed.")
    changes = compare(*map(read_side, paths))
    print(table(changes, options.limit))
    if any(change.worse(options.limit) for change in changes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
