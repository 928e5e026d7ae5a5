"""Matrix of metrics and perturbations: compares the scores of original and changed rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.sample import RESPONSE
from sgi_lab.metric_bench.detection import Alarm, Falls, detection_rate, is_paraphrase, threshold
from sgi_lab.metric_bench.measures import (
    FEWEST_PAIRS,
    Scale,
    Verdict,
    fault_reaction,
    interval_ends,
    reaction,
    simultaneous_level,
)
from sgi_lab.metric_bench.perturbation import Kind, Perturbation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.judge_faults import JudgeFault
    from sgi_lab.metric_bench.measures import Reaction

_OF_PAIRS = ("unchanged", "median_change", "mean_change", "most_change", "worst_change")
_REASONS = 5
_LONGEST = 200


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Change(_Model):
    """A perturbation of rows, or a simulated fault of the judge, and the number of rows it changed.

    ``kind`` is the reaction that the change requires of a metric.
    """

    name: str
    kind: Kind
    says: str
    applied: int


class Cell(_Model):
    """Reaction of one metric to one perturbation.

    Attributes:
        metric: canonical string of the metric.
        perturbation: name of the perturbation.
        kind: the required reaction.
        pairs: number of rows with a value before and after the change; for judge faults, with a value before.
        not_applicable: number of rows that the perturbation does not apply to.
        lost: number of rows without one of the two values (for judge faults: without the value before). For
            errors, a lost row that had a value before counts half in the share, and as not detected; other
            lost rows are left out.
        reasons: reasons for lost rows, with counts, most frequent first.
        share: share of pairs (for errors, also of lost rows) with the required reaction, see
            `sgi_lab.metric_bench.measures.reaction`; None without rows.
        low: lower end of the share's interval; None for too few pairs. The intervals of all cells of one kind
            hold jointly at 95 % (`sgi_lab.metric_bench.measures.simultaneous_level`).
        high: upper end of the share's interval.
        unchanged: share of pairs with equal values; None without pairs.
        median_change: median change in interquartile ranges of the original values; negative is worse. For
            errors, lost rows count as 0.
        seen: for errors, the share that falls by more than correct paraphrases do (see `Alarm`); None for
            other changes, and without enough paraphrases.
        seen_low: lower end of its interval, at the same level; None for too few pairs.
        seen_high: upper end.
        mean_change: mean absolute change, as a share of the metric's range.
        most_change: 98 % quantile of the absolute changes, as a share of the range.
        worst_change: maximum absolute change, as a share of the range.
        verdict: the verdict of the cell.
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


class Bench(_Model):
    """Result of a bench: how metrics react to changes of grounded rows.

    ``metrics`` are canonical strings, in the given order. There is a cell for each metric and change, ordered
    by change, and an alarm for each metric with enough correct paraphrases. ``signature`` contains everything
    that can change a number.
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
        """Return the cell of a metric and a perturbation, or None."""
        cells = (cell for cell in self.cells if (cell.metric, cell.perturbation) == (metric, perturbation))
        return next(cells, None)


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Original rows and their perturbed versions.

    ``changed`` holds, for each perturbation, the numbers of the original rows it applied to and the new rows;
    ``cluster`` is the rule that assigns rows to clusters.
    """

    samples: tuple[Sample, ...]
    changed: Mapping[str, tuple[NDArray[np.int64], tuple[Sample, ...]]]
    cluster: str = BY_QUESTION

    def all_rows(self) -> list[Sample]:
        """Return all rows to score, with unique ids: the original rows, then the rows of each change."""
        rows = [
            sample.model_copy(update={"id": f"{row}:{sample.id}"}) for row, sample in enumerate(self.samples)
        ]
        for name, (places, made) in self.changed.items():
            for row, sample in zip(places.tolist(), made, strict=True):
                rows.append(sample.model_copy(update={"id": f"{row}:{sample.id} {name}"}))
        return rows

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each row, shape (n,)."""
        clusters = (sample.cluster(row, self.cluster) for row, sample in enumerate(self.samples))
        return np.fromiter(clusters, np.int64, len(self.samples))


def levels(paired: PairedRows, changes: Sequence[Perturbation], metrics: int) -> dict[Kind, float]:
    """Return the level of each cell's interval, so that the intervals of a kind hold jointly at 95 %."""
    enough = Counter(one.kind for one in changes if len(paired.changed[one.name][0]) >= FEWEST_PAIRS)
    return {kind: simultaneous_level(max(1, enough[kind] * metrics)) for kind in Kind}


