"""The changes of each metric between two runs, from the paired comparison of `sgi.analysis.compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.compare import compare
from sgi.analysis.run_differences import OTHER_QUESTIONS
from sgi.kernel.errors import NotPairedError, UsageError

if TYPE_CHECKING:
    from sgi.analysis.compare import Verdict
    from sgi.engine.run import Run


@dataclass(frozen=True)
class MetricChange:
    """The change of a metric between two runs.

    Attributes:
        difference: new − base over the pairs of rows; None if the runs are not comparable.
        verdict: the verdict of `compare`; None if it did not test the difference.
        obstacle: why the runs are not comparable; empty if they are.
    """

    difference: float | None = None
    verdict: Verdict | None = None
    obstacle: str = ""


def metric_changes(base: Run, new: Run) -> dict[str, MetricChange]:
    """Return the change of each metric of both runs.

    A metric has a difference only if `compare` would compare it without ``allow_different``; the p of its
    verdict is corrected for all metrics of both runs, as there.

    >>> import numpy as np
    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> def run(*ids):
    ...     column = MetricColumn("rouge_l", np.arange(6) / 9, np.zeros(6, dtype=np.int8), 0.0, 1.0)
    ...     return Run.of("run", ids, [column])
    >>> metric_changes(run(*"abcdef"), run(*"uvwxyz"))["rouge_l"].obstacle
    'other questions'
    """
    shared = [name for name in base.metrics if name in new.metrics]
    try:
        comparison = compare(base, new, changed=0, allow_different=True)
    except NotPairedError:
        return dict.fromkeys(shared, MetricChange(obstacle=OTHER_QUESTIONS))
    except UsageError:  # a metric has another range or direction
        return dict.fromkeys(shared, MetricChange(obstacle="other definition of a metric"))
    changes = {}
    for metric in comparison.metrics:
        found = [one.in_short for one in comparison.differences if one.concerns([metric.metric])]
        verdict = None if metric.adjusted_p is None else metric.verdict
        change = MetricChange(metric.difference.difference, verdict)
        changes[metric.metric] = MetricChange(obstacle=", ".join(found)) if found else change
    return changes
