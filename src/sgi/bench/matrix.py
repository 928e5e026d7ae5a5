"""The matrix of metrics and perturbations: rows as they are beside what they were changed to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from sgi.bench.detection import Falls, is_paraphrase, seen, threshold
from sgi.bench.measures import (
    FEWEST_PAIRS,
    Scale,
    Verdict,
    moved,
    simultaneous_level,
    withstood,
)
from sgi.bench.perturbation import Kind, Perturbation
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.sample import RESPONSE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.bench.detection import Threshold
    from sgi.bench.judge_faults import JudgeFault
    from sgi.bench.measures import Moved
    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.sample import Sample
    from sgi.stats.intervals import Interval

_OF_PAIRS = ("unchanged", "median_change", "mean_change", "most_change", "worst_change")
_REASONS = 5
_LONGEST = 200


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Change(_Model):
    """A perturbation or judge fault of a bench.

    Attributes:
        name: what it is called.
        kind: what is demanded of a metric of groundedness.
        says: what it does.
        applied: how many rows it applied to.
    """

    name: str
    kind: Kind
    says: str
    applied: int


class Cell(_Model):
    """What one metric makes of one perturbation.

    Attributes:
        metric: its canonical string.
        perturbation: its name.
        kind: what is demanded.
        pairs: rows that have a value before and after; for judge faults, a value before.
        not_applicable: rows that the perturbation does not apply to.
        lost: rows without one of the two values; for judge faults, without the one before. Of errors, what
            had a value before counts as half in the share, and as not seen; all else counts for nothing.
        reasons: why, with how many rows each, the most frequent first.
        share: of pairs that did what is demanded, and of errors lost (see `sgi.bench.measures.moved`);
            None where nothing counts.
        low: the lower end of the share's interval; None of too few pairs. The intervals of all cells of one
            kind hold together with 95 % (`sgi.bench.measures.simultaneous_level`).
        high: the upper end.
        unchanged: the share of pairs whose values are equal; None without pairs, as all changes are.
        median_change: negative is worse; in interquartile ranges of the metric's values on the rows as they
            are. Of errors lost it is 0.
        seen: of errors, the share of pairs, and of errors lost, that fall by more than correct paraphrases do
            (see `Alarm`); None of other changes, and without enough paraphrases.
        seen_low: the lower end of its interval, of the same level; None of too few pairs.
        seen_high: the upper end.
        mean_change: of the absolute changes, as a share of the metric's range.
        most_change: what 98 of 100 of them do not exceed.
        worst_change: the greatest of them.
        verdict: the cell in a word.
    """

    metric: str
    perturbation: str
    kind: Kind
    pairs: int
    not_applicable: int
    lost: int = 0
    reasons: dict[str, int] = {}
    share: float | None = None
    low: float | None = None
    high: float | None = None
    unchanged: float | None = None
    median_change: float | None = None
    seen: float | None = None
    seen_low: float | None = None
    seen_high: float | None = None
    mean_change: float | None = None
    most_change: float | None = None
    worst_change: float | None = None
    verdict: Verdict


class Alarm(_Model):
    """The fall above which a row counts as seen, and how many false alarms it gives.

    Attributes:
        metric: its canonical string.
        fall: as a share of its range; at most 2 % of the paraphrases that set it exceed it.
        alarms: the share of correct paraphrases that exceed a threshold set on other questions; None of too
            few.
        alarms_low: the lower end of its 95 % interval.
        alarms_high: the upper end.
        paraphrases: pairs of a row and the same answer in other words that set the fall.
        inert: pairs left out, of paraphrases that change this metric's value in no row.
    """

    metric: str
    fall: float
    alarms: float | None
    alarms_low: float | None = None
    alarms_high: float | None = None
    paraphrases: int
    inert: int = 0


class Bench(_Model):
    """What metrics see of what was done to grounded rows.

    Attributes:
        data: what the rows were read from.
        rows: how many rows were perturbed.
        seed: of all that was drawn.
        metrics: their canonical strings, in the order asked.
        changes: what was done, in the order of the matrix.
        cells: one for each metric and change, change by change.
        alarms: one for each metric that has enough correct paraphrases.
        notes: what a reader has to know of how it was made.
        signature: everything that can change a number.
    """

    data: str
    rows: int
    seed: int
    metrics: tuple[str, ...]
    changes: tuple[Change, ...]
    cells: tuple[Cell, ...]
    alarms: tuple[Alarm, ...] = ()
    notes: tuple[str, ...] = ()
    signature: str

    def cell(self, metric: str, perturbation: str) -> Cell | None:
        """The cell of a metric and a perturbation; None where that was not asked."""
        found = (cell for cell in self.cells if (cell.metric, cell.perturbation) == (metric, perturbation))
        return next(found, None)


@dataclass(frozen=True, eq=False)
class Paired:
    """The rows as they are, and what each perturbation made of some of them.

    Attributes:
        samples: the rows as they are, shape (n,).
        changed: by the perturbation's name, which rows it applied to and what they became.
        cluster: the rule by which rows form clusters.
    """

    samples: tuple[Sample, ...]
    changed: Mapping[str, tuple[NDArray[np.int64], tuple[Sample, ...]]]
    cluster: str = BY_QUESTION

    def all_rows(self) -> list[Sample]:
        """Every row to be scored, under ids of their own: first those as they are, then change by change."""
        rows = [
            sample.model_copy(update={"id": f"{row}:{sample.id}"}) for row, sample in enumerate(self.samples)
        ]
        for name, (places, made) in self.changed.items():
            for row, sample in zip(places.tolist(), made, strict=True):
                rows.append(sample.model_copy(update={"id": f"{row}:{sample.id} {name}"}))
        return rows

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Which rows form a cluster, shape (n,)."""
        found = (sample.cluster(row, self.cluster) for row, sample in enumerate(self.samples))
        return np.fromiter(found, np.int64, len(self.samples))


