"""Compares two runs over the same questions: differences with intervals and tests, and rows that changed."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sgi.analysis.pairing import pair_rows, pairing_notes
from sgi.analysis.run_differences import Difference, RunsDifferError, find_differences, unknown_origin
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.engine.summary import NotebookRepr, ratio_notes, without_interval
from sgi.kernel.errors import UsageError
from sgi.kernel.scored import STATUSES
from sgi.kernel.short_repr import short_repr
from sgi.stats.paired import McNemar, PairedDifference, holm, mcnemar, paired_differences
from sgi.stats.ratios import ratio_of, ratio_slope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn, ScoredRun

Verdict = Literal["better", "worse", "no difference found"]

SIGNIFICANT = 0.05
"""Below this adjusted p a difference counts as found."""


@dataclass(frozen=True)
class ChangedRow:
    """A sample on which the runs differ.

    Attributes:
        id: the sample's, in the base run.
        new_id: its id in the new run; another one only where rows are paired by content.
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
    """Pairs without a value on at least one side.

    Attributes:
        base: their status in the base run.
        new: their status in the new run.
        pairs: how many there are.
    """

    base: str
    new: str
    pairs: int


@dataclass(frozen=True)
class MetricComparison:
    """One metric over the pairs.

    Attributes:
        metric: its canonical string.
        higher_is_better: the direction.
        difference: new − base, with interval, p and the least difference that could have been seen.
        adjusted_p: Holm's over the metrics; None where there is no p.
        mcnemar: where both sides hold only 0 and 1 and no question repeats.
        lacking: pairs that have no value on a side, by their statuses.
        verdict: by direction, where the adjusted p is below 0.05.
        changed: the samples that changed most; ties by id.
        changed_pairs: how many pairs have different values.
        is_ratio: whether it is a ratio: means are taken on the scale v/(1+v) and converted back, and the
            interval is that on this scale times the slope between the two means.
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


@dataclass(frozen=True)
class Comparison(NotebookRepr):
    """Two runs side by side.

    Attributes:
        base: the name of the run before.
        new: the name of the run after.
        base_signature: what made the numbers of the run before.
        new_signature: what made the numbers of the run after.
        pairs: samples of both runs.
        only_base: samples of the base run alone.
        only_new: samples of the new run alone.
        metrics: those of both runs, in the base run's order.
        only_base_metrics: metrics of the base run alone.
        only_new_metrics: metrics of the new run alone.
        paired_by: ``id``, or ``content`` where the ids of a run are only row numbers.
        differences: what differs beside the responses, where that was accepted.
        notes: what was assumed.
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
        """The comparison as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"{self.base} → {self.new}: {self.pairs} pairs"
        alone = f"{self.only_base} only in {self.base}, {self.only_new} only in {self.new}"
        lines = [f"{head} ({alone})", _HEADER, *map(_line, self.metrics)]
        lines += [f"Differs in more than the responses: {found}" for found in self.differences]
        return "\n".join([*lines, *self.notes, self.base_signature, self.new_signature])


_HEADER = (
    f"{'metric':<28}{'base':>9}{'new':>9}{'new − base':>11}{'95 % interval':>20}{'p (Holm)':>10}  verdict"
)


def _line(made: MetricComparison) -> str:
    found = made.difference
    numbers = "".join(
        f"{'–' if number is None else f'{number:.4f}':>{width}}"
        for number, width in ((found.first, 9), (found.second, 9), (found.difference, 11))
    )
    interval = "–" if found.interval is None else f"[{found.interval.low:.4f}, {found.interval.high:.4f}]"
    p = "–" if made.adjusted_p is None else f"{made.adjusted_p:.4f}"
    return f"{made.metric:<28}{numbers}{interval:>20}{p:>10}  {made.verdict}"


def compare(
    base: ScoredRun,
    new: ScoredRun,
    *,
    changed: int = 10,
    draws: int = 2000,
    level: float = 0.95,
    metrics: Sequence[str] = (),
    only_worse: bool = False,
    allow_different: bool = False,
) -> Comparison:
    """Compare two runs, sample by sample.

    Rows are paired by sample id, or by their texts where the ids are only row numbers: see `pair_rows`. Rows
    of one run alone are counted and left out. The base run's clusters are resampled. Responses, contexts and
    targets may differ between the runs; whatever else differs is refused: see `find_differences`.

    Args:
        base: the run before.
        new: the run after.
        changed: how many of the most changed samples to name, for each metric.
        draws: of the bootstrap, and sign flips.
        level: of the intervals, in (0, 1).
        only_worse: name only samples that got worse, in the metric's direction.
        metrics: give only these, by full or bare name; all without any. p is adjusted for all of both runs.
        allow_different: compare runs that differ in more than their responses; the result lists how.

    Raises:
        RunsDifferError: the runs differ in more than their responses; lists every difference.
        UsageError: the runs share no sample or no metric, a metric's range or direction differs, or rows of
            one id have different questions.
        UnknownNameError: one of ``metrics`` is not in both runs.

    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> def run(name, *values):
    ...     column = MetricColumn("rouge_l", np.array(values), np.zeros(6, dtype=np.int8), 0.0, 1.0)
    ...     return ScoredRun(name, 6, tuple("abcdef"), np.arange(6), {"rouge_l": column})
    >>> before = run("monday", 0.1, 0.2, 0.2, 0.1, 0.3, 0.2)
    >>> made = compare(before, run("friday", 0.3, 0.4, 0.5, 0.2, 0.4, 0.3))
    >>> made.pairs, made.metrics[0].verdict, made.metrics[0].changed[0].id
    (6, 'better', 'c')
    """
    wanted = {new.metric(base.metric(name).metric).metric for name in metrics}
    pairs = pair_rows(base, new)
    names = _common_metrics(base, new)
    differences = tuple(
        found for found in find_differences(base, new, pairs) if not wanted or found.concerns(wanted)
    )
    if differences and not allow_different:
        raise RunsDifferError(base.name, new.name, differences)
    before, after = _with_ranges(base.take(pairs.first)), _with_ranges(new.take(pairs.second))
    found = paired_differences(
        _table(before, names),
        _table(after, names),
        before.clusters,
        ranges=[on_mean_scale(after.metrics[name]).width for name in names],
        level=level,
        draws=draws,
    )
    named = [*zip(names, found, strict=True)]
    tests = zip(names, found, holm([one.p for one in found]), strict=True)
    compared = tuple(
        _compare_metric(before, after, name, difference, p, _Named(changed, only_worse=only_worse))
        for name, difference, p in tests
        if not wanted or name in wanted
    )
    return Comparison(
        base=base.name,
        new=new.name,
        base_signature=base.signature,
        new_signature=new.signature,
        pairs=len(pairs.first),
        only_base=len(base.ids) - len(pairs.first),
        only_new=len(new.ids) - len(pairs.first),
        metrics=compared,
        only_base_metrics=tuple(name for name in base.metrics if name not in new.metrics),
        only_new_metrics=tuple(name for name in new.metrics if name not in base.metrics),
        paired_by=pairs.by,
        differences=differences,
        notes=(
            *unknown_origin(base, new),
            *pairing_notes(base, new, pairs),
            *base.clustering.notes(len(base.ids)),
            *ratio_notes(compared),
            *without_interval((name, one.no_interval) for name, one in named if one.pairs),
        ),
    )


def _with_ranges(run: ScoredRun) -> ScoredRun:
    """The run with the ranges and units that are known of its metrics."""
    return replace(run, metrics={name: with_range(column) for name, column in run.metrics.items()})


class _Named(NamedTuple):
    """How many of the changed samples to name, and which."""

    most: int
    only_worse: bool


def _table(run: ScoredRun, names: Sequence[str]) -> NDArray[np.float64]:
    """The values of these metrics on the scales of their means, one column each."""
    table = np.empty((len(run.ids), len(names)))
    for place, name in enumerate(names):
        table[:, place] = on_mean_scale(run.metrics[name]).values
    return table


def _common_metrics(base: ScoredRun, new: ScoredRun) -> tuple[str, ...]:
    """The metrics of both runs, in the base run's order."""
    names = tuple(name for name in base.metrics if name in new.metrics)
    if not names:
        has = f"{base.name} has {', '.join(base.metrics)}; {new.name} has {', '.join(new.metrics)}."
        raise UsageError(f"{base.name} and {new.name} have no metric in common.", hint=has)
    for name in names:
        _check_alike(base, new, base.metrics[name], new.metrics[name])
    return names


