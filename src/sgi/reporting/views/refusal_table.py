"""View of refusals and answers to answerable and to unanswerable questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.summary import MetricSummary
    from sgi.stats.intervals import Interval

_ORIGINS = {"": "column answerable", "_judged": "judge"}


@dataclass(frozen=True)
class RefusalCounts:
    """Responses to questions of one kind.

    Attributes:
        refused: number of refusals.
        answered: number of other responses.
        share: the share of refusals; None without responses.
        interval: the interval of the share; None if there is none.
        no_interval: why there is no interval; empty if there is one.
    """

    refused: int
    answered: int
    share: float | None
    interval: Interval | None
    no_interval: str = ""

    @property
    def answered_interval(self) -> Interval | None:
        """The interval of the share of answers."""
        if self.interval is None:
            return None
        return replace(self.interval, low=1 - self.interval.high, high=1 - self.interval.low)


@dataclass(frozen=True)
class RefusalTable:
    """The 2 × 2 table of answerable × refused.

    Attributes:
        origin: what decides whether a question is answerable.
    """

    origin: str
    answerable: RefusalCounts
    unanswerable: RefusalCounts


def refusal_views(metrics: Iterable[MetricSummary]) -> list[RefusalTable]:
    """Return a table for each origin of answerability with metrics of both kinds of questions."""
    by_name = {metric.metric: metric for metric in metrics}
    views = []
    for suffix, origin in _ORIGINS.items():
        needless = by_name.get(f"needless_refusal{suffix}")
        correct = by_name.get(f"correct_refusal{suffix}")
        answered = by_name.get(f"answered_unanswerable{suffix}")
        if needless and (correct or answered):
            unanswerable = _counts(correct) if correct else _swap(_counts(answered))
            views.append(RefusalTable(origin, _counts(needless), unanswerable))
    return views


def _counts(metric: MetricSummary | None) -> RefusalCounts:
    if metric is None or metric.mean is None:
        return RefusalCounts(0, 0, None, None)
    refused = round(metric.mean * metric.ok)
    return RefusalCounts(refused, metric.ok - refused, metric.mean, metric.interval, metric.no_interval)


def _swap(counts: RefusalCounts) -> RefusalCounts:
    """Return the counts of refusals from those of answers."""
    share = None if counts.share is None else 1 - counts.share
    return RefusalCounts(counts.answered, counts.refused, share, counts.answered_interval, counts.no_interval)
