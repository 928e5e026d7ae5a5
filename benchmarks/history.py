"""Write the page of the performance history: the tracked ratios of all stored results, by processor.

    python benchmarks/history.py        # prints the page

A chart with its table for each tracked ratio and processor; the files are in ``benchmarks/results``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compare_results import figures, gain, processor, read
from line_chart import line_chart
from results import RESULTS
from table import number
from tracked import LIMIT, MAX_SPREAD, TRACKED, Tracked, tracked
from turns import spread, turns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness import Figure

_HEAD = """# Performance history

The benchmarks compare the speed of SGI with a **peer** (another tool that does the same work) or with a
**bound** (the least work that any program must do). A **ratio** says how many times faster SGI is than the
peer, or how many times longer it takes than the bound. SGI and the peer run in turns on the same machine, so
a ratio depends less on the machine than a time does.

Compare ratios of **one processor** only: on another processor, the same code has other ratios. There are
{count} result files with tracked ratios:

{processors}

How to read the charts and tables:

* **Limit:** a pull request that makes a ratio worse by more than {limit} fails. The change must also be more
  than noise: its 95 % interval, a bootstrap of the turns, must not contain zero. The pull request measures
  both revisions on the same machine, so it needs none of the results on this page.
* **Spread:** the relative standard deviation of the ratios of the turns, estimated from the median absolute
  deviation. A ratio has no limit if it needs a peer that is not installed in CI, or if its spread is usually
  over {spread}: most of its changes are noise.
* **Change:** compared with the row above, with its interval. A plus is better.
* **Order:** by the date of the commit, the oldest first. The dates are those of the measurement. ROUGE-L and
  BLEU are measured in processor time since {processor_time}, and were measured in seconds on the clock
  before. Other work on the machine changes processor time less.
"""
_PROCESSOR_TIME = "2026-11-26"


class Point(NamedTuple):
    """A ratio of one result file."""

    date: str
    revision: str
    figure: Figure


def records(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the result files, ordered by the date of the measured commits."""
    return sorted(map(read, folder.glob("*.json")), key=lambda record: (record["committed"], record["date"]))


def series(some: Sequence[dict[str, Any]]) -> dict[Tracked, list[Point]]:
    """Return the points of each tracked ratio, in the order of the list of tracked ratios."""
    points: dict[Tracked, list[Point]] = {}
    for record in some:
        for figure in figures(record):
            found = tracked(figure.work, figure.beside)
            if found:
                point = Point(record["date"][:10], record["revision"], figure)
                points.setdefault(found, []).append(point)
    order = [each.script + each.work for each in TRACKED]
    return {
        each: points[each] for each in sorted(points, key=lambda each: order.index(each.script + each.work))
    }


def page(some: Sequence[dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    machines: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in some:
        if series([record]):
            machines.setdefault(processor(record), []).append(record)
    head = _HEAD.format(
        count=sum(map(len, machines.values())),
        processors="\n".join(
            f"* {name}, {cores} cores: {_measurements(len(some))}" for (name, cores), some in machines.items()
        ),
        limit=_percent(LIMIT),
        spread=_percent(MAX_SPREAD),
        processor_time=_PROCESSOR_TIME,
    )
    return head + "".join(
        f"\n## {name}, {cores} cores\n" + "".join(_sections(machines[name, cores]))
        for name, cores in machines
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _measurements(count: int) -> str:
    return "1 measurement" if count == 1 else f"{count} measurements"


def _sections(some: Sequence[dict[str, Any]]) -> Iterator[str]:
    for ratio, points in series(some).items():
        first = points[0].figure
        better = "A higher ratio is better." if first.at_least else "A lower ratio is better."
        kind = "Bound" if first.is_bound else "Peer"
        yield f"\n### {ratio.title}\n\n{kind}: {ratio.beside}. {better} {_limit(ratio)}\n\n"
        yield (
            f"{_chart(ratio, points)}\n\n"
            if len(points) > 1
            else "One measurement, so there is no trend yet.\n\n"
        )
        yield _table(ratio, points)


def _limit(ratio: Tracked) -> str:
    return (
        f"Limit: {_percent(LIMIT)}."
        if ratio.limited
        else "No limit: its spread is too large, or it needs a peer."
    )


def _chart(ratio: Tracked, points: Sequence[Point]) -> str:
    values = [_value(point) for point in points]
    before, last = points[-2].figure, values[-1]
    worse = 1 - LIMIT if before.at_least else 1 / (1 - LIMIT)
    name = f"{ratio.title}: from {number(values[0])} to {number(last)} times {ratio.beside}"
    bound = values[-2] * worse if ratio.limited else None
    chart = line_chart(values, [point.revision[:8] for point in points], name=name, bound=bound)
    legend = "\n\nThe dashed line is the limit for the last measurement." if ratio.limited else ""
    return f"{chart}{legend}"


def _value(point: Point) -> float:
    if point.figure.ratio is None:
        raise ValueError(f"{point.figure.work} has no ratio")
    return point.figure.ratio


def _table(ratio: Tracked, points: Sequence[Point]) -> str:
    lines = [
        "| date | revision | ratio | spread | change (95 % interval) | limit |",
        "|---|---|---|---|---|---|",
    ]
    for before, point in zip([None, *points], points, strict=False):
        turns = turns_of(point.figure)
        cells = (
            point.date,
            f"`{point.revision}`",
            f"{number(_value(point))} ×",
            "–" if turns is None else f"{spread(turns):.1%}",
            "–" if before is None else str(gain([before.figure], [point.figure])),
            f"{-LIMIT:.0%}" if ratio.limited else "none",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(records()), end="")
