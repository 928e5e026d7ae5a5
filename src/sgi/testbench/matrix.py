"""The matrix of metrics and perturbations: rows as they are beside what they were changed to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from sgi.testbench.measures import FEWEST_PAIRS, Scale, Verdict, moved, withstood
from sgi.testbench.perturbation import Kind, Perturbation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.sample import Sample
    from sgi.testbench.judge_faults import JudgeFault
    from sgi.testbench.measures import Moved

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
        lost: rows without one of the two values, which count for nothing; for judge faults, without the one
            before.
        reasons: why, with how many rows each, the most frequent first.
        share: of pairs that did what is demanded (see `sgi.testbench.measures.moved`); None without pairs.
        low: the lower end of the share's 95 % interval; None of too few pairs.
        high: the upper end.
        unchanged: the share of pairs whose values are equal.
        median_change: negative is worse; in interquartile ranges of the metric's values on the rows as they
            are.
        mean_change: of the absolute changes, as a share of the metric's range.
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
    mean_change: float | None = None
    worst_change: float | None = None
    verdict: Verdict


class Bench(_Model):
    """What metrics see of what was done to grounded rows.

    Attributes:
        data: what the rows were read from.
        rows: how many rows were perturbed.
        seed: of all that was drawn.
        metrics: their canonical strings, in the order asked.
        changes: what was done, in the order of the matrix.
        cells: one for each metric and change, change by change.
        notes: what a reader has to know of how it was made.
        signature: everything that can change a number.
    """

    data: str
    rows: int
    seed: int
    metrics: tuple[str, ...]
    changes: tuple[Change, ...]
    cells: tuple[Cell, ...]
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
    """

    samples: tuple[Sample, ...]
    changed: Mapping[str, tuple[NDArray[np.int64], tuple[Sample, ...]]]

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
        """Which rows share a question, shape (n,)."""
        found = (sample.cluster(row) for row, sample in enumerate(self.samples))
        return np.fromiter(found, np.int64, len(self.samples))


def row_cells(
    paired: Paired, changes: Sequence[Perturbation], metric: AnyMetric, scores: Scores, seed: int
) -> list[Cell]:
    """A metric's cells, one for each perturbation of rows.

    Args:
        paired: what was scored.
        changes: the perturbations, in the order in which their rows were scored.
        metric: the metric.
        scores: of `Paired.all_rows`, in that order.
        seed: of the intervals.
    """
    n = len(paired.samples)
    scale, clusters = Scale.of(metric.spec, scores.values[:n]), paired.clusters
    cells, start = [], n
    for one in changes:
        places, made = paired.changed[one.name]
        after = np.arange(start, start + len(made))
        start += len(made)
        both = scores.ok[places] & scores.ok[after]
        facts: dict[str, Any] = {
            "metric": metric.canonical,
            "perturbation": one.name,
            "kind": one.kind,
            "pairs": int(both.sum()),
            "not_applicable": n - len(places),
            "lost": int((~both).sum()),
            "reasons": _reasons(scores, places[~both], after[~both]),
            "verdict": Verdict.TOO_FEW if len(places) else Verdict.NONE,
        }
        if both.any():
            before, then = scores.values[places[both]], scores.values[after[both]]
            found = moved(one.kind, before, then, scale, clusters[places[both]], seed=seed)
            facts |= _numbers(found)
            if found.unchanged == 1 and metric.spec.needs.isdisjoint(one.changes):
                facts["verdict"] = Verdict.NONE
        cells.append(Cell(**facts))
    return cells


def fault_cell(
    metric: AnyMetric,
    fault: JudgeFault,
    before: Scores,
    spoiled: tuple[Scores, int],
    clusters: NDArray[np.int64],
) -> Cell:
    """A judged metric's cell for a judge fault.

    Args:
        metric: the metric.
        fault: what happened to the judge's replies.
        before: the scores of the rows with the judge as it is, shape (n,).
        spoiled: the scores with its replies spoiled, and how many replies that were; without any, the fault
            does not apply.
        clusters: which rows share a question, shape (n,).
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
        facts |= _numbers(withstood(before.values[known], after.values[known], scale, clusters[known]))
    return Cell(**facts)


def _numbers(found: Moved) -> dict[str, Any]:
    interval = found.interval
    return {
        "share": found.share,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "unchanged": found.unchanged,
        "median_change": found.median,
        "mean_change": found.mean,
        "worst_change": found.worst,
        "verdict": found.verdict,
    }


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
