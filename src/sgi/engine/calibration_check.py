"""Checks whether the scores of a run are like those that its calibration was fitted on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.stats.conformal import one_row_per_cluster
from sgi.stats.two_samples import compare_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.metrics.calibrated_metric import CalibratedMetric

LEVEL = 0.01
"""Share of runs with data like the calibration data that get a warning: half of it for each of two tests."""

MAX_QUESTIONS = 1000
"""Largest number of questions of a run that are compared; more are sampled."""


@dataclass(frozen=True)
class CalibrationCheck:
    """Comparison of the scores of a run with the scores of the calibration rows, one row for each question.

    Attributes:
        metric: canonical string of the calibrated metric.
        score_distance: Kolmogorov-Smirnov distance of the two distributions of scores, in [0, 1]; a row
            without a value counts as the lowest score.
        score_p: p-value of equal distributions of scores.
        length_distance: the distance of the two distributions of response lengths.
        length_p: p-value of equal distributions of lengths.
        questions: number of questions of the run that are compared.
        calibration_questions: number of questions of the calibration rows.
        undefined: share of these questions of the run whose row has no value.
        calibration_undefined: the same share of the calibration rows.
        rows: number of rows of the run with a value.
        outside: number of these rows with a score outside the range of the calibration rows.
        low: the smallest score of the calibration rows.
        high: the greatest score of the calibration rows.
    """

    metric: str
    score_distance: float
    score_p: float
    length_distance: float
    length_p: float
    questions: int
    calibration_questions: int
    undefined: float
    calibration_undefined: float
    rows: int
    outside: int
    low: float
    high: float

    @property
    def scores_differ(self) -> bool:
        """Whether the test rejects that the scores come from the same distribution."""
        return self.score_p <= LEVEL / 2

    @property
    def lengths_differ(self) -> bool:
        """Whether the test rejects that the lengths come from the same distribution."""
        return self.length_p <= LEVEL / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON values, with the results of the two tests."""
        results = {"scores_differ": self.scores_differ, "lengths_differ": self.lengths_differ}
        return asdict(self) | results

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the check that `to_dict` wrote."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})

    def notes(self) -> Iterator[str]:
        """Yield a warning for each test that rejects, and for extrapolated probabilities."""
        differences = []
        if self.scores_differ:
            shares = f"{self.undefined:.1%} have no value, {self.calibration_undefined:.1%} there"
            distance = f"distance {self.score_distance:.2f}, p = {self.score_p:.3f}"
            differences.append(f"the scores ({distance}; {shares})")
        if self.lengths_differ:
            distance = f"distance {self.length_distance:.2f}, p = {self.length_p:.3f}"
            differences.append(f"the lengths of the responses ({distance})")
        if differences:
            yield (
                f"Warning: this run differs from the rows that {metric_label(self.metric)} was fitted on in"
                f" {' and '.join(differences)}: {pluralize(self.questions, 'question')} here,"
                f" {self.calibration_questions:,} there. The probabilities may be wrong: label rows of this"
                " data and calibrate again."
            )
        if self.outside:
            usual = 2 / (self.calibration_questions + 1)
            outside = pluralize_part(self.outside, self.rows, "row", "scores", "score")
            yield (
                f"{outside} outside the range of the calibration rows,"
                f" {self.low:.4g} to {self.high:.4g}; up to {usual:.1%} are expected for similar data. Their"
                " probabilities are extrapolated."
            )


def check_calibration(
    metric: CalibratedMetric,
    scores: MetricColumn,
    lengths: NDArray[np.float64],
    clusters: NDArray[np.int64],
) -> CalibrationCheck | None:
    """Compare the scores of the inner metric with the calibration rows; None for a run without rows.

    ``lengths`` (n,) are the lengths of the responses, NaN for a row without a response. ``clusters`` (n,) has
    equal numbers for rows of one question; a fixed seed draws one row of each.
    """
    reference = metric.calibration.reference
    drawn = one_row_per_cluster(clusters)
    if not len(drawn):
        return None
    if len(drawn) > MAX_QUESTIONS:
        drawn = np.random.default_rng(0).choice(drawn, MAX_QUESTIONS, replace=False)
    lost = ~scores.ok[drawn]
    values = np.where(lost, -np.inf, scores.values[drawn])
    fitted = np.concatenate([np.full(reference.undefined, -np.inf), reference.scores])
    of_scores = compare_samples(fitted, values)
    of_lengths = compare_samples(reference.lengths, np.nan_to_num(lengths[drawn]))
    known = scores.values[scores.ok]
    return CalibrationCheck(
        metric=metric.canonical,
        score_distance=of_scores.distance,
        score_p=of_scores.p,
        length_distance=of_lengths.distance,
        length_p=of_lengths.p,
        questions=len(values),
        calibration_questions=len(fitted),
        undefined=float(lost.mean()),
        calibration_undefined=reference.undefined / len(fitted),
        rows=len(known),
        outside=int(((known < reference.low) | (known > reference.high)).sum()),
        low=reference.low,
        high=reference.high,
    )
