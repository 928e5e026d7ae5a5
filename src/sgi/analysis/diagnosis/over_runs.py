"""Shares of causes of several runs, with the paired differences from the first run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.compare import SIGNIFICANT
from sgi.analysis.diagnosis.causes import CAUSES, CORRECT, TITLES
from sgi.analysis.systems import systems_of_runs
from sgi.engine.summary import NotebookRepr
from sgi.kernel.metric import Status
from sgi.kernel.metric_column import STATUSES, MetricColumn, MetricProvenance
from sgi.kernel.short_text import pluralize, short_repr
from sgi.stats.paired_tests import PairedDifference, holm, paired_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.diagnosis.causes import Cause
    from sgi.analysis.diagnosis.diagnosis import CauseShare, Diagnosis
    from sgi.engine.run import Run


@dataclass(frozen=True)
class ShareDifference:
    """Difference of the shares of a cause between two runs, over the rows that both diagnose.

    Attributes:
        run: the run that is compared with the first one.
        difference: the share in this run − the share in the first run.
        adjusted_p: p, corrected by Holm for all causes and runs.
    """

    run: str
    difference: PairedDifference
    adjusted_p: float | None


@dataclass(frozen=True)
class CauseComparison:
    """The share of a cause in each run, and the differences from the first run."""

    cause: Cause
    shares: tuple[CauseShare, ...]
    differences: tuple[ShareDifference, ...]


@dataclass(frozen=True)
class DiagnosisComparison(NotebookRepr):
    """The diagnoses of several runs side by side.

    Attributes:
        diagnoses: the diagnosis of each run.
        causes: the causes that occur in a run, the most frequent in the first run first.
        pairs: the number of rows that all runs have.
        notes: how the rows were paired, and what is left out.
    """

    diagnoses: tuple[Diagnosis, ...]
    causes: tuple[CauseComparison, ...]
    pairs: int
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    @property
    def sentences(self) -> tuple[str, ...]:
        """For each run after the first: the cause whose share rose most, if its adjusted p is below 0.05."""
        return tuple(f"{one.run}: {self._largest_rise(one.run)}" for one in self.diagnoses[1:])

    def _largest_rise(self, run: str) -> str:
        rises = [
            (one.difference.difference, one.difference.interval, cause.cause)
            for cause in self.causes
            for one in cause.differences
            if one.run == run and cause.cause != CORRECT
            if one.adjusted_p is not None and one.adjusted_p < SIGNIFICANT
        ]
        found = [
            (value, interval, cause)
            for value, interval, cause in rises
            if value is not None and interval is not None and interval.low > 0
        ]
        if not found:
            return "no rise of a cause found"
        value, interval, cause = max(found, key=itemgetter(0))
        return (
            f"{cause} rose most, {100 * value:+.1f} pp [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "runs": [one.to_dict() for one in self.diagnoses],
            "pairs": self.pairs,
            "sentences": list(self.sentences),
            "causes": [asdict(cause) for cause in self.causes],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{pluralize(self.pairs, 'row')} in {', '.join(one.run for one in self.diagnoses)}"]
        for one in self.causes:
            shares = " ".join("–" if s.share is None else f"{s.share:7.1%}" for s in one.shares)
            lines.append(f"  {one.cause:<22}{shares}  {TITLES[one.cause]}")
        return "\n".join([*lines, *self.sentences])


def compare_diagnoses(
    runs: Sequence[Run], diagnoses: Sequence[Diagnosis], *, allow_different: bool = False
) -> DiagnosisComparison:
    """Compare the shares of causes of several runs over the same questions.

    Args:
        runs: the runs, whose rows are paired with the rows of the first run.
        diagnoses: the diagnosis of each run.
        allow_different: compare runs that differ in more than their responses and passages.

    Raises:
        NotComparableError: a run differs from the first one in more than its responses and passages.
        UsageError: the runs have no row in common, or two of them have one name.
    """
    scored = [replace(run, metrics=_columns(one)) for run, one in zip(runs, diagnoses, strict=True)]
    systems = systems_of_runs(scored, allow_different=allow_different)
    occurring = [share.cause for share in diagnoses[0].causes if _occurs(share.cause, diagnoses)]
    others = range(1, len(runs))
    first = [systems.values[cause][:, 0] for cause in occurring for _ in others]
    second = [systems.values[cause][:, run] for cause in occurring for run in others]
    tests: Sequence[PairedDifference] = ()
    if occurring:
        tests = paired_differences(
            np.column_stack(first), np.column_stack(second), systems.clusters, ranges=[1.0] * len(first)
        )
    adjusted = iter(zip(tests, holm([test.p for test in tests]), strict=True))
    causes = []
    for cause in occurring:
        differences = tuple(ShareDifference(systems.names[run], *next(adjusted)) for run in others)
        shares = tuple(next(s for s in one.causes if s.cause == cause) for one in diagnoses)
        causes.append(CauseComparison(cause, shares, differences))
    notes = (*systems.notes, *_model_notes(diagnoses))
    return DiagnosisComparison(tuple(diagnoses), tuple(causes), len(systems.clusters), notes)


def _occurs(cause: Cause, diagnoses: Sequence[Diagnosis]) -> bool:
    return any(share.rows for one in diagnoses for share in one.causes if share.cause == cause)


def _model_notes(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    """Yield a note for each run whose metrics use other models than the first run."""
    first = diagnoses[0]
    for one in diagnoses[1:]:
        if one.models != first.models:
            models = (", ".join(each.models) or "no model" for each in (first, one))
            yield f"{first.run} and {one.run} are diagnosed with different models: {' → '.join(models)}."


def _columns(diagnosis: Diagnosis) -> dict[str, MetricColumn]:
    """Return a column of 0 and 1 for each cause; a row that is not diagnosed has no value.

    One table decides about all runs, so the columns have one version; `_model_notes` compares the models.
    """
    known = np.array([row.cause is not None for row in diagnosis.rows], dtype=np.bool_)
    codes = np.where(known, STATUSES.index(Status.OK), STATUSES.index(Status.UNDEFINED)).astype(np.int8)
    columns: dict[str, MetricColumn] = {}
    for cause in CAUSES:
        values = np.array([row.cause == cause for row in diagnosis.rows], dtype=np.float64)
        values[~known] = np.nan
        columns[cause] = MetricColumn(
            cause,
            values,
            codes,
            0.0,
            1.0,
            higher_is_better=cause == CORRECT,
            version=1,
            provenance=MetricProvenance(),
        )
    return columns
