"""Compares two runs over the same questions: differences with intervals and tests, and rows that changed."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.analysis.margin import MarginTest, checked_margin, margin_on_scale, margin_tests
from sgi.analysis.pairing import pair_rows, pair_weights, pairing_notes
from sgi.analysis.run_differences import Difference, find_differences, metric_in_words, unknown_origin
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.engine.summary import NotebookRepr, ratio_notes, without_interval
from sgi.kernel.errors import NotComparableError, UsageError
from sgi.kernel.metric_column import STATUSES
from sgi.kernel.short_text import metric_label, pluralize, short_repr
from sgi.stats.paired_tests import (
    McNemar,
    PairedDifference,
    holm,
    mcnemar,
    paired_differences,
    ratio_difference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.analysis.pairing import Pairs
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn

    _Results = dict[str, tuple[PairedDifference, float | None, MarginTest | None]]

Verdict = Literal["better", "worse", "no difference found", "not tested"]

SIGNIFICANT = 0.05
"""An adjusted p below this shows a difference."""


@dataclass(frozen=True)
class ChangedRow:
    """A row whose value differs between the runs.

    Attributes:
        id: its id in the base run.
        new_id: its id in the new run; differs from ``id`` only if rows are paired by content.
        before: its value in the base run.
        after: its value in the new run.
        difference: after − before.
    """

    id: str
    new_id: str
    before: float
    after: float
    difference: float


@dataclass(frozen=True)
class MissingPairs:
    """The number of row pairs that have no value in at least one of the two runs.

    Attributes:
        base: their status in the base run.
        new: their status in the new run.
        pairs: their number.
    """

    base: str
    new: str
    pairs: int


@dataclass(frozen=True)
class MetricComparison:
    """Comparison of one metric over the pairs.

    Attributes:
        metric: its canonical string.
        higher_is_better: the direction.
        difference: new − base, with interval, p and minimum detectable difference.
        adjusted_p: p corrected for the number of metrics (Holm); None without p.
        mcnemar: McNemar's test; None unless all values are 0 or 1, no question repeats, and rows have no
            weights.
        lacking: pairs without a value in one or both runs, by the statuses of their scores.
        verdict: the direction if the adjusted p is below 0.05; ``not tested`` without p.
        changed: the rows that changed most; ties by id.
        changed_pairs: number of pairs with different values.
        is_ratio: whether the metric is a ratio: means are taken on the scale v/(1+v) and converted back, and
            the interval on this scale is multiplied by the slope between the two means.
        margin: whether the new run is shown to be no worse than a margin; None without a margin.
    """

    metric: str
    higher_is_better: bool
    difference: PairedDifference
    adjusted_p: float | None
    mcnemar: McNemar | None
    lacking: tuple[MissingPairs, ...]
    verdict: Verdict
    changed: tuple[ChangedRow, ...]
    changed_pairs: int
    is_ratio: bool = False
    margin: MarginTest | None = None


@dataclass(frozen=True)
class Comparison(NotebookRepr):
    """Comparison of two runs.

    Attributes:
        base: name of the run before.
        new: name of the run after.
        base_signature: provenance of the base run, for printing.
        new_signature: provenance of the new run, for printing.
        pairs: number of rows in both runs.
        only_base: number of rows only in the base run.
        only_new: number of rows only in the new run.
        metrics: the metrics of both runs, in the order of the base run.
        only_base_metrics: metrics only in the base run.
        only_new_metrics: metrics only in the new run.
        paired_by: ``id``, or ``content`` if the ids of a run are only row numbers.
        differences: accepted differences between the runs besides their responses.
        notes: assumptions.
    """

    base: str
    new: str
    base_signature: str
    new_signature: str
    pairs: int
    only_base: int
    only_new: int
    metrics: tuple[MetricComparison, ...]
    only_base_metrics: tuple[str, ...]
    only_new_metrics: tuple[str, ...]
    paired_by: Literal["id", "content"] = "id"
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"{self.base} → {self.new}: {pluralize(self.pairs, 'pair')}"
        alone = f"{self.only_base} only in {self.base}, {self.only_new} only in {self.new}"
        lines = [f"{head} ({alone})", _HEADER, *map(_line, self.metrics)]
        lines += [f"Differs in more than the responses: {other}" for other in self.differences]
        return "\n".join([*lines, *self.notes, self.base_signature, self.new_signature])


_HEADER = (
    f"{'metric':<28}{'base':>9}{'new':>9}{'new − base':>11}{'95 % interval':>20}{'p (Holm)':>10}  verdict"
)


def _line(compared: MetricComparison) -> str:
    difference = compared.difference
    numbers = "".join(
        f"{'–' if number is None else f'{number:.4f}':>{width}}"
        for number, width in ((difference.first, 9), (difference.second, 9), (difference.difference, 11))
    )
    ends = difference.interval
    interval = "–" if ends is None else f"[{ends.low:.4f}, {ends.high:.4f}]"
    p = "–" if compared.adjusted_p is None else f"{compared.adjusted_p:.4f}"
    margin = compared.margin
    shown = "" if margin is None else f"; margin {margin.margin:g}: {margin.verdict}"
    return f"{compared.metric:<28}{numbers}{interval:>20}{p:>10}  {compared.verdict}{shown}"


def compare(
    base: Run,
    new: Run,
    *,
    changed: int = 10,
    level: float = 0.95,
    metrics: Sequence[str] = (),
    only_worse: bool = False,
    allow_different: bool = False,
    margin: float | None = None,
) -> Comparison:
    """Compare two runs row by row.

    Rows are paired by `pair_rows`, and clustered as in the base run. The runs may differ in responses,
    contexts and targets (the RAG systems that wrote the responses) only: see `find_differences`.

    Args:
        base: the run before.
        new: the run after.
        changed: number of most changed rows to list for each metric.
        level: confidence level, in (0, 1).
        metrics: names, with or without parameters; all if empty. p is corrected for all metrics of both runs.
        only_worse: list only rows that got worse.
        allow_different: accept and list other differences.
        margin: also test whether the new run is no worse than this, in the unit of each metric.

    Raises:
        NotComparableError: the runs differ in more than their responses; lists every difference.
        UsageError: no row or metric is in both runs, or a row, a weight or a metric is not the same in both.
        UnknownNameError: one of ``metrics`` is not in both runs.

    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> def run(name, *values):
    ...     column = MetricColumn("rouge_l", np.array(values), np.zeros(6, dtype=np.int8), 0.0, 1.0)
    ...     return Run.of(name, "abcdef", [column])
    >>> before = run("monday", 0.1, 0.2, 0.2, 0.1, 0.3, 0.2)
    >>> result = compare(before, run("friday", 0.3, 0.4, 0.5, 0.2, 0.4, 0.3))
    >>> result.pairs, result.metrics[0].verdict, result.metrics[0].changed[0].id
    (6, 'better', 'c')
    """
    selected = {new.metric(base.metric(name).metric).metric for name in metrics}
    pairs = pair_rows(base, new)
    names = common_metrics(base, new)
    differences = _differences(base, new, pairs, selected)
    if differences and not allow_different:
        raise NotComparableError(base.name, new.name, differences)
    before, after = _with_ranges(base.take(pairs.first)), _with_ranges(new.take(pairs.second))
    before = replace(before, weights=pair_weights(before, after))
    results = _paired_differences(before, after, names, level, margin)
    compared = tuple(
        replace(
            _compare_metric(before, after, name, difference, p),
            margin=shown,
            changed=_changed_rows(before, after, name, changed, only_worse=only_worse),
        )
        for name, (difference, p, shown) in results.items()
        if not selected or name in selected
    )
    return _comparison(base, new, pairs, compared, differences, results)


def _differences(base: Run, new: Run, pairs: Pairs, metrics: set[str]) -> tuple[Difference, ...]:
    """Return the differences that concern ``metrics``; all differences if ``metrics`` is empty."""
    differences = find_differences(base, new, pairs)
    return tuple(one for one in differences if not metrics or one.concerns(metrics))


def _comparison(
    base: Run,
    new: Run,
    pairs: Pairs,
    metrics: tuple[MetricComparison, ...],
    differences: tuple[Difference, ...],
    results: _Results,
) -> Comparison:
    gaps = ((metric_label(name), one.no_interval) for name, (one, *_) in results.items() if one.pairs)
    return Comparison(
        base=base.name,
        new=new.name,
        base_signature=base.signature,
        new_signature=new.signature,
        pairs=len(pairs.first),
        only_base=len(base.ids) - len(pairs.first),
        only_new=len(new.ids) - len(pairs.first),
        metrics=metrics,
        only_base_metrics=tuple(name for name in base.metrics if name not in new.metrics),
        only_new_metrics=tuple(name for name in new.metrics if name not in base.metrics),
        paired_by=pairs.by,
        differences=differences,
        notes=(
            *unknown_origin(base, new),
            *pairing_notes(base, new, pairs),
            *base.statistics_notes(),
            *ratio_notes(metrics),
            *without_interval(gaps),
        ),
    )


def _paired_differences(
    before: Run, after: Run, names: Sequence[str], level: float, margin: float | None
) -> _Results:
    """Return the difference, adjusted p and test of the margin of each metric, on the scale of its mean."""
    first, second = (
        np.column_stack([on_mean_scale(run.metrics[name]).values for name in names])
        for run in (before, after)
    )
    ranges = [on_mean_scale(after.metrics[name]).width for name in names]
    margins = None
    if margin is not None:
        checked, weights = checked_margin(margin), before.weights
        margins = [
            margin_on_scale(checked, before.metrics[name], after.metrics[name], weights) for name in names
        ]
    results = paired_differences(
        first,
        second,
        before.clusters,
        weights=before.weights,
        ranges=ranges,
        level=level,
        margins=margins,
    )
    adjusted = holm([result.p for result in results])
    better = [after.metrics[name].higher_is_better for name in names]
    tests = [None] * len(names) if margin is None else margin_tests(margin, results, better)
    return dict(zip(names, zip(results, adjusted, tests, strict=True), strict=True))


def _with_ranges(run: Run) -> Run:
    return replace(run, metrics={name: with_range(column) for name, column in run.metrics.items()})


def common_metrics(base: Run, new: Run) -> tuple[str, ...]:
    """Return the metrics of both runs; raise UsageError if a range or direction differs."""
    names = tuple(name for name in base.metrics if name in new.metrics)
    if not names:
        has = (
            f"{run.name} has {', '.join(map(metric_in_words, run.metrics.values()))}" for run in (base, new)
        )
        hint = f"{'; '.join(has)}."
        raise UsageError(f"{base.name} and {new.name} have no metric in common.", hint=hint)
    for name in names:
        before, after = base.metrics[name], new.metrics[name]
        ends = ((before.low, after.low), (before.high, after.high))
        differ = any(None not in (one, other) and one != other for one, other in ends)
        if differ or before.higher_is_better != after.higher_is_better:
            message = f"{name} has another range or direction in {base.name} than in {new.name}."
            raise UsageError(message, hint="Its definition has changed: score both runs with one version.")
    return names


def _compare_metric(
    before: Run,
    after: Run,
    name: str,
    difference: PairedDifference,
    adjusted: float | None,
) -> MetricComparison:
    old, new = before.metrics[name], after.metrics[name]
    both = np.flatnonzero(old.ok & new.ok)
    return MetricComparison(
        metric=name,
        higher_is_better=new.higher_is_better,
        difference=ratio_difference(difference) if new.is_ratio else difference,
        adjusted_p=adjusted,
        mcnemar=_mcnemar(old.values[both], new.values[both], before.clusters[both])
        if before.weights is None
        else None,
        lacking=_missing_pairs(old, new),
        verdict=_verdict(difference, adjusted, higher_is_better=new.higher_is_better),
        changed=(),
        changed_pairs=int((old.values[both] != new.values[both]).sum()),
        is_ratio=new.is_ratio,
    )


def _verdict(difference: PairedDifference, adjusted: float | None, *, higher_is_better: bool) -> Verdict:
    if adjusted is None:
        return "not tested"
    if adjusted >= SIGNIFICANT or not difference.difference:
        return "no difference found"
    return "better" if (difference.difference > 0) == higher_is_better else "worse"


def _mcnemar(
    before: NDArray[np.float64], after: NDArray[np.float64], clusters: NDArray[np.int64]
) -> McNemar | None:
    """Return McNemar's test if it is valid: only 0 and 1, and independent rows."""
    independent = len(before) > 0 and len(np.unique(clusters)) == len(clusters)
    return mcnemar(before, after) if independent and np.isin([before, after], (0.0, 1.0)).all() else None


def _missing_pairs(before: MetricColumn, after: MetricColumn) -> tuple[MissingPairs, ...]:
    rows = np.flatnonzero(~(before.ok & after.ok))
    counts = Counter(zip(before.codes[rows].tolist(), after.codes[rows].tolist(), strict=True))
    return tuple(
        MissingPairs(STATUSES[old].value, STATUSES[new].value, pairs)
        for (old, new), pairs in sorted(counts.items())
    )


def _changed_rows(
    before: Run, after: Run, name: str, most: int, *, only_worse: bool
) -> tuple[ChangedRow, ...]:
    old, new = before.metrics[name], after.metrics[name]
    gaps = on_mean_scale(new).values - on_mean_scale(old).values
    changed = np.isfinite(gaps) & (gaps != 0)
    if only_worse:
        changed &= gaps < 0 if new.higher_is_better else gaps > 0
    rows = heapq.nsmallest(
        most, np.flatnonzero(changed).tolist(), key=lambda row: (-abs(gaps[row]), before.ids[row])
    )
    return tuple(
        ChangedRow(before.ids[row], after.ids[row], first, second, second - first)
        for row in rows
        for first, second in [(float(old.values[row]), float(new.values[row]))]
    )