def row_cells(
    paired: PairedRows,
    changes: Sequence[Perturbation],
    metric: AnyMetric,
    scores: Scores,
    seed: int,
    level: Mapping[Kind, float],
) -> tuple[list[Cell], Alarm | None]:
    """Compute a metric's cells, one per perturbation of rows, and its detection threshold.

    Args:
        paired: the scored rows.
        changes: the perturbations, in the order of scoring.
        metric: the metric.
        scores: scores of `PairedRows.all_rows`, in that order.
        seed: random seed of the folds that estimate false alarms.
        level: confidence level per kind.

    Returns:
        The cells; no alarm if correct paraphrases are too few or the metric reads no response.
    """
    n = len(paired.samples)
    scale, clusters = Scale.of(metric.spec, scores.values[:n]), paired.clusters
    starts = np.cumsum([n, *(len(paired.changed[one.name][0]) for one in changes)])
    pairs = [_Pairs.of(one, paired, scores, start) for one, start in zip(changes, starts, strict=False)]
    reads = not metric.spec.needs.isdisjoint(RESPONSE)
    paraphrases = [one.falls(scale, clusters) for one in pairs if is_paraphrase(one.change)]
    least = threshold(paraphrases, seed=seed, metric=metric.canonical) if reads else None
    cells = []
    for one in pairs:
        facts = one.count_fields(metric, scores, n)
        if len(one.rows):
            rows = clusters[one.rows]
            kind = one.change.kind
            found = reaction(kind, one.before, one.then, scale, rows, level=level[kind])
            facts |= _reaction_fields(found)
            if not one.both.any():
                facts |= dict.fromkeys(_OF_PAIRS)
            if found.unchanged == 1 and metric.spec.needs.isdisjoint(one.change.changes):
                facts["verdict"] = Verdict.NONE
            elif least is not None and kind is Kind.ERROR:
                share, interval = detection_rate(one.falls(scale, clusters), least, level=level[kind])
                facts |= {"seen": share} | interval_ends("seen_", interval)
        cells.append(Cell(**facts))
    return cells, least


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Rows of one perturbation: numbers of the original rows, and positions of the changed ones.

    ``rows`` have both values, or for errors a value before; their value afterwards is NaN if lost.
    """

    change: Perturbation
    places: NDArray[np.int64]
    after: NDArray[np.int64]
    both: NDArray[np.bool_]
    rows: NDArray[np.int64]
    before: NDArray[np.float64]
    then: NDArray[np.float64]

    @classmethod
    def of(cls, change: Perturbation, paired: PairedRows, scores: Scores, start: int) -> _Pairs:
        places = paired.changed[change.name][0]
        after = np.arange(start, start + len(places))
        both = scores.ok[places] & scores.ok[after]
        counts = scores.ok[places] if change.kind is Kind.ERROR else both
        rows = places[counts]
        return cls(change, places, after, both, rows, scores.values[rows], scores.values[after[counts]])

    def falls(self, scale: Scale, clusters: NDArray[np.int64]) -> Falls:
        """Return the decrease of each value, as a share of the metric's range; NaN for a lost value."""
        return Falls((self.before - self.then) * scale.sign / scale.span, clusters[self.rows])

    def count_fields(self, metric: AnyMetric, scores: Scores, n: int) -> dict[str, Any]:
        """Return the fields of a cell that do not depend on values."""
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
    perturbed: tuple[Scores, int],
    clusters: NDArray[np.int64],
    level: float = 0.95,
) -> Cell:
    """Compute a judged metric's cell for a judge fault, from the scores ``before`` and with faulty replies.

    ``perturbed`` includes the number of faulty replies; 0 means not applicable.
    """
    after, replies = perturbed
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
        found = fault_reaction(before.values[known], after.values[known], scale, clusters[known], level=level)
        facts |= _reaction_fields(found)
    return Cell(**facts)


def _reaction_fields(found: Reaction) -> dict[str, Any]:
    fields = vars(found) | interval_ends("", found.interval)
    del fields["interval"]
    return fields


def _reasons(scores: Scores, before: NDArray[np.int64], after: NDArray[np.int64]) -> dict[str, int]:
    """Count the reasons for lost pairs: of the original row if it has no value, otherwise of the changed."""
    counts: Counter[str] = Counter()
    for place, row in enumerate(before.tolist()):
        late = after[place] if place < len(after) and not scores.ok[after[place]] else None
        at, when = (row, "before") if late is None or not scores.ok[row] else (int(late), "after")
        counts[f"{when}, {scores.status[at]}: {scores.reasons[at][:_LONGEST]}"] += 1
    most = dict(counts.most_common(_REASONS))
    rest = counts.total() - sum(most.values())
    return most | ({"other reasons": rest} if rest else {})
