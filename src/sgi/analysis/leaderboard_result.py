"""The ranking of several systems: means, paired differences, letters and classes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.analysis.compare import SIGNIFICANT
from sgi.engine.summary import NotebookRepr
from sgi.kernel.short_text import pluralize, short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.stats.intervals import Interval
    from sgi.stats.paired_tests import PairedDifference


@dataclass(frozen=True)
class SystemScore:
    """The mean of one system on one metric, with its interval, letters and ranks.

    Attributes:
        system: its name.
        mean: the mean over the compared units; None without such units, or if the system has no value. A
            system that is not compared, since its values have other parts, has the mean of its own units.
        interval: the confidence interval of the mean; None if it cannot be computed.
        ok: its rows with a value, also those that are not compared.
        rows: all its rows.
        letters: two systems share a letter if their difference is not significant; empty without letters.
        no_interval: why there is no interval; empty if there is one.
        ranks: the lowest and the highest rank that the significant differences allow; 1 is the best. The
            ranks of all systems on all metrics hold together at 95 %. None without letters.
    """

    system: str
    mean: float | None
    interval: Interval | None
    ok: int
    rows: int
    letters: str
    no_interval: str = ""
    ranks: tuple[int, int] | None = None

    @property
    def rank_text(self) -> str:
        """The ranks in words: ``2``, or ``2 to 4``; empty without ranks."""
        return "" if self.ranks is None else " to ".join(map(str, dict.fromkeys(self.ranks)))


@dataclass(frozen=True)
class SystemDifference:
    """Difference of two systems on one metric: ``second`` − ``first``.

    Attributes:
        first: the first system.
        second: the second system.
        difference: the paired difference.
        adjusted_p: p, corrected by Holm for all pairs of systems and all metrics; None if there is none.
    """

    first: str
    second: str
    difference: PairedDifference
    adjusted_p: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the first system of the pair is significantly better."""
        return self.adjusted_p is not None and self.adjusted_p < SIGNIFICANT


@dataclass(frozen=True)
class MetricLeaderboard:
    """The ranking of all systems on one metric.

    Attributes:
        metric: its canonical string.
        higher_is_better: the direction.
        units: number of rows or questions that have a value for every system that has values at all, such
            as the methods that retrieve passages; only these are compared.
        systems: the systems, best mean first; those that are not compared come last.
        differences: all pairs; ``first`` has the better mean.
        is_share: whether the values are shares, which are displayed in percent.
        is_ratio: whether the metric is a ratio; see `MetricComparison`.
        no_letters: why the systems have no letters; empty if they have some.
    """

    metric: str
    higher_is_better: bool
    units: int
    systems: tuple[SystemScore, ...]
    differences: tuple[SystemDifference, ...]
    is_share: bool = False
    is_ratio: bool = False
    no_letters: str = ""

    @property
    def compared(self) -> frozenset[str]:
        """The systems that are compared; none if a single one has values."""
        return frozenset(name for one in self.differences for name in (one.first, one.second))

    @property
    def drawn(self) -> tuple[SystemScore, ...]:
        """The systems with a mean that charts show: those that are compared, or all if none is."""
        known = (score for score in self.systems if score.mean is not None)
        return tuple(score for score in known if not self.compared or score.system in self.compared)

    @property
    def has_ranks(self) -> bool:
        """Whether ranks are printed; for two systems they would only repeat the letters."""
        return sum(score.ranks is not None for score in self.systems) > 2  # noqa: PLR2004


@dataclass(frozen=True)
class SystemClasses:
    """The classes of the answers of each system on one metric, such as grades.

    Attributes:
        metric: its canonical string.
        classes: the classes that occur, in the order of the metric.
        counts: for each system the number of its answers by class.
    """

    metric: str
    classes: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class SystemGroup:
    """The systems in one group of questions, such as a question type.

    Attributes:
        name: the value of the column.
        units: number of rows or questions of the group.
        metrics: the ranking on each metric.
        classes: the classes of the answers, for each metric with classes.
    """

    name: str
    units: int
    metrics: tuple[MetricLeaderboard, ...]
    classes: tuple[SystemClasses, ...]


@dataclass(frozen=True)
class Leaderboard(NotebookRepr):
    """The ranking of several systems over the same questions.

    Attributes:
        systems: their names, in the order given.
        unit: what is paired: ``row`` or ``question``.
        units: number of rows or questions.
        metrics: the result of each metric.
        classes: the classes of the answers, for each metric with classes.
        within: the column that groups the questions; None without groups.
        groups: the systems in each group.
        notes: assumptions, and what is left out.
    """

    systems: tuple[str, ...]
    unit: str
    units: int
    metrics: tuple[MetricLeaderboard, ...]
    classes: tuple[SystemClasses, ...] = ()
    within: str | None = None
    groups: tuple[SystemGroup, ...] = ()
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the leaderboard as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{len(self.systems)} systems, {pluralize(self.units, self.unit)}"]
        for metric in self.metrics:
            lines += ["", f"{metric.metric} ({pluralize(metric.units, self.unit)})"]
            lines += [_line(score, ranked=metric.has_ranks) for score in metric.systems]
        return "\n".join([*lines, "", *self.notes])


def _line(score: SystemScore, *, ranked: bool) -> str:
    ends = "–" if score.interval is None else f"[{score.interval.low:.4f}, {score.interval.high:.4f}]"
    mean = "–" if score.mean is None else f"{score.mean:.4f}"
    rank = f"  rank {score.rank_text}" if ranked and score.ranks else ""
    return f"  {score.system:<24}{mean:>9}{ends:>20}  {score.letters}{rank}"
