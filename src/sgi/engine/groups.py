"""A run by groups of its rows: the same summary for each method, question type or any other column."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.summary import MetricSummary, metric_summary
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.scored import ScoredRun

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
        group = asdict(self)
        for entry, made in zip(group["metrics"], self.metrics, strict=True):
            entry |= {"rows": made.rows, "ok": made.ok, "coverage": made.coverage}
        return group


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
        metrics=tuple(metric_summary(column, part.clusters) for column in part.metrics.values()),
        classes={
            metric: dict(Counter(_named(labels[row]) for row in rows).most_common())
            for metric, labels in classes.items()
        },
    )


def _named(value: str | None) -> str:
    return NO_GROUP if value is None else value