def levels(paired: Paired, changes: Sequence[Perturbation], metrics: int) -> dict[Kind, float]:
    """The level of each cell's interval, by kind, such that those of a kind hold together with 95 %.

    Args:
        paired: the rows, and what became of them.
        changes: the perturbations.
        metrics: how many metrics are benched.
    """
    enough = Counter(one.kind for one in changes if len(paired.changed[one.name][0]) >= FEWEST_PAIRS)
    return {kind: simultaneous_level(max(1, enough[kind] * metrics)) for kind in Kind}


def row_cells(
    paired: Paired,
    changes: Sequence[Perturbation],
    metric: AnyMetric,
    scores: Scores,
    seed: int,
    level: Mapping[Kind, float],
) -> tuple[list[Cell], Alarm | None]:
    """A metric's cells, one for each perturbation of rows, and the fall above which a row counts as seen.

    Args:
        paired: what was scored.
        changes: the perturbations, in the order in which their rows were scored.
        metric: the metric.
        scores: of `Paired.all_rows`, in that order.
        seed: of the folds in which false alarms are counted.
        level: of the intervals of each kind.

    Returns:
        No alarm where there are too few correct paraphrases, or the metric reads no response.
    """
    n = len(paired.samples)
    scale, clusters = Scale.of(metric.spec, scores.values[:n]), paired.clusters
    pairs = [_Pairs.of(one, paired, scores, start) for one, start in _starts(paired, changes)]
    reads = not metric.spec.needs.isdisjoint(RESPONSE)
    paraphrases = [one.falls(scale, clusters) for one in pairs if is_paraphrase(one.change)]
    least = threshold(paraphrases, seed=seed) if reads else None
    cells = []
    for one in pairs:
        facts = one.counted(metric, scores, n)
        if len(one.rows):
            rows = clusters[one.rows]
            kind = one.change.kind
            found = moved(kind, one.before, one.then, scale, rows, level=level[kind])
            facts |= _numbers(found)
            if not one.both.any():
                facts |= dict.fromkeys(_OF_PAIRS)
            if found.unchanged == 1 and metric.spec.needs.isdisjoint(one.change.changes):
                facts["verdict"] = Verdict.NONE
            elif least is not None and kind is Kind.ERROR:
                share, interval = seen(one.falls(scale, clusters), least, level=level[kind])
                facts |= {"seen": share} | _ends("seen_", interval)
        cells.append(Cell(**facts))
    return cells, None if least is None else _alarm(metric.canonical, least)


def _alarm(metric: str, least: Threshold) -> Alarm:
    return Alarm(
        metric=metric,
        fall=least.fall,
        alarms=least.alarms,
        paraphrases=least.paraphrases,
        inert=least.inert,
        **_ends("alarms_", least.interval),
    )


