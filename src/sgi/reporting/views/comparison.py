"""View of a comparison of two runs: differences, and the rows that changed most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.compare import compare
from sgi.engine.stored_runs import read_run
from sgi.engine.summarise import with_range
from sgi.reporting.views.row_view import sample_views
from sgi.reporting.views.run_header import unfinished_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.compare import Comparison
    from sgi.reporting.views.row_view import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class ChangedSample:
    """A row with a large change in a metric.

    Attributes:
        metric: canonical name of the metric.
        difference: after − before.
        before: the row in the base run.
        after: the row in the new run.
    """

    metric: str
    difference: float
    before: SampleView
    after: SampleView


@dataclass(frozen=True)
class ComparisonView:
    """Two runs, paired row by row.

    Attributes:
        base: the base run.
        new: the new run.
        comparison: the differences with their intervals.
        shares: the metrics shown as percent.
        changed: for each metric the rows that changed most, largest change first.
        notes: accepted differences between the runs, assumptions, and unfinished runs.
    """

    base: RunRecord
    new: RunRecord
    comparison: Comparison
    shares: frozenset[str]
    changed: tuple[ChangedSample, ...]
    notes: tuple[str, ...]


def comparison_view(
    database: Database,
    base: RunRecord,
    new: RunRecord,
    *,
    changed: int = 5,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    margin: float | None = None,
) -> ComparisonView:
    """Compare two runs, paired row by row.

    ``metrics`` selects metrics by full name or by name without parameters (default: all). p is adjusted for
    all metrics that both runs have. ``margin`` is as in `sgi.analysis.compare.compare`.

    Raises:
        NotComparableError: the runs differ in more than their responses; ``allow_different`` accepts that.
        UsageError: the runs share no sample or no metric, or rows of one id have different questions.
        UnknownNameError: a metric is not in both runs.
    """
    before, after = read_run(database, base), read_run(database, new)
    comparison = compare(
        before, after, changed=changed, metrics=metrics, allow_different=allow_different, margin=margin
    )
    return ComparisonView(
        base=base,
        new=new,
        comparison=comparison,
        shares=frozenset(name for name, column in before.metrics.items() if with_range(column).is_share),
        changed=_changed_rows(database, base, new, comparison),
        notes=(
            *(f"Differs in more than the responses: {difference}." for difference in comparison.differences),
            *unfinished_notes((base, new)),
            *comparison.notes,
        ),
    )


def _changed_rows(
    database: Database, base: RunRecord, new: RunRecord, comparison: Comparison
) -> tuple[ChangedSample, ...]:
    rows = [row for metric in comparison.metrics for row in metric.changed]
    before = sample_views(database, base, [row.id for row in rows])
    after = sample_views(database, new, [row.new_id for row in rows])
    return tuple(
        ChangedSample(metric.metric, row.difference, before[row.id], after[row.new_id])
        for metric in comparison.metrics
        for row in metric.changed
        if row.id in before and row.new_id in after
    )
