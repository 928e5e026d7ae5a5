"""Compares several systems over the same questions: means, all paired differences, and letters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.compare import SIGNIFICANT
from sgi.engine.summarise import on_mean_scale, ratio_interval
from sgi.engine.summary import NotebookRepr, ratio_notes, without_interval
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_repr import short_repr
from sgi.stats.intervals import Interval, NoInterval, interval_or_none
from sgi.stats.letters import compact_letters, rank_intervals
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import PairedDifference, holm, paired_differences, ratio_difference
from sgi.stats.ratios import ratio_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.systems import Systems

_MANY_LEFT_OUT = 0.1
"""A note names a metric if more than this share of the units has no value for some system."""


@dataclass(frozen=True)
class SystemScore:
    """One system on one metric.

    Attributes:
        system: its name.
        mean: the mean over the units that have a value for every system; None without such units.
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


@dataclass(frozen=True)
class MetricLeaderboard:
    """All systems on one metric.

    Attributes:
        metric: its canonical string.
        higher_is_better: the direction.
        units: number of rows or questions that have a value for every system; only these are compared.
        systems: the systems, best mean first.
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
    def has_ranks(self) -> bool:
        """Whether ranks are printed: those of two systems say the same as their letters."""
        return len(self.systems) > 2 and not self.no_letters  # noqa: PLR2004


@dataclass(frozen=True)
class Leaderboard(NotebookRepr):
    """Several systems over the same questions.

    Attributes:
        systems: their names, in the order given.
        unit: what is paired: ``row`` or ``question``.
        units: number of rows or questions.
        metrics: the result of each metric.
        notes: assumptions, and what is left out.
    """

    systems: tuple[str, ...]
    unit: str
    units: int
    metrics: tuple[MetricLeaderboard, ...]
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the leaderboard as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{len(self.systems)} systems, {self.units:,} {self.unit}s"]
        for metric in self.metrics:
            lines += ["", f"{metric.metric} ({metric.units:,} {self.unit}s)"]
            lines += [_line(score, ranked=metric.has_ranks) for score in metric.systems]
        return "\n".join([*lines, "", *self.notes])


def _line(score: SystemScore, *, ranked: bool) -> str:
    ends = "–" if score.interval is None else f"[{score.interval.low:.4f}, {score.interval.high:.4f}]"
    mean = "–" if score.mean is None else f"{score.mean:.4f}"
    rank = f"  rank {score.rank_text}" if ranked else ""
    return f"  {score.system:<24}{mean:>9}{ends:>20}  {score.letters}{rank}"


def leaderboard(systems: Systems, *, metrics: Sequence[str] = (), level: float = 0.95) -> Leaderboard:
    """Rank systems on each metric, with the paired difference of each pair of systems.

    Only units that have a value for every system are compared, so that all means are over the same questions
    and the differences add up. The p-values are corrected by Holm for all pairs and all metrics, also those
    that ``metrics`` does not select. Systems share a letter if their difference is not significant (0.05).
    The rank interval of a system is from 1 + the significantly better ones to k − the significantly worse
    ones, so letters and ranks cannot disagree; see `rank_intervals`.

    Raises:
        UnknownNameError: one of ``metrics`` is not a metric of the systems.

    >>> from sgi.analysis.systems import systems_of_runs
    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> def run(name, *values):
    ...     column = MetricColumn("rouge_l", np.array(values) / 8, np.zeros(8, dtype=np.int8), 0.0, 1.0)
    ...     return Run.of(name, "abcdefgh", [column])
    >>> old, new = run("old", 1, 2, 2, 1, 3, 2, 2, 1), run("new", 5, 8, 7, 6, 8, 6, 7, 5)
    >>> result = leaderboard(systems_of_runs([old, new, run("other", 1, 3, 2, 1, 2, 2, 1, 1)]))
    >>> [(score.system, score.letters) for score in result.metrics[0].systems]
    [('new', 'a'), ('old', 'b'), ('other', 'b')]
    >>> [score.ranks for score in result.metrics[0].systems]
    [(1, 1), (2, 3), (2, 3)]
    """
    selected = selected_metrics(systems, metrics)
    compared = {name: ~np.isnan(values.sum(axis=1)) for name, values in systems.values.items()}
    order = {name: _best_first(systems, name, compared[name]) for name in compared}
    tested = _differences(systems, compared, order, level)
    results = tuple(
        _metric_leaderboard(systems, name, compared[name], order[name], tested, level)
        for name in compared
        if name in selected
    )
    no_letters = without_interval(((one.metric, one.no_letters) for one in results), what="letters")
    notes = (*systems.notes, *_left_out(systems, results), *ratio_notes(results), *no_letters)
    notes = (*notes, *filter(None, map(_certain, results)))
    return Leaderboard(systems.names, systems.unit, len(systems.clusters), results, notes)


def selected_metrics(systems: Systems, metrics: Sequence[str]) -> set[str]:
    """Return the canonical strings of metrics given with or without parameters; all metrics if empty."""
    names = set(systems.values)
    selected: set[str] = set()
    for metric in metrics:
        matches = {metric} & names or {name for name in names if metric_name(name) == metric}
        if not matches:
            raise UnknownNameError(
                "metric of the systems", metric, hint=f"They have: {', '.join(systems.values)}."
            )
        selected |= matches
    return selected or names


def _best_first(systems: Systems, metric: str, units: NDArray[np.bool_]) -> list[int]:
    """Return the systems, best mean first; in the given order without a common unit."""
    if not units.any():
        return list(range(len(systems.names)))
    means = systems.values[metric][units].mean(axis=0)
    sign = -1.0 if systems.columns[metric].higher_is_better else 1.0
    return [int(place) for place in np.argsort(sign * means, kind="stable")]


def _differences(
    systems: Systems, compared: Mapping[str, NDArray[np.bool_]], order: Mapping[str, list[int]], level: float
) -> dict[str, list[tuple[PairedDifference, float | None]]]:
    """Return, for each metric, the difference and adjusted p of each pair of systems in its order."""
    pairs = list(combinations(range(len(systems.names)), 2))
    first, second, ranges = [], [], []
    for metric, values in systems.values.items():
        ranked = np.where(compared[metric][:, None], values, np.nan)[:, order[metric]]
        first.append(ranked[:, [one for one, _ in pairs]])
        second.append(ranked[:, [two for _, two in pairs]])
        ranges += [on_mean_scale(systems.columns[metric]).width] * len(pairs)
    results = paired_differences(
        np.hstack(first),
        np.hstack(second),
        systems.clusters,
        ranges=ranges,
        level=level,
    )
    tested = iter(zip(results, holm([result.p for result in results]), strict=True))
    return {metric: list(islice(tested, len(pairs))) for metric in systems.values}


def _metric_leaderboard(
    systems: Systems,
    metric: str,
    units: NDArray[np.bool_],
    order: Sequence[int],
    all_tested: Mapping[str, Sequence[tuple[PairedDifference, float | None]]],
    level: float,
) -> MetricLeaderboard:
    column, tested = systems.columns[metric], all_tested[metric]
    names = [systems.names[system] for system in order]
    pairs = list(combinations(range(len(names)), 2))
    better = np.zeros((len(names), len(names)), dtype=np.bool_)  # the first of a pair has the better mean
    for pair, (_, p) in zip(pairs, tested, strict=True):
        better[pair] = p is not None and p < SIGNIFICANT
    reason = next((one.no_interval for one, p in tested if p is None), "")
    if not reason and not better.any():
        tests = sum(p is not None for each in all_tested.values() for _, p in each)
        reason = _nothing_can_differ(systems.clusters[units], systems.unit, tests)
    letters = ("",) * len(names) if reason else compact_letters(better | better.T)
    ranks = (None,) * len(names) if reason else rank_intervals(better)
    return MetricLeaderboard(
        metric=metric,
        higher_is_better=column.higher_is_better,
        units=int(units.sum()),
        systems=tuple(
            _system_score(systems, metric, system, units, marks, level)
            for system, marks in zip(order, zip(letters, ranks, strict=True), strict=True)
        ),
        differences=tuple(
            SystemDifference(names[one], names[two], ratio_difference(test) if column.is_ratio else test, p)
            for (one, two), (test, p) in zip(pairs, tested, strict=True)
        ),
        is_share=column.is_share,
        is_ratio=column.is_ratio,
        no_letters=reason,
    )


def _nothing_can_differ(clusters: NDArray[np.int64], unit: str, tests: int) -> str:
    """Return a reason if not even a difference of the whole scale in each unit would be significant."""
    (largest,) = paired_differences(np.zeros(len(clusters)), np.ones(len(clusters)), clusters, ranges=[1.0])
    if largest.p is not None and largest.p * tests < SIGNIFICANT:
        return ""
    return f"with {tests:,} tests, {len(clusters):,} {unit}s cannot show even a difference of the whole scale"


def _certain(metric: MetricLeaderboard) -> str:
    """Return a note on the systems with one value each that differ, for a metric without known ends."""
    pairs = [f"{one.first} and {one.second}" for one in metric.differences if one.difference.p == 0]
    return (
        f"{metric.metric}: the difference is certain: {', '.join(pairs)} have one value each."
        if pairs
        else ""
    )


def _system_score(
    systems: Systems,
    metric: str,
    system: int,
    units: NDArray[np.bool_],
    marks: tuple[str, tuple[int, int] | None],
    level: float,
) -> SystemScore:
    """Return the mean of a system; ``marks`` are its letters and ranks."""
    column = systems.columns[metric]
    scale, values = on_mean_scale(column), systems.values[metric][units, system]
    ok, rows = systems.coverage[metric][system]
    mean = float(values.mean()) if len(values) else None
    interval = mean_interval(values, systems.clusters[units], low=scale.low, high=scale.high, level=level)
    if column.is_ratio:
        mean, interval = None if mean is None else ratio_of(mean), ratio_interval(interval)
    reason = interval.reason if isinstance(interval, NoInterval) else ""
    (letters, ranks), name = marks, systems.names[system]
    return SystemScore(name, mean, interval_or_none(interval), ok, rows, letters, reason, ranks)


def _left_out(systems: Systems, metrics: Sequence[MetricLeaderboard]) -> Iterator[str]:
    """Return a note on each metric that leaves out many units, since the others are then a selection."""
    total = len(systems.clusters)
    for metric in metrics:
        if metric.units < (1 - _MANY_LEFT_OUT) * total:
            yield (
                f"{metric.metric}: only {metric.units:,} of {total:,} {systems.unit}s have a value for every"
                " system. The means are over these."
            )
