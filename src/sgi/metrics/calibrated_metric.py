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
from sgi.stats.logistic_map import LogisticMap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Batch
    from sgi.stats.conformal import LengthThresholds
    from sgi.stats.probability_maps import ProbabilityMap


LEAST_SHARE = 1e-6
"""Scores closer than this to 0 or 1 count as this close, so that their log odds are finite."""


class CalibratedDetails(TypedDict, total=False):
    """The details of the inner metric, and what the calibration adds.

    Attributes:
        score: the value of the inner metric.
        probability_low: lower end of the 95 % interval of the probability; absent for an isotonic map.
        probability_high: upper end of this interval.
        extrapolated: whether the score is outside the range of the calibration rows.
        threshold: the threshold for the length of the response; null if no such response is flagged; absent
            if the calibration has no thresholds.
        verdict: ``flagged`` if the score is worse than the threshold, otherwise ``passed``; absent without
            thresholds.
    """

    score: float
    probability_low: float
    probability_high: float
    extrapolated: bool
    threshold: float | None
    verdict: Literal["passed", "flagged"]


SPEC = MetricSpec(
    "calibrated",
    2,
    needs=frozenset(),
    category="verdict",
    classes=("passed", "flagged"),
    details=CalibratedDetails,
)
"""The spec that all calibrated metrics share; each adds the needs and the citation of its inner metric."""


@dataclass(frozen=True)
class ReferenceScores:
    """Scores of the calibration rows, one row for each question, with which the scores of a run are compared.

    Attributes:
        scores: on the metric's scale, ascending.
        lengths: characters of the responses, ascending.
        undefined: number of questions whose row has no value.
        low: the smallest score of all calibration rows.
        high: the greatest score of all calibration rows.
    """

    scores: tuple[float, ...]
    lengths: tuple[int, ...]
    undefined: int
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """Thresholds and probabilities of a metric, fitted on labelled rows.

    Attributes:
        digest: identifier of the calibration.
        higher_is_better: the metric's direction; if False, thresholds and the map use negated values.
        probabilities: map from a value, or from its log odds, to the probability that the response is
            grounded.
        reference: scores of the calibration rows.
        log_odds: whether the map reads the log odds of a value; only for scores in [0, 1].
        thresholds: by the length of the response in characters; a row with a lower value is flagged. None for
            a calibration without thresholds.
    """

    digest: str
    higher_is_better: bool
    probabilities: ProbabilityMap | LogisticMap
    reference: ReferenceScores
    log_odds: bool = False
    thresholds: LengthThresholds | None = None

    def apply(self, scores: Scores, batch: Batch) -> Scores:
        """Convert scores into probabilities; the details get the score, its interval and the verdict."""
        inputs = map_inputs(scores.values, higher_is_better=self.higher_is_better, log_odds=self.log_odds)
        columns: dict[str, list[object]] = {"score": scores.values.tolist()}
        if isinstance(self.probabilities, LogisticMap):
            low, high = self.probabilities.interval(inputs)
            columns |= {"probability_low": low.tolist(), "probability_high": high.tolist()}
        outside = (scores.values < self.reference.low) | (scores.values > self.reference.high)
        columns["extrapolated"] = outside.tolist()
        if self.thresholds is not None:
            columns |= self._verdicts(self.thresholds, scores, batch)
        details = [
            {**detail, **dict(zip(columns, values, strict=True))} if ok else detail
            for detail, ok, *values in zip(scores.details, scores.ok.tolist(), *columns.values(), strict=True)
        ]
        probabilities = self.probabilities.probability(inputs)
        return Scores(np.asarray(probabilities), scores.status, scores.reasons, tuple(details))

    def _verdicts(self, strata: LengthThresholds, scores: Scores, batch: Batch) -> dict[str, list[Any]]:
        sign = 1.0 if self.higher_is_better else -1.0
        thresholds = strata.of([len(response) for response in batch.response])
        flagged = sign * scores.values < thresholds
        return {
            "threshold": [sign * each + 0.0 if math.isfinite(each) else None for each in thresholds.tolist()],
            "verdict": ["flagged" if each else "passed" for each in flagged.tolist()],
        }


def map_inputs(values: ArrayLike, *, higher_is_better: bool, log_odds: bool) -> NDArray[np.float64]:
    """Return the inputs of the probability map: values or their log odds, higher for grounded rows.

    >>> map_inputs([0.5, 0.0], higher_is_better=True, log_odds=True).round(2).tolist()
    [0.0, -13.82]
    """
    column = np.asarray(values, dtype=np.float64)
    if log_odds:
        share = np.clip(column, LEAST_SHARE, 1 - LEAST_SHARE)
        column = np.log(share / (1 - share))
    return column if higher_is_better else -column


@dataclass(frozen=True)
class CalibratedMetric(MetricWrapper):
    r"""The probability that a response is grounded, from a metric's score and its calibration.

    .. math:: P(grounded \mid s)

    In [0, 1]. The details also hold the score, the 95 % interval of the probability, and whether the score is
    outside the range of the calibration rows. If the calibration has thresholds, they hold the threshold for
    the length of the response (None if no row can be flagged), and the verdict: ``flagged`` if the score is
    worse than the threshold, otherwise ``passed``. Rows without a value keep the metric's status and reason.
    The probability is valid for data like the calibration data, with the same share of grounded responses;
    for other data it can be far off. The summary of a run says whether its scores differ from them.

    Attributes:
        metric: the metric to convert.
        calibration: thresholds and probabilities, fitted on labelled rows.

    References: Platt (1999); Zadrozny and Elkan (2002); Vovk (2012).

    >>> from sgi.types import Batch, Features, Sample
    >>> from sgi.metrics.lexical import SquadTokenF1
    >>> from sgi.stats.conformal import LengthThresholds
    >>> from sgi.stats.logistic_map import fit_logistic
    >>> fitted = Calibration(
    ...     "3f2a",
    ...     True,
    ...     fit_logistic([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]),
    ...     ReferenceScores((0.1, 0.4), (7, 9), 0, 0.1, 0.4),
    ...     thresholds=LengthThresholds((), (0.5,), (99,)),
    ... )
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


def calibrate_metric(metric: AnyMetric, calibration: Calibration) -> CalibratedMetric:
    """Wrap a metric with a calibration."""
    if isinstance(metric, JudgedMetric):
        return CalibratedJudgedMetric(metric, calibration)
    return CalibratedMetric(metric, calibration)
