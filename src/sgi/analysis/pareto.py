"""Pareto front of systems on two metrics, such as quality and cost, with the uncertainty of each pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sgi.engine.summary import NotebookRepr
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.leaderboard_result import Leaderboard, MetricLeaderboard
    from sgi.stats.intervals import Interval

Verdict = Literal["surely on the front", "perhaps on the front", "perhaps dominated", "surely dominated"]


@dataclass(frozen=True)
class ParetoMetric:
    """One of the two metrics of a Pareto front.

    Attributes:
        metric: its canonical string.
        higher_is_better: the direction.
        is_share: whether the values are shares, which are displayed in percent.
        units: number of rows or questions that have a value for every compared system.
    """

    metric: str
    higher_is_better: bool
    is_share: bool
    units: int


@dataclass(frozen=True)
class ParetoMean:
    """Mean of a system on one metric; ``interval`` is None if it cannot be computed.

    Attributes:
        mean: the mean.
        interval: its confidence interval; None if it cannot be computed.
    """

    mean: float
    interval: Interval | None


@dataclass(frozen=True)
class ParetoSystem:
    """The means of one system on both metrics, and whether it is on the front.

    Attributes:
        system: its name.
        quality: its mean on the first metric.
        cost: its mean on the second metric.
        verdict: whether the system is on the front, and how sure that is.
        others: the systems that make the verdict: those that surely dominate the system; those whose means
            dominate it; or those that could dominate it. Empty for ``surely on the front``.
    """

    system: str
    quality: ParetoMean
    cost: ParetoMean
    verdict: Verdict
    others: tuple[str, ...]


@dataclass(frozen=True)
class Pareto(NotebookRepr):
    """A Pareto front: systems on two metrics, and which of them no other system beats.

    Attributes:
        quality: the first metric.
        cost: the second metric.
        unit: what is paired: ``row`` or ``question``.
        systems: the systems, best mean of the first metric first.
        notes: assumptions.
    """

    quality: ParetoMetric
    cost: ParetoMetric
    unit: str
    systems: tuple[ParetoSystem, ...]
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the front as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.quality.metric} against {self.cost.metric}"]
        for one in self.systems:
            means = f"{one.quality.mean:>10.4f}{one.cost.mean:>12.4f}"
            lines.append(f"  {one.system:<24}{means}  {one.verdict}")
        return "\n".join([*lines, *self.notes])


def pareto(leaderboard: Leaderboard, quality: str, cost: str) -> Pareto:
    """Return which systems no other system beats on two metrics, each in its own direction.

    A system dominates another if its means are at least as good on both metrics, and better on one. The front
    has the systems that no other system dominates. Each verdict uses the paired tests of the leaderboard,
    which Holm corrects for all pairs and metrics (0.05):

    * ``surely dominated``: another system is significantly better on both metrics.
    * ``perhaps dominated``: the means of another system dominate it, but a difference is not significant.
    * ``surely on the front``: the system is significantly better than each other one on one of the metrics.
    * ``perhaps on the front``: no means dominate it, but another system could.

    Args:
        leaderboard: the systems, with both metrics.
        quality: the first metric, with or without parameters.
        cost: the second metric.

    Raises:
        UnknownNameError: the leaderboard has no such metric, or several.
        UsageError: the metrics are equal, no question has a value of a metric for all, or no two
            systems are compared on both metrics.

    >>> import numpy as np
    >>> from sgi.analysis.leaderboard import leaderboard
    >>> from sgi.analysis.systems import systems_of_runs
    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> def run(name, quality, cost):
    ...     codes, step = np.zeros(9, dtype=np.int8), np.arange(9) / 100 * quality
    ...     columns = [
    ...         MetricColumn("quality", quality + step, codes, 0.0, 1.0),
    ...         MetricColumn("cost", cost + step, codes, 0.0, 1.0, higher_is_better=False),
    ...     ]
    ...     return Run.of(name, "abcdefghi", columns)
    >>> runs = [run("large", 0.8, 0.7), run("small", 0.5, 0.1), run("old", 0.4, 0.3)]
    >>> board = leaderboard(systems_of_runs(runs))
    >>> [(one.system, one.verdict, one.others) for one in pareto(board, "quality", "cost").systems][1:]
    [('small', 'surely on the front', ()), ('old', 'surely dominated', ('small',))]
    """
    first, second = metrics = _metrics(leaderboard, quality, cost)
    across = {score.system: score for score in second.systems if score.system in second.compared}
    ranked = [score for score in first.systems if score.system in first.compared & across.keys()]
    if len(ranked) < 2:  # noqa: PLR2004 - a front compares systems
        raise UsageError(f"No two systems are compared on both {first.metric} and {second.metric}.")
    names = [score.system for score in ranked]
    systems = tuple(
        ParetoSystem(
            score.system,
            ParetoMean(score.mean or 0.0, score.interval),
            ParetoMean(across[score.system].mean or 0.0, across[score.system].interval),
            *_verdict(score.system, [name for name in names if name != score.system], metrics),
        )
        for score in ranked
    )
    facts = [ParetoMetric(one.metric, one.higher_is_better, one.is_share, one.units) for one in metrics]
    unit = leaderboard.unit
    return Pareto(facts[0], facts[1], unit, systems, tuple(_notes(first, second, unit, names)))


def _metrics(leaderboard: Leaderboard, quality: str, cost: str) -> list[MetricLeaderboard]:
    """Return two different metrics, each with values for every system."""
    first, second = metrics = [_metric(leaderboard, name) for name in (quality, cost)]
    if first.metric == second.metric:
        raise UsageError(f"A Pareto front needs two different metrics; {first.metric} is given twice.")
    for metric in metrics:
        if not metric.units:
            raise UsageError(f"No {leaderboard.unit} has a value of {metric.metric} for every system.")
    return metrics


def _metric(leaderboard: Leaderboard, name: str) -> MetricLeaderboard:
    exact = [one for one in leaderboard.metrics if one.metric == name]
    matches = exact or [one for one in leaderboard.metrics if metric_name(one.metric) == name]
    if len(matches) != 1:
        known = ", ".join(one.metric for one in leaderboard.metrics)
        raise UnknownNameError("metric of the systems", name, hint=f"They have: {known}.")
    return matches[0]


def _notes(
    first: MetricLeaderboard, second: MetricLeaderboard, unit: str, compared: Sequence[str]
) -> Iterator[str]:
    both = f"{first.metric} and {second.metric}"
    absent = (score.system for score in first.systems if score.system not in compared)
    yield from (f"{name} is not compared on both {both}." for name in absent)
    if first.units != second.units:
        other = f"{second.metric} over {second.units:,}"
        yield f"{first.metric} is compared over {first.units:,} {unit}s, {other}."


def _verdict(
    system: str, others: Sequence[str], metrics: Sequence[MetricLeaderboard]
) -> tuple[Verdict, tuple[str, ...]]:
    gains = [_gains(metric, system) for metric in metrics]
    better = [
        {(one.first, one.second) for one in metric.differences if one.is_significant} for metric in metrics
    ]
    sure = tuple(other for other in others if all((other, system) in pairs for pairs in better))
    if sure:
        return "surely dominated", sure
    by_means = tuple(
        other
        for other in others
        if max(gain[other] for gain in gains) <= 0 and min(gain[other] for gain in gains) < 0
    )
    if by_means:
        return "perhaps dominated", by_means
    possible = tuple(other for other in others if not any((system, other) in pairs for pairs in better))
    return ("perhaps on the front", possible) if possible else ("surely on the front", ())


def _gains(metric: MetricLeaderboard, system: str) -> dict[str, float]:
    """Return by how much the mean of a system is better than the mean of each system."""
    means = {score.system: score.mean for score in metric.systems if score.mean is not None}
    sign = 1 if metric.higher_is_better else -1
    return {other: (means[system] - mean) * sign for other, mean in means.items()}
