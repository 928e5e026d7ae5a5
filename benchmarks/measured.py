"""One figure of the table: what was measured, beside what, and whether that is enough.

A piece of work is one script with a function ``measure(*, quick)`` that yields figures, and ends with
``piece(measure)``. Alone it prints its table; ``run.py`` runs all of them, each in a process of its own, and
joins their tables.

    def measure(*, quick: bool) -> Iterator[Figure]:
        times = by_turns({"ours": ours, "peer": theirs}, repeats=3 if quick else 7)
        yield Figure(
            "ROUGE-L, 10,000 pairs", "pairs/s", ours=n / times["ours"].median, peer=n / times["peer"].median,
            beside="rouge-score", wanted=20, repeats=seconds_of(times),
        )

    if __name__ == "__main__":
        piece(measure)
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

REPEATS = 5
"""Turns behind a median, at the least."""


class Measure(Protocol):
    """A piece of work: ``measure(quick=True)`` takes seconds, and shows little but that it runs."""

    def __call__(self, *, quick: bool) -> Iterable[Figure]:
        """The figures, told one by one as they are found."""
        ...


@dataclass(frozen=True)
class Timing:
    """Seconds of the same work, done several times."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, which stands for all."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The quickest: the nearest to a machine with nothing else to do."""
        return min(self.seconds)


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    What stands ``beside`` ours is a peer, another tool at the same work: the ratio then says how many times
    better ours is, and ``wanted`` is the least it should be. Or it is a bound, what the machine allows: the
    ratio is then ours over the bound. With nothing beside, ``wanted`` is held against ours.

    Attributes:
        work: What was done, with its size.
        unit: Of ours and of what stands beside, such as ``texts/s`` or ``s``.
        ours: Median of ours; None where it could not be measured, which ``note`` explains.
        peer: Median of the peer, or the bound, in the same unit; None where it could not be measured.
        beside: Name of the peer or of the bound; empty where nothing stands beside.
        is_bound: What stands beside is a bound.
        wanted: Of the ratio, or of ours; None where the figure only informs.
        higher_is_better: Of the unit: False for times and memory.
        note: What a reader must know, such as a cosine, or why something is missing.
        repeats: Every measurement behind the medians, by whose it is.
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
            raise ValueError(f"{self.work}: a number stands beside ours, and has no name")

    @property
    def ratio(self) -> float | None:
        """Times as good as the peer, or ours over the bound; None where one of the two is missing."""
        if self.ours is None or self.peer is None:
            return None
        upright = self.higher_is_better or self.is_bound
        return self.ours / self.peer if upright else self.peer / self.ours

    @property
    def at_least(self) -> bool:
        """Whether ``wanted`` is a floor; else it is a ceiling."""
        return self.higher_is_better or (bool(self.beside) and not self.is_bound)

    @property
    def met(self) -> bool | None:
        """Whether what was wanted was reached; None where nothing was wanted or nothing measured."""
        reached = self.ratio if self.beside else self.ours
        if self.wanted is None or reached is None:
            return None
        return reached >= self.wanted if self.at_least else reached <= self.wanted

    def to_json(self) -> str:
        """One line that :meth:`from_json` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Figure:
        """The figure that was written."""
        return cls(**json.loads(line))


def by_turns(
    work: Mapping[str, Callable[[], object]], repeats: int = REPEATS, *, warm: int = 1
) -> dict[str, Timing]:
    """Time each piece of work in turn, so that a busy moment of the machine meets all of them.

    A piece that returns a float took that many seconds by its own clock (a worker in another process does);
    anything else is timed here. ``warm`` rounds go before, uncounted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(warm + repeats):
        for name, do in work.items():
            began = perf_counter()
            told = do()
            took = told if isinstance(told, float) else perf_counter() - began
            if turn >= warm:
                seconds[name].append(took)
    return {name: Timing(tuple(found)) for name, found in seconds.items()}


def seconds_of(times: Mapping[str, Timing]) -> dict[str, tuple[float, ...]]:
    """All measurements, as a figure keeps them."""
    return {name: timing.seconds for name, timing in times.items()}


def peak_megabytes(*, children: bool = False) -> float:
    """The most memory this process, or its largest finished child, has held, in MB of 10⁶ bytes."""
    import resource

    whose = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    return resource.getrusage(whose).ru_maxrss * 1024 / 1e6


def piece(measure: Measure) -> None:
    """Run a piece of work as a script: a table of its figures, or one line of JSON each with ``--json``."""
    words = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--quick", action="store_true", help="less of it: shows that it runs, not how fast")
    words.add_argument("--json", action="store_true", help="one figure a line, for run.py")
    options = words.parse_args()
    figures = measure(quick=options.quick)
    if options.json:
        for figure in figures:
            print(figure.to_json(), flush=True)
    else:
        from table import show

        show(list(figures))