def _starts(paired: Paired, changes: Sequence[Perturbation]) -> Iterator[tuple[Perturbation, int]]:
    """Each perturbation, and where the rows that it made begin among all."""
    start = len(paired.samples)
    for one in changes:
        yield one, start
        start += len(paired.changed[one.name][0])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The rows of one perturbation: which they are, where they became others, and which have both values.

    What counts are those with both, and of errors those that had one before: ``rows``, with the values
    ``before`` and ``then``, which is NaN where it was lost.
    """

    change: Perturbation
    places: NDArray[np.int64]
    after: NDArray[np.int64]
    both: NDArray[np.bool_]
    rows: NDArray[np.int64]
    before: NDArray[np.float64]
    then: NDArray[np.float64]

    @classmethod
    def of(cls, change: Perturbation, paired: Paired, scores: Scores, start: int) -> _Pairs:
        places = paired.changed[change.name][0]
        after = np.arange(start, start + len(places))
        both = scores.ok[places] & scores.ok[after]
        counts = scores.ok[places] if change.kind is Kind.ERROR else both
        rows = places[counts]
        return cls(change, places, after, both, rows, scores.values[rows], scores.values[after[counts]])

    def falls(self, scale: Scale, clusters: NDArray[np.int64]) -> Falls:
        """By how much each value gets worse, in ranges of the metric; negative is better, NaN is lost."""
        return Falls((self.before - self.then) * scale.sign / scale.span, clusters[self.rows])

    def counted(self, metric: AnyMetric, scores: Scores, n: int) -> dict[str, Any]:
        """What a cell says before any value is looked at."""
        lost = ~self.both
        return {
            "metric": metric.canonical,
            "perturbation": self.change.name,
            "kind": self.change.kind,
            "pairs": int(self.both.sum()),
            "not_applicable": n - len(self.places),
            "lost": int(lost.sum()),
            "reasons": _reasons(scores, self.places[lost], self.after[lost]),
            "verdict": Verdict.TOO_FEW if len(self.places) else Verdict.NONE,
        }


def fault_cell(
    metric: AnyMetric,
    fault: JudgeFault,
    before: Scores,
    spoiled: tuple[Scores, int],
    clusters: NDArray[np.int64],
    level: float = 0.95,
) -> Cell:
    """A judged metric's cell for a judge fault.

    Args:
        metric: the metric.
        fault: what happened to the judge's replies.
        before: the scores of the rows with the judge as it is, shape (n,).
        spoiled: the scores with its replies spoiled, and how many replies that were; without any, the fault
            does not apply.
        clusters: which rows share a question, shape (n,).
        level: of the interval.
    """
    after, replies = spoiled
    known = before.ok
    facts: dict[str, Any] = {
        "metric": metric.canonical,
        "perturbation": fault.name,
        "kind": fault.kind,
        "pairs": int(known.sum()) if replies else 0,
        "not_applicable": 0 if replies else len(known),
        "lost": int((~known).sum()) if replies else 0,
        "reasons": _reasons(before, np.flatnonzero(~known), np.zeros(0, np.int64)) if replies else {},
        "verdict": Verdict.TOO_FEW if replies else Verdict.NONE,
    }
    if known.any() and replies:
        scale = Scale.of(metric.spec, before.values)
        found = withstood(before.values[known], after.values[known], scale, clusters[known], level=level)
        facts |= _numbers(found)
    return Cell(**facts)


def _numbers(found: Moved) -> dict[str, Any]:
    return {
        "share": found.share,
        "unchanged": found.unchanged,
        "median_change": found.median,
        "mean_change": found.mean,
        "most_change": found.most,
        "worst_change": found.worst,
        "verdict": found.verdict,
    } | _ends("", found.interval)


def _ends(prefix: str, interval: Interval | None) -> dict[str, float]:
    return {} if interval is None else {f"{prefix}low": interval.low, f"{prefix}high": interval.high}


def _reasons(scores: Scores, before: NDArray[np.int64], after: NDArray[np.int64]) -> dict[str, int]:
    """Why pairs were lost: what stood against the changed row, or else against the row as it was."""
    told: Counter[str] = Counter()
    for place, row in enumerate(before.tolist()):
        late = after[place] if place < len(after) and not scores.ok[after[place]] else None
        at, when = (row, "before") if late is None or not scores.ok[row] else (int(late), "after")
        told[f"{when}, {scores.status[at]}: {scores.reasons[at][:_LONGEST]}"] += 1
    most = dict(told.most_common(_REASONS))
    rest = told.total() - sum(most.values())
    return most | ({"other reasons": rest} if rest else {})


def too_few_note(bench_rows: int) -> str:
    """What to say where there are too few rows for any verdict; empty otherwise.

    >>> too_few_note(200), too_few_note(3)
    ('', 'A verdict takes 10 pairs of values, and there are 3 rows: give more.')
    """
    if bench_rows >= FEWEST_PAIRS:
        return ""
    return f"A verdict takes {FEWEST_PAIRS} pairs of values, and there are {bench_rows} rows: give more."
