"""Benchmark harness: figures, timing and the command line of a benchmark.

A benchmark is a script with a function ``measure(*, quick)`` that yields figures. It ends with
``benchmark_main(measure)``, which prints the table of the figures. ``run.py`` runs all benchmarks.

    def measure(*, quick: bool) -> Iterator[Figure]:
        times = time_alternately({"ours": ours, "peer": theirs}, repeats=3 if quick else 7)
        yield rate_figure("ROUGE-L, 10,000 pairs", "pairs/s", times, 10_000, beside="rouge-score", wanted=20)

    if __name__ == "__main__":
        benchmark_main(measure)
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
from dataclasses import asdict, dataclass, field
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

REPEATS = 5
"""Measurements per median."""


class Measure(Protocol):
    """The function of a benchmark; with ``quick`` it takes seconds and only shows that it works."""

    def __call__(self, *, quick: bool) -> Iterable[Figure]:
        """Yield each figure as soon as it is measured."""
        ...


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated measurements of the same work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    The result is compared with a peer (another tool that does the same work) or with a bound (the limit of
    the machine). The ratio to a peer says how many times better our result is. The ratio to a bound is our
    result divided by the bound.

    Attributes:
        work: What was measured, with its size.
        unit: Unit of both values, such as ``texts/s`` or ``s``.
        ours: Our median; None if it was not measured, and ``note`` says why.
        peer: Median of the peer, or the bound; None if it was not measured.
        beside: Name of the peer or of the bound; empty if there is no comparison.
        is_bound: Whether ``peer`` is a bound.
        wanted: Target of the ratio, or of our result if there is no comparison; None for no target.
        higher_is_better: False for times and memory.
        note: Additional facts, such as a cosine, or why a value is missing.
        repeats: Every measurement behind the medians, under ``ours`` and ``peer`` or other names.
    """

    work: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    beside: str = ""
    is_bound: bool = False
    wanted: float | None = None
    higher_is_better: bool = True
    note: str = ""
    repeats: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.peer is not None and not self.beside:
            raise ValueError(f"{self.work}: `peer` has a value, so `beside` must name it")

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer, or our share of the bound; None if a value is missing."""
        if self.ours is None or self.peer is None:
            return None
        ours_first = self.higher_is_better or self.is_bound
        return self.ours / self.peer if ours_first else self.peer / self.ours

    @property
    def at_least(self) -> bool:
        """Whether the target is a minimum; otherwise it is a maximum."""
        return self.higher_is_better or (bool(self.beside) and not self.is_bound)

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without a target or a measurement."""
        value = self.ratio if self.beside else self.ours
        if self.wanted is None or value is None:
            return None
        return value >= self.wanted if self.at_least else value <= self.wanted

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Figure:
        """Read the line that :meth:`to_json` returns."""
        return cls(**json.loads(line))


def time_alternately(
    work: Mapping[str, Callable[[], object]], repeats: int = REPEATS, *, warm: int = 1
) -> dict[str, Timing]:
    """Time the functions in turn, so that other load on the machine affects all of them.

    Args:
        work: functions by name. If one returns a float, this is its time in seconds, measured by itself.
        repeats: measurements of each function.
        warm: rounds before the measurements.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(warm + repeats):
        for name, function in work.items():
            start = perf_counter()
            output = function()
            duration = output if isinstance(output, float) else perf_counter() - start
            if turn >= warm:
                seconds[name].append(duration)
    return {name: Timing(tuple(durations)) for name, durations in seconds.items()}


def processor_time(function: Callable[[], object], rounds: int = 1) -> Callable[[], float]:
    """Return a function that measures itself: it returns the seconds of processor time per call.

    Other load changes them less than the time on the clock. ``rounds`` calls are one measurement, for
    functions that take a few milliseconds.
    """

    def measured() -> float:
        gc.collect()  # otherwise only some measurements contain a full collection
        start = process_time()
        for _ in range(rounds):
            function()
        return (process_time() - start) / rounds

    return measured


def seconds_of(times: Mapping[str, Timing]) -> dict[str, tuple[float, ...]]:
    """Return all measurements in the form of ``Figure.repeats``."""
    return {name: timing.seconds for name, timing in times.items()}


def rate_figure(
    work: str, unit: str, times: Mapping[str, Timing], count: int, *, peer_count: int = 0, **options: Any
) -> Figure:
    """Return how many units ``ours`` and ``peer`` do per second; a peer without times was not measured."""
    counts = {"ours": count, "peer": peer_count or count}
    rates = {
        name: tuple(count / second for second in times[name].seconds)
        for name, count in counts.items()
        if name in times
    }
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return Figure(work, unit, medians["ours"], medians.get("peer"), repeats=rates, **options)


def benchmark_main(measure: Measure) -> None:
    """Run a benchmark as a script: print a table, or one line of JSON per figure with ``--json``."""
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="use little data: tests that it runs, not how fast"
    )
    parser.add_argument("--json", action="store_true", help="print one figure per line, for run.py")
    options = parser.parse_args()
    figures = measure(quick=options.quick)
    if options.json:
        for figure in figures:
            print(figure.to_json(), flush=True)
    else:
        from table import show

        show(list(figures))
