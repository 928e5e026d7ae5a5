"""Two runs over the same samples: what changed, how surely, and where."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.engine.groups import with_range
from sgi.engine.shown import Shown
from sgi.engine.summary import without_interval
from sgi.kernel.errors import UsageError
from sgi.kernel.scored import STATUSES
from sgi.stats.paired import McNemar, PairedDifference, holm, mcnemar, paired_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn, ScoredRun

Verdict = Literal["better", "worse", "no difference found"]

SIGNIFICANT = 0.05
"""Below this adjusted p a difference counts as found."""


@dataclass(frozen=True)
class ChangedRow:
    """A sample on which the runs differ.

    Attributes:
        id: the sample's.
        before: its value in the base run.
        after: its value in the new run.
        difference: after − before.
    """

    id: str
    before: float
    after: float
    difference: float


@dataclass(frozen=True)
class LackingPairs:
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
    """

    metric: str
    higher_is_better: bool
    difference: PairedDifference
    adjusted_p: float | None
    mcnemar: McNemar | None
    lacking: tuple[LackingPairs, ...]
    verdict: Verdict
    changed: tuple[ChangedRow, ...]


@dataclass(frozen=True)
class Incomparable:
    """A metric that both runs have and that cannot be compared.

    Attributes:
        metric: its canonical string.
        reason: why not, and what helps.
    """

    metric: str
    reason: str


@dataclass(frozen=True)
class Comparison(Shown):
    """Two runs side by side.

    Attributes:
        base: the name of the run before.
        new: the name of the run after.
        base_signature: what made the numbers of the run before.
        new_signature: what made the numbers of the run after.
        pairs: samples of both runs.
        only_base: samples of the base run alone.
        only_new: samples of the new run alone.
        metrics: those of both runs that can be compared, in the base run's order.
        only_base_metrics: metrics of the base run alone.
        only_new_metrics: metrics of the new run alone.
        incomparable: metrics of both runs that were defined otherwise in one.
        notes: what was taken for granted.
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
    incomparable: tuple[Incomparable, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        head = f"{self.base} → {self.new}: {self.pairs} pairs"
        alone = f"{self.only_base} only in {self.base}, {self.only_new} only in {self.new}"
        lines = [f"{head} ({alone})", _HEADER, *map(_line, self.metrics)]
        lines += [f"{found.metric} is not compared: {found.reason}" for found in self.incomparable]
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


def compare(base: ScoredRun, new: ScoredRun, *, changed: int = 10, draws: int = 2000) -> Comparison:
    """Compare two runs, sample by sample.

    Rows are paired by sample id, whatever their order; those of one run alone are counted and left out.
    Questions are told apart by the base run's clusters. A metric whose version differs is told as not
    comparable; a version that is not known is taken for the same, and noted.

    Args:
        base: the run before.
        new: the run after.
        changed: how many of the most changed samples to name, for each metric.
        draws: of the bootstrap, and sign flips.

    Raises:
        UsageError: the runs share no sample or no metric, or a metric's range or direction differs.

    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> def run(name, *values):
    ...     column = MetricColumn("rouge_l", np.array(values), np.zeros(6, dtype=np.int8), 0.0, 1.0)
    ...     return ScoredRun(name, 6, tuple("abcdef"), np.arange(6), {"rouge_l": column})
    >>> before = run("monday", 0.1, 0.2, 0.2, 0.1, 0.3, 0.2)
    >>> made = compare(before, run("friday", 0.3, 0.4, 0.5, 0.2, 0.4, 0.3))
    >>> made.pairs, made.metrics[0].verdict, made.metrics[0].changed[0].id
    (6, 'better', 'c')
    """
    first, second = _paired_rows(base, new)
    names, incomparable = _common_metrics(base, new)
    before, after = base.take(first), new.take(second)
    differences = paired_differences(
        _table(before, names),
        _table(after, names),
        before.clusters,
        ranges=[with_range(after.metrics[name]).width for name in names],
        draws=draws,
    )
    adjusted = holm([found.p for found in differences])
    return Comparison(
        base=base.name,
        new=new.name,
        base_signature=base.signature,
        new_signature=new.signature,
        pairs=len(first),
        only_base=len(base.ids) - len(first),
        only_new=len(new.ids) - len(first),
        metrics=tuple(
            _compared(before, after, name, found, p, changed)
            for name, found, p in zip(names, differences, adjusted, strict=True)
        ),
        only_base_metrics=tuple(name for name in base.metrics if name not in new.metrics),
        only_new_metrics=tuple(name for name in new.metrics if name not in base.metrics),
        incomparable=incomparable,
        notes=(
            *unknown_versions(base, new),
            *without_interval(
                (name, found.no_interval)
                for name, found in zip(names, differences, strict=True)
                if found.pairs
            ),
        ),
    )


def _paired_rows(base: ScoredRun, new: ScoredRun) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the samples of both runs, in the base run's order."""
    places = {sample_id: row for row, sample_id in enumerate(new.ids)}
    pairs = [(row, places[sample_id]) for row, sample_id in enumerate(base.ids) if sample_id in places]
    if not pairs:
        hint = "Runs are compared row by row: score the same data twice, or give its rows the same ids."
        raise UsageError(f"{base.name} and {new.name} have no sample id in common.", hint=hint)
    rows = np.array(pairs, dtype=np.int64)
    return rows[:, 0], rows[:, 1]


