"""Formats the values and the differences of one metric, and chooses the metric of a run that matters most."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Self

from sgi.analysis.amounts import format_amount
from sgi.engine.review import FINDING
from sgi.kernel.errors import SgiError
from sgi.kernel.metric import COST_UNITS
from sgi.kernel.registry import metric_class, metric_name
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED
from sgi.reporting.formatting import format_scaled, span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric import MetricSpec
    from sgi.stats.intervals import Interval


QUALITY = (
    CALIBRATED.name,
    *("faithfulness", "groundedness", "grounding", "factual_accuracy", "answer_correctness"),
    *("semantic_similarity", "reference_aggregate", "squad_token_f1", "rouge_l", "sgi", "sgi_bounded"),
)
"""Metrics of the quality of answers, the most important first."""


def main_metric(metrics: Iterable[MetricSummary]) -> MetricSummary | None:
    """Return the metric that selects the answers to check: one with findings, or the most important one."""
    scored = [metric for metric in metrics if metric.ok]
    return min(scored, key=lambda one: (one.review is None, importance(one.metric)), default=None)


def importance(metric: str) -> int:
    """Return the rank of a metric by its importance for the quality of answers; 0 is the most important."""
    name = metric_name(metric)
    return QUALITY.index(name) if name in QUALITY else len(QUALITY)


def share_of_range(metric: str, value: float | None) -> float | None:
    """Return the position of a value in the finite range of its metric, from 0 to 1; None if infinite.

    >>> share_of_range("rouge_l", 0.25), share_of_range("sgi", 0.25), share_of_range("unknown", 0.25)
    (0.25, None, None)
    """
    spec = _spec(metric)
    if value is None or spec is None:
        return None
    is_finite = isfinite(spec.low) and isfinite(spec.high) and spec.low < spec.high
    return (value - spec.low) / (spec.high - spec.low) if is_finite else None


def is_higher_better(metric: str) -> bool:
    """Return whether higher values of a metric are better; true for a metric that is not known here."""
    spec = _spec(metric)
    return spec is None or spec.higher_is_better


def has_findings(metric: str) -> bool:
    """Return whether the details of a metric have a finding for each row."""
    spec = _spec(metric)
    return spec is not None and spec.category == FINDING


def _spec(metric: str) -> MetricSpec | None:
    try:
        return metric_class(metric_name(metric)).spec
    except SgiError:  # a metric of a plugin or definition that is not known here
        return None


@dataclass(frozen=True)
class MetricFormat:
    """Formats the numbers of one metric: latency, tokens and cost with their unit, shares in percent.

    ``unit`` is the unit of the metric; ``is_share`` says whether to display it in percent.

    >>> form = MetricFormat("ms", is_share=False)
    >>> form.value(1250.4), form.difference(-3.25)
    ('1,250 ms', '-3.2 ms')
    """

    unit: str
    is_share: bool

    @classmethod
    def of(cls, metric: str, is_share: bool) -> Self:
        """Return the format of a metric by its canonical string; without a unit if it is not installed."""
        spec = _spec(metric)
        return cls("" if spec is None else spec.unit, is_share)

    def value(self, value: float | None) -> str:
        """Format a value or a mean; None is a dash."""
        return self._number(value, "%", "-")

    def difference(self, value: float | None, *, sign: str = "-") -> str:
        """Format a difference of two values; ``sign="+"`` shows the sign of positive numbers."""
        return self._number(value, "pp", sign)

    def interval(self, interval: Interval | None) -> str:
        """Format both ends of an interval."""
        if interval is None or self.unit not in COST_UNITS:
            return span(interval, self.is_share)
        return f"[{self.value(interval.low)}, {self.value(interval.high)}]"

    def _number(self, value: float | None, unit: str, sign: str) -> str:
        if value is None or self.unit not in COST_UNITS:
            return format_scaled(value, self.is_share, unit=unit, sign=sign)
        return format_amount(value, self.unit, sign=sign)
