"""Summaries by group of rows: by method, question type or any other metadata column."""

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
    from sgi.kernel.scored import ScoredRun


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
        rows.setdefault(_group_name(group), []).append(row)
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


def _group_name(value: str | None) -> str:
    return NO_GROUP if value is None else value