def _check_alike(base: ScoredRun, new: ScoredRun, before: MetricColumn, after: MetricColumn) -> None:
    """Raise a UsageError for a metric whose range or direction differs: no difference has a meaning then."""
    ends = ((before.low, after.low), (before.high, after.high))
    differ = any(None not in (one, other) and one != other for one, other in ends)
    if differ or before.higher_is_better != after.higher_is_better:
        hint = "It was defined differently then: score both runs with one version."
        raise UsageError(
            f"{before.metric} has another range or direction in {base.name} than in {new.name}.", hint=hint
        )


def _compare_metric(
    before: ScoredRun,
    after: ScoredRun,
    name: str,
    difference: PairedDifference,
    adjusted: float | None,
    named: _Named,
) -> MetricComparison:
    old, new = before.metrics[name], after.metrics[name]
    both = np.flatnonzero(old.ok & new.ok)
    return MetricComparison(
        metric=name,
        higher_is_better=new.higher_is_better,
        difference=ratio_difference(difference) if new.is_ratio else difference,
        adjusted_p=adjusted,
        mcnemar=_yes_or_no(old.values[both], new.values[both], before.clusters[both]),
        lacking=_missing_pairs(old, new),
        verdict=_verdict(difference, adjusted, higher_is_better=new.higher_is_better),
        changed=_most_changed(before, after, name, named),
        changed_pairs=int((old.values[both] != new.values[both]).sum()),
        is_ratio=new.is_ratio,
    )


