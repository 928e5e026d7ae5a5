"""A run by groups of its rows: the same summary for each method, question type or any other column."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.summary import MetricSummary, metric_summary
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import RATIO
from sgi.kernel.registry import BUILT_IN, metric_class, metric_name
from sgi.kernel.short_repr import short_repr
from sgi.metrics.calibrated import SPEC as CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.metric import MetricSpec
    from sgi.kernel.scored import MetricColumn, ScoredRun

NO_GROUP = "(none)"
"""The name of the group of rows that have none."""


@dataclass(frozen=True)
class Group:
    """The rows of one group.

    Attributes:
        name: the value that they share.
        rows: how many there are.
        metrics: in the order of the run.
    """

    name: str
    rows: int
    metrics: tuple[MetricSummary, ...]

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """The group as JSON values."""
        return asdict(self) | {"metrics": [made.to_dict() for made in self.metrics]}


@dataclass(frozen=True)
class ClassTable:
    """The classes of one metric by group.

    Attributes:
        metric: its canonical string.
        classes: those that occur in any group, in the metric's own order.
        groups: its summary in each group, by the group's name.
    """

    metric: str
    classes: tuple[str, ...]
    groups: Mapping[str, MetricSummary]


def class_tables(groups: Sequence[Group]) -> tuple[ClassTable, ...]:
    """A table for each metric that has classes; the metrics are in the order of the run."""
    found: dict[str, dict[str, MetricSummary]] = {}
    for group in groups:
        for made in group.metrics:
            found.setdefault(made.metric, {})[group.name] = made
    tables = []
    for metric, by_group in found.items():
        total: Counter[str] = Counter()
        for made in by_group.values():
            total.update(made.classes)
        if total:
            tables.append(ClassTable(metric, tuple(in_order(metric, total)), by_group))
    return tuple(tables)


def in_order(metric: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of a metric's classes in the metric's own order; by count where it is not installed."""
    with suppress(UsageError):
        return _spec(metric).in_order(counts)
    return dict(Counter(counts).most_common())


def _spec(metric: str) -> MetricSpec:
    """The facts of a metric that is installed here, by its canonical string; raises UnknownNameError."""
    name = metric_name(metric)
    return CALIBRATED if name == CALIBRATED.name else metric_class(name).spec


def with_range(column: MetricColumn) -> MetricColumn:
    """The column with the range of the built-in metric of its name and version, where its own is not known.

    A column of another version, or of one that is not known, keeps its own range: its values may be on
    another scale.

    >>> from sgi.kernel.scored import MetricColumn
    >>> column = MetricColumn("squad_em", np.ones(3), np.zeros(3, dtype=np.int8), version=1)
    >>> column.is_share, with_range(column).is_share
    (False, True)
    """
    if column.name not in BUILT_IN:
        return column
    spec = metric_class(column.name).spec
    if spec.unit == RATIO and not column.unit:  # of every version, also those that did not say so
        column = replace(column, unit=RATIO)
    if column.version != spec.version:
        return column
    low = spec.low if column.low is None else column.low
    high = spec.high if column.high is None else column.high
    return replace(column, low=low, high=high, unit=spec.unit)


def class_keys(metrics: Iterable[str]) -> dict[str, str]:
    """Where the details of these metrics, by canonical string, name the class of a row.

    Those that have no classes, and those that are not installed here, are left out.

    >>> class_keys(["factual_accuracy", "rouge_l(beta=1.2)", "gone"])
    {'factual_accuracy': 'grade'}
    """
    found = {}
    for name in metrics:
        with suppress(UsageError):
            found[name] = _spec(name).category
    return {name: key for name, key in found.items() if key}


def column_summary(column: MetricColumn, clusters: NDArray[np.int64]) -> MetricSummary:
    """The summary of a metric of any run, also of one that was kept without the metric's range.

    The interval of the mean depends on the ends of the scale. Where the run does not know them, they are
    those of the built-in metric of that name, if there is one.

    Args:
        column: its values and statuses.
        clusters: rows with the same question share a number, shape (n,).
    """
    return metric_summary(with_range(column), clusters)


def grouped(
    run: ScoredRun,
    groups: Sequence[str | None],
    *,
    classes: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[Group, ...]:
    """The summaries of each group, in the order in which groups first appear.

    Args:
        run: the scores.
        groups: the group of each row, shape (n,); None stands under ``(none)``.
        classes: by metric, the class of each row (a letter grade, say), shape (n,); None where it has none.

    Raises:
        UsageError: groups or classes are not one for each row.

    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> column = MetricColumn("squad_em", np.array([1.0, 0.0, 1.0]), np.zeros(3, dtype=np.int8), 0.0, 1.0)
    >>> run = ScoredRun("last", 3, ("a", "b", "c"), np.arange(3), {"squad_em": column})
    >>> [(group.name, group.rows, group.metrics[0].mean) for group in grouped(run, ["bm25", None, "bm25"])]
    [('bm25', 2, 1.0), ('(none)', 1, 0.0)]
    """
    given = classes or {}
    for name, labels in {"groups": groups, **given}.items():
        if len(labels) != len(run.ids):
            hint = "Give one for each row, None where there is none."
            raise UsageError(f"{run.name} has {len(run.ids)} rows, but {name} has {len(labels)}.", hint=hint)
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(_named(group), []).append(row)
    return tuple(_group(run, name, members, given) for name, members in rows.items())


def _group(
    run: ScoredRun, name: str, rows: Sequence[int], classes: Mapping[str, Sequence[str | None]]
) -> Group:
    part = run.take(np.array(rows, dtype=np.int64))
    counts = {
        metric: in_order(metric, Counter(filter(None, map(labels.__getitem__, rows))))
        for metric, labels in classes.items()
    }
    metrics = (
        replace(column_summary(column, part.clusters), classes=counts.get(column.metric, {}))
        for column in part.metrics.values()
    )
    return Group(name=name, rows=len(rows), metrics=tuple(metrics))


def _named(value: str | None) -> str:
    return NO_GROUP if value is None else value
