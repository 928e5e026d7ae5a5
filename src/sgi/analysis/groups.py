"""Summaries by group of rows, such as the values of a metadata column."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.summarise import column_summary, in_order
from sgi.kernel.errors import UsageError
from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.scored_run import ScoredRun


NO_GROUP = "(none)"
"""Name of the group of the rows whose group is None."""


@dataclass(frozen=True)
class Group:
    """The summaries of one group: its name, number of rows, and metrics in the order of the run."""

    name: str
    rows: int
    metrics: tuple[MetricSummary, ...]

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON values."""
        return asdict(self) | {"metrics": [summary.to_dict() for summary in self.metrics]}


@dataclass(frozen=True)
class ClassTable:
    """The classes of one metric by group.

    Attributes:
        metric: its canonical string.
        classes: the classes that occur in any group, in the order of the metric.
        groups: the summary of each group, by name.
    """

    metric: str
    classes: tuple[str, ...]
    groups: Mapping[str, MetricSummary]


def class_tables(groups: Sequence[Group]) -> tuple[ClassTable, ...]:
    """Return a table for each metric with classes, in the order of the run."""
    by_metric: dict[str, dict[str, MetricSummary]] = {}
    for group in groups:
        for summary in group.metrics:
            by_metric.setdefault(summary.metric, {})[group.name] = summary
    tables = []
    for metric, summaries in by_metric.items():
        total = Counter[str]()
        for summary in summaries.values():
            total.update(summary.classes)
        if total:
            tables.append(ClassTable(metric, tuple(in_order(metric, total)), summaries))
    return tuple(tables)


def group_by(
    run: ScoredRun,
    groups: Sequence[str | None],
    *,
    classes: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[Group, ...]:
    """Summarise each group, in the order in which groups first appear.

    Args:
        run: the scores.
        groups: the group of each row, shape (n,); None is the group ``(none)``.
        classes: the class of each row, such as a letter grade, by metric, shape (n,); None without a class.

    Raises:
        UsageError: the number of groups or classes is not that of the rows.

    >>> from sgi.kernel.scored_run import MetricColumn, ScoredRun
    >>> column = MetricColumn("squad_em", np.array([1.0, 0.0, 1.0]), np.zeros(3, dtype=np.int8), 0.0, 1.0)
    >>> run = ScoredRun("last", 3, ("a", "b", "c"), np.arange(3), {"squad_em": column})
    >>> [(group.name, group.rows, group.metrics[0].mean) for group in group_by(run, ["bm25", None, "bm25"])]
    [('bm25', 2, 1.0), ('(none)', 1, 0.0)]
    """
    classes = classes or {}
    for name, labels in {"groups": groups, **classes}.items():
        if len(labels) != len(run.ids):
            message = f"{run.name} has {len(run.ids)} rows, but `{name}` has {len(labels)}."
            raise UsageError(message, hint="Give one value for each row, or None.")
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(NO_GROUP if group is None else group, []).append(row)
    return tuple(_group(run, name, members, classes) for name, members in rows.items())


def _group(
    run: ScoredRun, name: str, rows: Sequence[int], classes: Mapping[str, Sequence[str | None]]
) -> Group:
    part = run.take(np.array(rows, dtype=np.int64))
    counts = {
        metric: in_order(metric, Counter(filter(None, map(labels.__getitem__, rows))))
        for metric, labels in classes.items()
    }
    metrics = (
        replace(column_summary(column, part.clusters, part.weights), classes=counts.get(column.metric, {}))
        for column in part.metrics.values()
    )
    return Group(name=name, rows=len(rows), metrics=tuple(metrics))