def _verdict(difference: PairedDifference, adjusted: float | None, *, higher_is_better: bool) -> Verdict:
    if adjusted is None or adjusted >= SIGNIFICANT or not difference.difference:
        return "no difference found"
    return "better" if (difference.difference > 0) == higher_is_better else "worse"


def _yes_or_no(
    before: NDArray[np.float64], after: NDArray[np.float64], clusters: NDArray[np.int64]
) -> McNemar | None:
    """McNemar's test, where it holds: only 0 and 1, and rows that are independent of one another."""
    alone = len(before) > 0 and len(np.unique(clusters)) == len(clusters)
    return mcnemar(before, after) if alone and np.isin([before, after], (0.0, 1.0)).all() else None


def _missing_pairs(before: MetricColumn, after: MetricColumn) -> tuple[MissingPairs, ...]:
    rows = np.flatnonzero(~(before.ok & after.ok))
    found = Counter(zip(before.codes[rows].tolist(), after.codes[rows].tolist(), strict=True))
    return tuple(
        MissingPairs(STATUSES[old].value, STATUSES[new].value, pairs)
        for (old, new), pairs in sorted(found.items())
    )


def _most_changed(before: ScoredRun, after: ScoredRun, name: str, named: _Named) -> tuple[ChangedRow, ...]:
    old, new = before.metrics[name], after.metrics[name]
    gaps = on_mean_scale(new).values - on_mean_scale(old).values
    moved = np.isfinite(gaps) & (gaps != 0)
    if named.only_worse:
        moved &= gaps < 0 if new.higher_is_better else gaps > 0
    most = heapq.nsmallest(
        named.most, np.flatnonzero(moved).tolist(), key=lambda row: (-abs(gaps[row]), before.ids[row])
    )
    changes = new.values - old.values
    return tuple(
        ChangedRow(
            before.ids[row],
            after.ids[row],
            float(old.values[row]),
            float(new.values[row]),
            float(changes[row]),
        )
        for row in most
    )


def ratio_difference(made: PairedDifference) -> PairedDifference:
    """A difference on the bounded scale in the unit of the ratio.

    Every number is multiplied by the slope between the two means. So the difference is that of the converted
    means, and the interval excludes 0 exactly where it did before.
    """
    if made.first is None or made.second is None:
        return made
    slope = ratio_slope(made.first, made.second)
    first, second = ratio_of(made.first), ratio_of(made.second)
    interval = made.interval
    if interval is not None:
        interval = replace(interval, low=slope * interval.low, high=slope * interval.high)
    smallest = None if made.smallest is None else slope * made.smallest
    return replace(
        made, first=first, second=second, difference=second - first, interval=interval, smallest=smallest
    )
