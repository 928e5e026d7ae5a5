"""Compares several systems over the same questions: means, all paired differences, and letters."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.analysis.compare import SIGNIFICANT
from sgi.analysis.leaderboard_result import (
    Leaderboard,
    MetricLeaderboard,
    SystemClasses,
    SystemDifference,
    SystemGroup,
    SystemScore,
)
from sgi.analysis.systems import MIN_SYSTEMS, in_unit
from sgi.engine.summarise import class_keys, in_order, on_mean_scale
from sgi.engine.summary import ratio_notes, without_interval
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label
from sgi.stats.intervals import NoInterval, interval_or_none
from sgi.stats.letters import compact_letters, rank_intervals
from sgi.stats.paired_tests import PairedDifference, holm, paired_differences, ratio_difference
from sgi.store.row_query import group_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.systems import Systems
    from sgi.engine.run import Run

    Tested = Sequence[tuple[PairedDifference, float | None]]
    Units = NDArray[np.bool_]
    RowClasses = dict[str, list[tuple[NDArray[np.int64], list[str | None]]]]
    """For each metric and system, the unit and the class of each answer."""

_MANY_LEFT_OUT = 0.1
"""A note names a metric if more than this share of the units has no value for some system."""


def leaderboard(systems: Systems, *, metrics: Sequence[str] = (), within: str | None = None) -> Leaderboard:
    """Rank systems on each metric, with the paired difference of each pair of systems.

    Only units that have a value for every compared system count, so that their means are over the same
    questions and the differences add up. A system without any value of a metric, such as a method without
    passages, or with other parts of a composite metric, is not compared on it. The p-values are corrected by
    Holm for all pairs and all metrics, also those that ``metrics`` does not select. Systems share a letter if
    their difference is not significant (0.05). The rank interval of a system is from 1 + the significantly
    better ones to k − the significantly worse ones, of k compared systems, so letters and ranks cannot
    disagree; see `rank_intervals`.

    ``within`` is a column of the data: the systems are also ranked in each of its groups, with p corrected
    for all pairs, metrics and groups.

    Raises:
        UnknownNameError: one of ``metrics`` is not a metric of the systems, or no row has the column.
        UsageError: the column has more than 50 values.

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
    classes = _row_classes(systems, selected)
    masks = {} if within is None else systems.groups(within)
    everything = np.ones(len(systems.clusters), dtype=np.bool_)
    results = tuple(one for one in _rank(systems, [everything]) if one.metric in selected)
    in_groups = iter(_rank(systems, [*masks.values()]))
    groups = tuple(
        SystemGroup(
            group,
            int(units.sum()),
            tuple(one for one in islice(in_groups, len(systems.values)) if one.metric in selected),
            _class_counts(classes, systems.names, units),
        )
        for group, units in masks.items()
    )
    return Leaderboard(
        systems=systems.names,
        unit=systems.unit,
        units=len(everything),
        metrics=results,
        classes=_class_counts(classes, systems.names, everything),
        within=within,
        groups=groups,
        notes=tuple(_notes(systems, results)),
    )


def _notes(systems: Systems, results: Sequence[MetricLeaderboard]) -> Iterator[str]:
    yield from systems.notes
    for metric in results:
        yield from systems.apart.get(metric.metric, {}).values()
    for name in systems.names:
        lacking = [
            metric_label(one.metric)
            for one in results
            for score in one.systems
            if score.system == name and not score.ok
        ]
        if lacking:
            yield f"{name} has no value of {', '.join(lacking)}, and is not compared on it."
    for metric in results:
        yield from _left_out(metric, len(systems.clusters), systems.unit)
    yield from ratio_notes(results)
    yield from without_interval(((one.metric, one.no_letters) for one in results), what="letters")
    for metric in results:
        yield from _certain(metric)


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