def _table(run: ScoredRun, names: Sequence[str]) -> NDArray[np.float64]:
    """The values of these metrics, one column each."""
    table = np.empty((len(run.ids), len(names)))
    for place, name in enumerate(names):
        table[:, place] = run.metrics[name].values
    return table


def _common_metrics(base: ScoredRun, new: ScoredRun) -> tuple[tuple[str, ...], tuple[Incomparable, ...]]:
    """The metrics of both runs: those that can be compared, and those that cannot."""
    names = tuple(name for name in base.metrics if name in new.metrics)
    if not names:
        has = f"{base.name} has {', '.join(base.metrics)}; {new.name} has {', '.join(new.metrics)}."
        raise UsageError(f"{base.name} and {new.name} have no metric in common.", hint=has)
    incomparable = []
    for name in names:
        before, after = base.metrics[name], new.metrics[name]
        if before.version and after.version and before.version != after.version:
            reason = (
                f"it is version {before.version} in {base.name} and {after.version} in {new.name};"
                " score both runs with one version"
            )
            incomparable.append(Incomparable(name, reason))
        else:
            _check_alike(base, new, before, after)
    others = {found.metric for found in incomparable}
    return tuple(name for name in names if name not in others), tuple(incomparable)


def unknown_versions(base: ScoredRun, new: ScoredRun) -> Iterator[str]:
    """What to say of metrics whose version is not known in both runs."""
    both = [name for name in base.metrics if name in new.metrics]
    unknown = [name for name in both if not (base.metrics[name].version and new.metrics[name].version)]
    if unknown:
        yield (
            f"Not known in both runs is the version of {', '.join(unknown)}; it is taken for the same."
            " To be sure, score both runs again."
        )


def _check_alike(base: ScoredRun, new: ScoredRun, before: MetricColumn, after: MetricColumn) -> None:
    """Refuse a metric that was another one when the base run was made."""
    ends = ((before.low, after.low), (before.high, after.high))
    differ = any(None not in (one, other) and one != other for one, other in ends)
    if differ or before.higher_is_better != after.higher_is_better:
        hint = "It was defined differently then: score both runs with one version."
        raise UsageError(
            f"{before.metric} has another range or direction in {base.name} than in {new.name}.", hint=hint
        )


def _compared(
    before: ScoredRun,
    after: ScoredRun,
    name: str,
    difference: PairedDifference,
    adjusted: float | None,
    changed: int,
) -> MetricComparison:
    old, new = before.metrics[name], after.metrics[name]
    both = np.flatnonzero(old.ok & new.ok)
    return MetricComparison(
        metric=name,
        higher_is_better=new.higher_is_better,
        difference=difference,
        adjusted_p=adjusted,
        mcnemar=_yes_or_no(old.values[both], new.values[both], before.clusters[both]),
        lacking=_lacking(old, new),
        verdict=_verdict(difference, adjusted, higher_is_better=new.higher_is_better),
        changed=_most_changed(before.ids, old.values, new.values, both, changed),
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


def _lacking(before: MetricColumn, after: MetricColumn) -> tuple[LackingPairs, ...]:
    rows = np.flatnonzero(~(before.ok & after.ok))
    found = Counter(zip(before.codes[rows].tolist(), after.codes[rows].tolist(), strict=True))
    return tuple(
        LackingPairs(STATUSES[old].value, STATUSES[new].value, pairs)
        for (old, new), pairs in sorted(found.items())
    )


def _most_changed(
    ids: tuple[str, ...],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    rows: NDArray[np.int64],
    changed: int,
) -> tuple[ChangedRow, ...]:
    gaps = after - before
    moved = rows[gaps[rows] != 0].tolist()
    most = heapq.nsmallest(changed, moved, key=lambda row: (-abs(gaps[row]), ids[row]))
    return tuple(
        ChangedRow(ids[row], float(before[row]), float(after[row]), float(gaps[row])) for row in most
    )
