"""Converts the score of a metric into the probability that the response is grounded, and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricSpec, Scores
from sgi.metrics.wrapper import JudgedWrapper, MetricWrapper

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Batch
    from sgi.stats.conformal import LengthThresholds
    from sgi.stats.probability_maps import ProbabilityMap


class CalibratedDetails(TypedDict, total=False):
    """The details of the inner metric, and what the calibration adds.

    Attributes:
        score: the value of the inner metric.
        threshold: the threshold for the length of the response; null if no such response is flagged.
        verdict: ``flagged`` if the score is worse than the threshold, otherwise ``passed``.
    """

    score: float
    threshold: float | None
    verdict: Literal["passed", "flagged"]


SPEC = MetricSpec(
    "calibrated",
    1,
    needs=frozenset(),
    category="verdict",
    classes=("passed", "flagged"),
    details=CalibratedDetails,
)
"""The spec that all calibrated metrics share; each adds the needs and the citation of its inner metric."""


@dataclass(frozen=True)
class Calibration:
    """Thresholds and probabilities of a metric, fitted on labelled rows.

    Attributes:
        digest: identifier of the calibration.
        higher_is_better: the metric's direction; if False, thresholds and probabilities use negated scores.
        thresholds: by the length of the response in characters; a row with a lower value is flagged.
        probabilities: map from a value to the probability that the response is grounded.
    """

    digest: str
    higher_is_better: bool
    thresholds: LengthThresholds
    probabilities: ProbabilityMap

    def apply(self, scores: Scores, batch: Batch) -> Scores:
        """Convert scores into probabilities; the details get the score, the threshold and the verdict."""
        sign = 1.0 if self.higher_is_better else -1.0
        better = sign * scores.values
        probabilities = self.probabilities.probability(better)
        thresholds = self.thresholds.of([len(response) for response in batch.response])
        details = [
            {**detail, **_detail(score, sign * threshold, flagged=value < threshold)} if ok else detail
            for detail, score, value, threshold, ok in zip(
                scores.details,
                scores.values.tolist(),
                better.tolist(),
                thresholds.tolist(),
                scores.ok.tolist(),
                strict=True,
            )
        ]
        return Scores(np.asarray(probabilities), scores.status, scores.reasons, tuple(details))


def _detail(score: float, threshold: float, *, flagged: bool) -> dict[str, JsonValue]:
    finite_threshold = threshold + 0.0 if math.isfinite(threshold) else None
    return {"score": score, "threshold": finite_threshold, "verdict": "flagged" if flagged else "passed"}


@dataclass(frozen=True)
class CalibratedMetric(MetricWrapper):
    r"""The probability that a response is grounded, from a metric's score and its calibration.

    .. math:: P(grounded \mid s)

    In [0, 1]. The details also hold the score, the threshold for the length of the response (None if no row
    can be flagged), and the verdict: ``flagged`` if the score is worse than the threshold, otherwise
    ``passed``. Rows without a value keep the metric's status and reason. The probability is valid for data
    like the calibration data, with the same share of grounded responses; for other data it can be far off.

    Attributes:
        metric: the metric to convert.
        calibration: thresholds and probabilities, fitted on labelled rows.

    References: Platt (1999); Zadrozny and Elkan (2002); Vovk (2012).

    >>> from sgi import Batch, Features, Sample
    >>> from sgi.metrics.lexical import SquadTokenF1
    >>> from sgi.stats.conformal import LengthThresholds
    >>> from sgi.stats.probability_maps import PlattMap
    >>> fitted = Calibration("3f2a", True, LengthThresholds((), (0.5,), (99,)), PlattMap(4.0, -2.0))
    >>> rows = Batch.of([Sample(id="1", response="in 1950", reference="1950 or later")])
    >>> metric = calibrate_metric(SquadTokenF1(), fitted)
    >>> metric.canonical
    'calibrated(metric="squad_token_f1", calibration="3f2a")'
    >>> metric.score(metric.prepare(rows), Features()).details[0]["verdict"]
    'flagged'
    """

    metric: AnyMetric
    calibration: Calibration
    spec: ClassVar = SPEC

    def __post_init__(self) -> None:
        spec = self.metric.spec
        object.__setattr__(self, "spec", replace(SPEC, needs=spec.needs, citation=spec.citation))

    @property
    def parameters(self) -> dict[str, Any]:
        """The inner metric, and the calibration's digest."""
        return {"metric": self.metric.canonical, "calibration": self.calibration.digest}

    @property
    def inner(self) -> AnyMetric:
        """The metric that was calibrated."""
        return self.metric

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert scores of the inner metric into probabilities."""
        return self.calibration.apply(scores, batch)


@dataclass(frozen=True)
class CalibratedJudgedMetric(CalibratedMetric, JudgedWrapper):
    """A `CalibratedMetric` whose inner metric is judged; it shares the judge calls of the inner metric."""

    metric: JudgedMetric[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "judgement", self.metric.judgement)
        object.__setattr__(self, "prompts", self.metric.prompts)

    @property
    def inner(self) -> JudgedMetric[Any]:
        """The metric that was calibrated."""
        return self.metric


def calibrate_metric(metric: AnyMetric, calibration: Calibration) -> CalibratedMetric:
    """Wrap a metric with a calibration."""
    if isinstance(metric, JudgedMetric):
        return CalibratedJudgedMetric(metric, calibration)
    return CalibratedMetric(metric, calibration)
