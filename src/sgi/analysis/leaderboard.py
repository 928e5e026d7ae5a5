"""Compares several systems over the same questions: means, all paired differences, and letters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.compare import SIGNIFICANT
from sgi.analysis.systems import in_unit
from sgi.engine.summarise import on_mean_scale
from sgi.engine.summary import NotebookRepr, ratio_notes, without_interval
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import short_repr
from sgi.stats.intervals import Interval, NoInterval, interval_or_none
from sgi.stats.letters import compact_letters, rank_intervals
from sgi.stats.paired_tests import PairedDifference, holm, paired_differences, ratio_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.systems import Systems

    Tested = Sequence[tuple[PairedDifference, float | None]]

_MANY_LEFT_OUT = 0.1
"""A note names a metric if more than this share of the units has no value for some system."""


@dataclass(frozen=True)
class SystemScore:
    """The mean of one system on one metric, with its interval, letters and ranks.

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
        """Whether ranks are printed; for two systems they would only repeat the letters."""
        return len(self.systems) > 2 and not self.no_letters  # noqa: PLR2004


@dataclass(frozen=True)
class Leaderboard(NotebookRepr):
    """The ranking of several systems over the same questions.

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


def leaderboard(systems: Systems, *, metrics: Sequence[str] = ()) -> Leaderboard:
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
    complete = {name: ~np.isnan(values.sum(axis=1)) for name, values in systems.values.items()}
    order = {name: _best_first(systems, name, complete[name]) for name in complete}
    tested = _test_pairs(systems, complete, order)
    tests = sum(p is not None for pairs in tested.values() for _, p in pairs)
    results = tuple(
        _metric_leaderboard(systems, name, complete[name], order[name], tested[name], tests)
        for name in tested
        if name in selected
    )
    no_letters = without_interval(((one.metric, one.no_letters) for one in results), what="letters")
    notes = [note for metric in results for note in _left_out(metric, len(systems.clusters), systems.unit)]
    certain = [note for metric in results for note in _certain(metric)]
    notes = [*systems.notes, *notes, *ratio_notes(results), *no_letters, *certain]
    return Leaderboard(systems.names, systems.unit, len(systems.clusters), results, tuple(notes))


def selected_metrics(systems: Systems, metrics: Sequence[str]) -> set[str]:
    """Return the canonical strings of metrics given with or without parameters; all metrics if empty."""
    selected: set[str] = set()
    for metric in metrics:
        matches = {metric} & {*systems.values} or {
            name for name in systems.values if metric_name(name) == metric
        }
        if not matches:
            hint = f"They have: {', '.join(systems.values)}."
            raise UnknownNameError("metric of the systems", metric, hint=hint)
        selected |= matches
    return selected or {*systems.values}


def _best_first(systems: Systems, metric: str, units: NDArray[np.bool_]) -> list[int]:
    """Return the systems, best mean first; in the given order without a common unit."""
    if not units.any():
        return list(range(len(systems.names)))
    means = systems.values[metric][units].mean(axis=0)
    worse = -means if systems.columns[metric].higher_is_better else means
    order: list[int] = np.argsort(worse, kind="stable").tolist()
    return order


def _test_pairs(
    systems: Systems, complete: Mapping[str, NDArray[np.bool_]], order: Mapping[str, list[int]]
) -> dict[str, Tested]:
    """Return, for each metric, the difference and adjusted p of each pair of systems in its order."""
    first, second = map(list, zip(*combinations(range(len(systems.names)), 2), strict=True))
    ranked = [
        np.where(complete[metric][:, None], values, np.nan)[:, order[metric]]
        for metric, values in systems.values.items()
    ]
    widths = [on_mean_scale(systems.columns[metric]).width for metric in systems.values]
    results = paired_differences(
        np.hstack([values[:, first] for values in ranked]),
        np.hstack([values[:, second] for values in ranked]),
        systems.clusters,
        ranges=[width for width in widths for _ in first],
    )
    tested = iter(zip(results, holm([result.p for result in results]), strict=True))
    return {metric: list(islice(tested, len(first))) for metric in systems.values}


def _metric_leaderboard(
    systems: Systems,
    metric: str,
    units: NDArray[np.bool_],
    order: Sequence[int],
    tested: Tested,
    tests: int,
) -> MetricLeaderboard:
    column, names = systems.columns[metric], [systems.names[system] for system in order]
    pairs = list(combinations(range(len(names)), 2))
    differences = tuple(
        SystemDifference(names[one], names[two], ratio_difference(test) if column.is_ratio else test, p)
        for (one, two), (test, p) in zip(pairs, tested, strict=True)
    )
    better = np.zeros((len(names), len(names)), dtype=np.bool_)  # the first of a pair has the better mean
    for pair, one in zip(pairs, differences, strict=True):
        better[pair] = one.is_significant
    reason = next((one.no_interval for one, p in tested if p is None), "")
    if not reason and not better.any():
        reason = _nothing_can_differ(systems.clusters[units], systems.unit, tests)
    letters = ("",) * len(names) if reason else compact_letters(better | better.T)
    ranks = (None,) * len(names) if reason else rank_intervals(better)
    scores = []
    for place, system in enumerate(order):
        values = systems.values[metric][units, system]
        mean = float(values.mean()) if len(values) else None
        mean, interval = in_unit(column, mean, values, systems.clusters[units])
        why = interval.reason if isinstance(interval, NoInterval) else ""
        facts = mean, interval_or_none(interval), *systems.coverage[metric][system]
        scores.append(SystemScore(names[place], *facts, letters[place], why, ranks[place]))
    return MetricLeaderboard(
        metric=metric,
        higher_is_better=column.higher_is_better,
        units=int(units.sum()),
        systems=tuple(scores),
        differences=differences,
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


def _certain(metric: MetricLeaderboard) -> Iterator[str]:
    """Yield a note on the systems with one value each that differ, for a metric without known ends."""
    pairs = [f"{one.first} and {one.second}" for one in metric.differences if one.difference.p == 0]
    if pairs:
        yield f"{metric.metric}: the difference is certain: {', '.join(pairs)} have one value each."


def _left_out(metric: MetricLeaderboard, total: int, unit: str) -> Iterator[str]:
    """Yield a note if a metric leaves out many units, since the others are then a selection."""
    if metric.units < (1 - _MANY_LEFT_OUT) * total:
        yield (
            f"{metric.metric}: only {metric.units:,} of {total:,} {unit}s have a value for every"
            " system. The means are over these."
        )
