"""Means of several systems by group of questions, such as the question type."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.groups import NO_GROUP
from sgi.engine.summarise import on_mean_scale, ratio_interval
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_repr import short_repr
from sgi.stats.intervals import Interval, interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.ratios import ratio_of
from sgi.store.row_query import group_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from sgi.analysis.systems import Systems

MAX_GROUPS = 50
"""A column with more values than this does not group the questions."""


@dataclass(frozen=True)
class GroupMean:
    """Mean of one system in one group.

    Attributes:
        system: its name.
        mean: the mean over the units of the group that have a value for every system; None without units.
        interval: the confidence interval of the mean; None if it cannot be computed.
        best: whether no other system has a better mean in this group; false if all means are equal.
        worst: whether no other system has a worse mean in this group; false if all means are equal.
    """

    system: str
    mean: float | None
    interval: Interval | None
    best: bool
    worst: bool


@dataclass(frozen=True)
class SystemGroup:
    """The systems on one metric in one group; ``units`` have a value for every system.

    Attributes:
        group: the value of the column.
        units: number of rows or questions that have a value for every system.
        systems: the mean of each system.
    """

    group: str
    units: int
    systems: tuple[GroupMean, ...]


@dataclass(frozen=True)
class SystemGroups:
    """The systems by group of questions.

    Attributes:
        column: the column that holds the group.
        metrics: for each metric its groups, in the order in which they first appear.
        is_share: the metrics whose values are shares.
    """

    column: str
    metrics: Mapping[str, tuple[SystemGroup, ...]]
    is_share: frozenset[str] = frozenset()

    __repr__ = short_repr


def group_means(systems: Systems, column: str, metrics: Collection[str]) -> SystemGroups:
    """Return the mean of each system in each group of questions; a metadata column names the group.

    The groups are not tested: with many small groups, the best system of a group is often best by chance.

    Raises:
        UnknownNameError: no question has the column.
        UsageError: the column has more than 50 values.
    """
    groups = _groups(systems, column)
    names = [name for name in systems.values if name in metrics]
    return SystemGroups(
        column=column,
        metrics={
            name: tuple(_group(systems, name, group, units) for group, units in groups.items())
            for name in names
        },
        is_share=frozenset(name for name in names if systems.columns[name].is_share),
    )


def _groups(systems: Systems, column: str) -> dict[str, NDArray[np.int64]]:
    by_system = [systems.samples(system) for system in range(len(systems.names))]
    samples = [next(filter(None, of_unit)) for of_unit in zip(*by_system, strict=True)]
    known = dict.fromkeys(key for sample in samples for key in sample.metadata)
    if column not in known:
        raise UnknownNameError("column", column, hint=f"The data has: {', '.join(known) or 'no columns'}.")
    groups: dict[str, list[int]] = defaultdict(list)
    for unit, sample in enumerate(samples):
        groups[group_name(sample.metadata.get(column)) or NO_GROUP].append(unit)
    if len(groups) > MAX_GROUPS:
        raise UsageError(
            f"The column {column} has {len(groups):,} values; at most {MAX_GROUPS} groups can be compared."
        )
    return {name: np.array(units, dtype=np.int64) for name, units in groups.items()}


def _group(systems: Systems, metric: str, group: str, units: NDArray[np.int64]) -> SystemGroup:
    column = systems.columns[metric]
    values, clusters = systems.values[metric][units], systems.clusters[units]
    complete = np.isfinite(values).all(axis=1)
    values, clusters = values[complete], clusters[complete]
    means = values.mean(axis=0) if len(values) else np.full(len(systems.names), np.nan)
    scale = on_mean_scale(column)
    best, worst = (means.max(), means.min()) if column.higher_is_better else (means.min(), means.max())
    result = []
    for place, (system, mean) in enumerate(zip(systems.names, means.tolist(), strict=True)):
        interval = mean_interval(values[:, place], clusters, low=scale.low, high=scale.high)
        if column.is_ratio:
            interval = ratio_interval(interval)
        known = bool(len(values))
        marks = (known and bool(best != worst) and bool(means[place] == end) for end in (best, worst))
        shown = (ratio_of(mean) if column.is_ratio else mean) if known else None
        result.append(GroupMean(system, shown, interval_or_none(interval), *marks))
    return SystemGroup(group, len(values), tuple(result))