class _Block(NamedTuple):
    """The systems on one metric, over the units that have a value for every system with values.

    Attributes:
        among: the units of the group, as a mask.
        units: those of them that are compared, as a mask.
        order: the systems with values, best mean first; in the given order without a common unit.
        absent: the systems that are not compared: without any value, or with other parts of a composite.
    """

    metric: str
    among: Units
    units: Units
    order: list[int]
    absent: list[int]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of places in the order."""
        return [*combinations(range(len(self.order)), 2)]


def _block(systems: Systems, metric: str, among: Units) -> _Block:
    values = systems.values[metric]
    apart = np.isin(np.arange(len(systems.names)), [*systems.apart.get(metric, ())])
    has_value = np.isfinite(values[among]).any(axis=0) & ~apart
    present, absent = np.flatnonzero(has_value), np.flatnonzero(~has_value).tolist()
    units = among & np.isfinite(values[:, present]).all(axis=1) & bool(len(present))
    if units.any():
        means = values[units][:, present].mean(axis=0)
        worse = -means if systems.columns[metric].higher_is_better else means
        present = present[np.argsort(worse, kind="stable")]
    return _Block(metric, among, units, present.tolist(), absent)


def _rank(systems: Systems, groups: Sequence[Units]) -> list[MetricLeaderboard]:
    """Rank the systems on each metric in each group of units; p is corrected for all of them."""
    blocks = [_block(systems, metric, among) for among in groups for metric in systems.values]
    columns = [
        np.where(block.units, systems.values[block.metric][:, system], np.nan)
        for block in blocks
        for system in block.order
    ]
    starts = np.cumsum([0, *(len(block.order) for block in blocks)]).tolist()
    pairs = [
        (start + one, start + two)
        for start, block in zip(starts, blocks, strict=False)
        for one, two in block.pairs
    ]
    if not pairs:
        return [_metric_leaderboard(systems, block, (), 0) for block in blocks]
    results = paired_differences(
        np.column_stack([columns[first] for first, _ in pairs]),
        np.column_stack([columns[second] for _, second in pairs]),
        systems.clusters,
        ranges=[on_mean_scale(systems.columns[block.metric]).width for block in blocks for _ in block.pairs],
    )
    tested = iter(zip(results, holm([result.p for result in results]), strict=True))
    tests = sum(result.p is not None for result in results)
    return [
        _metric_leaderboard(systems, block, tuple(islice(tested, len(block.pairs))), tests)
        for block in blocks
    ]


def _metric_leaderboard(systems: Systems, block: _Block, tested: Tested, tests: int) -> MetricLeaderboard:
    column, names = systems.columns[block.metric], [systems.names[system] for system in block.order]
    differences = tuple(
        SystemDifference(names[one], names[two], ratio_difference(test) if column.is_ratio else test, p)
        for (one, two), (test, p) in zip(block.pairs, tested, strict=True)
    )
    better = np.zeros((len(names), len(names)), dtype=np.bool_)  # the first of a pair has the better mean
    for pair, one in zip(block.pairs, differences, strict=True):
        better[pair] = one.is_significant
    reason = _untested(differences)
    if len(names) < MIN_SYSTEMS:
        reason = f"only {names[0]} can be compared" if names else "no system has values"
    elif not reason and not better.any():
        reason = _nothing_can_differ(systems.clusters[block.units], systems.unit, tests)
    letters = ("",) * len(names) if reason else compact_letters(better | better.T)
    ranks = (None,) * len(names) if reason else rank_intervals(better)
    marks = [*zip(letters, ranks, strict=True), *[("", None)] * len(block.absent)]
    return MetricLeaderboard(
        metric=block.metric,
        higher_is_better=column.higher_is_better,
        units=int(block.units.sum()),
        systems=tuple(
            _score(systems, block, system, *mark)
            for system, mark in zip([*block.order, *block.absent], marks, strict=True)
        ),
        differences=differences,
        is_share=column.is_share,
        is_ratio=column.is_ratio,
        no_letters=reason,
    )


def _score(
    systems: Systems, block: _Block, system: int, letters: str, ranks: tuple[int, int] | None
) -> SystemScore:
    """Return the mean of a system over the compared units, and the number of its rows with a value."""
    rows = systems.answers_of(system, block.among)
    scored = systems.runs[system].metrics.get(block.metric)
    ok = 0 if scored is None else int(scored.ok[rows].sum())
    name, column = systems.names[system], systems.columns[block.metric]
    of_system = systems.values[block.metric][:, system]
    units = block.among & np.isfinite(of_system) if system in block.absent else block.units
    if system in block.absent and not units.any():
        return SystemScore(name, None, None, ok, len(rows), "", "the system has no value")
    values = of_system[units]
    mean = float(values.mean()) if len(values) else None
    mean, interval = in_unit(column, mean, values, systems.clusters[units])
    why = interval.reason if isinstance(interval, NoInterval) else ""
    return SystemScore(name, mean, interval_or_none(interval), ok, len(rows), letters, why, ranks)


def _row_classes(systems: Systems, metrics: set[str]) -> RowClasses:
    """Read the classes of all answers once, for each metric with classes."""
    unit, of, row = systems.answers.T
    return {
        metric: [
            (unit[of == system], _classes_of(run, metric, key, row[of == system]))
            for system, run in enumerate(systems.runs)
        ]
        for metric, key in class_keys(name for name in systems.values if name in metrics).items()
    }


def _classes_of(run: Run, metric: str, key: str, rows: NDArray[np.int64]) -> list[str | None]:
    """Return the class of some rows; ``key`` is the detail of the metric that holds it."""
    if run.read_details is None or metric not in run.metrics:
        return [None] * len(rows)
    return [group_name(details.get(key)) for _, details in run.read_details(metric, rows.tolist())]


def _class_counts(classes: RowClasses, names: Sequence[str], units: Units) -> tuple[SystemClasses, ...]:
    """Count the classes of the answers of each system to some units, for each metric with classes."""
    tables = []
    for metric, by_system in classes.items():
        counts = [
            Counter(name for is_in, name in zip(units[unit], found, strict=True) if is_in and name)
            for unit, found in by_system
        ]
        if total := sum(counts, Counter[str]()):
            of_systems = dict(zip(names, map(dict, counts), strict=True))
            tables.append(SystemClasses(metric, tuple(in_order(metric, total)), of_systems))
    return tuple(tables)


def _untested(pairs: Sequence[SystemDifference]) -> str:
    """Return why the first pair without p has none, with its names if not all pairs lack p; else ""."""
    untested = [one for one in pairs if one.adjusted_p is None]
    if not untested:
        return ""
    names = "" if len(untested) == len(pairs) else f" ({untested[0].first} and {untested[0].second})"
    return f"{untested[0].difference.no_interval}{names}"


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
            f"{metric.metric}: only {metric.units:,} of {total:,} {unit}s have a value for each"
            " compared system. The means are over these."
        )
