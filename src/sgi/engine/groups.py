"""A run by groups of its rows: the same summary for each method, question type or any other column."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.summary import MetricSummary, metric_summary
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import BUILT_IN, metric_class
from sgi.metrics.calibrated import SPEC as CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn, ScoredRun

NO_GROUP = "(none)"
"""What rows without a group stand under, and rows without a class."""


@dataclass(frozen=True)
class Group:
    """The rows of one group.

    Attributes:
        name: the value that they share.
        rows: how many there are.
        metrics: in the order of the run.
        classes: for each metric that has classes, how many rows are of each, the most frequent first.
    """

    name: str
    rows: int
    metrics: tuple[MetricSummary, ...]
    classes: Mapping[str, Mapping[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """The group as JSON values."""
        return asdict(self) | {"metrics": [made.to_dict() for made in self.metrics]}


def with_range(column: MetricColumn) -> MetricColumn:
    """The column with the range of the built-in metric of its name, where it does not know its own.

    >>> from sgi.kernel.scored import MetricColumn
    >>> column = MetricColumn("squad_em", np.ones(3), np.zeros(3, dtype=np.int8))
    >>> column.is_share, with_range(column).is_share
    (False, True)
    """
    name = column.metric.partition("(")[0]
    if name not in BUILT_IN or None not in (column.low, column.high):
        return column
    spec = metric_class(name).spec
    if column.version not in (0, spec.version):  # another definition may have had another range
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
            bare = name.partition("(")[0]
            spec = CALIBRATED if bare == CALIBRATED.name else metric_class(bare).spec
            found[name] = spec.category
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
        classes: by metric, the class of each row (a letter grade, say), shape (n,); None stands under
            ``(none)``.

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
    return Group(
        name=name,
        rows=len(rows),
        metrics=tuple(column_summary(column, part.clusters) for column in part.metrics.values()),
        classes={
            metric: dict(Counter(_named(labels[row]) for row in rows).most_common())
            for metric, labels in classes.items()
        },
    )


def _named(value: str | None) -> str:
    return NO_GROUP if value is None else value
