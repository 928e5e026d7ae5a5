"""The scores of one metric of a run, with their mean, interval and coverage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.kernel.metric import Scores
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.engine.summary import MetricSummary
    from sgi.stats.intervals import Interval


@dataclass(frozen=True, eq=False)
class RunScores(Scores):
    """The scores of one metric of a run: an entry for each row, and their mean, interval and coverage.

    ``values``, ``status``, ``reasons`` and ``details`` are as in `Scores`. Mean and interval are those of
    ``run.summary()``, which is computed when one of them is first used.

    Attributes:
        read_summary: returns the summary of the metric.

    >>> from sgi import evaluate
    >>> rows = [{"response": "Paris.", "reference": name} for name in ("paris", "Rome", "")]
    >>> scores = evaluate(rows, "squad_em")["squad_em"]
    >>> scores.values.tolist(), scores.status.tolist()
    ([1.0, 0.0, nan], ['ok', 'ok', 'undefined'])
    >>> low, high = scores.interval
    >>> scores.mean, round(low, 2), round(high, 2), round(scores.coverage, 2)
    (0.5, 0.09, 0.91, 0.67)
    """

    read_summary: Callable[[], MetricSummary] = field(repr=False)

    __repr__ = short_repr

    @property
    def summary(self) -> MetricSummary:
        """The summary of the metric, also with the number of rows by status and, for labelled rows, AUROC."""
        return self.read_summary()

    @property
    def mean(self) -> float | None:
        """The mean over the rows with status ``ok``; None if there are none. See `MetricSummary`."""
        return self.summary.mean

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean, over clusters of rows: ``low, high = interval``.

        None if there are too few clusters; ``summary.no_interval`` has the reason.
        """
        return self.summary.interval

    @property
    def coverage(self) -> float:
        """The share of rows with status ``ok``, in [0, 1]; 0 for no rows."""
        return self.summary.coverage
