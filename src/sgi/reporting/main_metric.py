"""Chooses the metric of a run that matters most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.kernel.registry import metric_name
from sgi.metrics.calibrated_metric import SPEC as CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.engine.summary import MetricSummary

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
    """Return the rank of a metric among those that measure the quality of answers, the least first."""
    name = metric_name(metric)
    return QUALITY.index(name) if name in QUALITY else len(QUALITY)
