"""Summaries by group of rows, such as the values of a metadata column, and tests against the other rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.analysis.compare import SIGNIFICANT
from sgi.engine.summarise import column_summary, in_order, on_mean_scale, with_range
from sgi.kernel.clusters import unknown_column
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import short_repr
from sgi.stats.intervals import NoInterval
from sgi.stats.paired_tests import benjamini_hochberg
from sgi.stats.two_samples import unpaired_p
from sgi.store.row_query import column_reader, group_name
from sgi.store.scored_runs import SYSTEM_COLUMNS, system_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.compare import Verdict
    from sgi.engine.run import Run
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric_column import MetricColumn


MAX_TESTED = 50
"""The groups of a column with more values than this are not tested."""

NO_GROUP = "(none)"
"""Name of the group of the rows whose group is None."""


@dataclass(frozen=True)
class OtherRows:
    """Test of the mean of a group against the mean of all other rows.

    Attributes:
        p: two-sided p of equal means (`unpaired_p`); None without a test.
        adjusted_p: p corrected for all groups and metrics (Benjamini and Hochberg); None without a test.
        verdict: whether the group is better or worse than the other rows: the direction if the adjusted p
            is below 0.05. Of the groups so named, at most 5 % are false on average.
        not_tested: why there is no test; empty if there is one.
    """

    p: float | None
    adjusted_p: float | None
    verdict: Verdict
    not_tested: str = ""


@dataclass(frozen=True)
class Group:
    """The metric summaries of one group of rows.

    Attributes:
        name: the value of the column.
        rows: number of rows.
        metrics: the summaries, in the order of the run.
        others: for each of them, the test against the other rows; empty if there are none.
    """

    name: str
    rows: int
    metrics: tuple[MetricSummary, ...]
    others: tuple[OtherRows, ...] = ()

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON values."""
        return asdict(self) | {"metrics": [summary.to_dict() for summary in self.metrics]}


@dataclass(frozen=True)
class ClassTable:
    """The counts of a metric's classes in each group of rows.

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


def row_groups(run: Run, by: str) -> list[str | None]:
    """Return the group of each row: the value of a column of the data, or of ``label``, as text.

    Raises:
        UsageError: the run has no columns besides its scores.
        UnknownNameError: no row has the column.
    """
    facts = [*run.fields("metadata", "label")]
    if not facts:
        raise UsageError(f"The texts and columns of {run.name} are not available.")
    known = {name for metadata, _ in facts for name in metadata or ()}
    known |= {"label"} if any(label is not None for _, label in facts) else set()
    if by not in known:
        raise unknown_column(run.name, by, known)
    value = column_reader(by, (metadata for metadata, _ in facts))
    return [group_name(value(*fact)) for fact in facts]


def row_systems(run: Run) -> list[str]:
    """Return the system of each row, if the run has answers of several systems; an empty list otherwise."""
    metadata = [values or {} for (values,) in run.fields("metadata")]
    for column in SYSTEM_COLUMNS:
        names = [system_name(values, column) for values in metadata]
        if len({*names} - {""}) > 1:
            return names
    return []


def group_by(
    run: Run,
    groups: Sequence[str | None],
    *,
    classes: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[Group, ...]:
    """Summarise each group, and test it against the other rows, in the order in which groups first appear.

    Args:
        run: the scores.
        groups: the group of each row, shape (n,); None is the group ``(none)``.
        classes: the class of each row, such as a letter grade, by metric, shape (n,); None without a class.

    Raises:
        UsageError: the number of groups or classes differs from the number of rows.

    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> column = MetricColumn("squad_em", np.array([1.0, 0.0, 1.0]), np.zeros(3, dtype=np.int8), 0.0, 1.0)
    >>> run = Run.of("last", "abc", [column])
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
    others = _against_others(run, list(rows.values()))
    return tuple(
        _group(run, name, members, classes, tests)
        for (name, members), tests in zip(rows.items(), others, strict=True)
    )


def _against_others(run: Run, groups: Sequence[Sequence[int]]) -> list[tuple[OtherRows, ...]]:
    """Test each group on each metric; p is corrected for all of them."""
    columns = [on_mean_scale(with_range(column)) for column in run.metrics.values()]
    if len(groups) == 1 or not columns:
        return [()] * len(groups)
    if len(groups) > MAX_TESTED:
        reason = f"{len(groups):,} groups are too many; at most {MAX_TESTED} are tested"
        return [(OtherRows(None, None, "not tested", reason),) * len(columns)] * len(groups)
    if run.weights is not None:  # `unpaired_p` tests the means without weights
        return [(OtherRows(None, None, "not tested", "the rows have weights"),) * len(columns)] * len(groups)
    tests = [_test(column, rows, run.clusters) for rows in groups for column in columns]
    adjusted = benjamini_hochberg([None if isinstance(p, NoInterval) else p for p, _ in tests])
    results = (
        OtherRows(None, q, "not tested", p.reason)
        if isinstance(p, NoInterval)
        else OtherRows(p, q, direction if q is not None and q < SIGNIFICANT else "no difference found")
        for (p, direction), q in zip(tests, adjusted, strict=True)
    )
    return [tuple(islice(results, len(columns))) for _ in groups]


def _test(
    column: MetricColumn, rows: Sequence[int], clusters: NDArray[np.int64]
) -> tuple[float | NoInterval, Literal["better", "worse"]]:
    """Return p of equal means of some rows and all others, and the direction of their difference."""
    inside = np.zeros(len(clusters), dtype=np.bool_)
    inside[rows] = True
    values, side = column.values[column.ok], inside[column.ok]
    if side.all() or not side.any():
        return NoInterval("no other row has a value" if side.any() else "no row has a value"), "worse"
    p = unpaired_p(values, side, clusters[column.ok], low=column.low, high=column.high)
    is_higher = bool(values[side].mean() > values[~side].mean())
    return p, "better" if is_higher == column.higher_is_better else "worse"


def _group(
    run: Run,
    name: str,
    rows: Sequence[int],
    classes: Mapping[str, Sequence[str | None]],
    others: tuple[OtherRows, ...],
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
    return Group(name=name, rows=len(rows), metrics=tuple(metrics), others=others)
