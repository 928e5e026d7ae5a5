"""The mean label of all rows, from few labels and a score of every row; how many labels are needed."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    check_level,
    cluster_codes,
    effective_clusters,
    interval_or_none,
    student_quantile,
    wilson_ends,
)
from sgi.stats.means import mean_interval, row_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Maximum number of effective rows per label, since a few labels cannot show that scores are perfect.
_MAX_ROWS_PER_LABEL = 4
_METHOD = "prediction-powered"


@dataclass(frozen=True)
class PredictionPoweredMean:
    """The mean label of all rows, estimated from labels and scores.

    Attributes:
        interval: confidence interval; None with fewer than five labelled clusters, or without any spread.
        power: λ in [0, 1], the weight of the scores; 0 uses the labels alone.
        labelled: number of rows with a label.
        unlabelled: number of rows with a score only.
    """

    value: float
    interval: Interval | None
    power: float
    labelled: int
    unlabelled: int


def prediction_powered_mean(
    labels: ArrayLike,
    scores: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> PredictionPoweredMean | None:
    r"""Return the mean label of all rows, from scores of all rows and labels of a random sample.

    .. math:: \hat\theta = \lambda \bar f_U + \overline{(y - \lambda f)}_L, \qquad
              \lambda = \frac{\mathrm{Cov}_L(y, f)}{(1 + n/N)\,\mathrm{Var}(f)} \text{ within } [0, 1]

    L are the n labelled rows, U the N others, y the labels and f the scores. With a fixed λ the estimate has
    no bias, even if the scores have one. λ is estimated from the same labels, which leaves a small bias: up
    to 0.03 with 12 labels, 0.02 with 20 and 0.007 with 100 (docs/internals/results/ranking-intervals.md). t
    has the effective number of labelled clusters minus two degrees of freedom, since λ is estimated too.

    * Binary labels (each at an end of ``bounds``): Wilson's interval with θ̂(1 − θ̂)/SE² effective rows, at
      most four times the labelled ones, and t for z. In simulations (12 to 200 labels, shares 0.5 to 0.98)
      the 95 % interval covers 92 to 100 %, where θ̂ ± t·SE covers as little as 84 %.
    * Other labels: θ̂ ± t·SE, clipped to the bounds. It is too narrow for nearly constant labels.

    If every row is labelled, value and interval are those of the labels (`mean_interval`).

    With ``probabilities`` π, shape (n,), row i was labelled with the probability π_i, not all of them equal:

    .. math:: \hat\theta = \lambda \bar f + \frac{\sum_L (y - \lambda f) / \pi}{\sum_L 1 / \pi}

    over the mean of all scores (Hájek). The influence of row i on it is
    :math:`\lambda (f_i - \bar f)/N + [i \in L]\, w_i (e_i - \bar e)`, with w the normalised 1/π; λ minimises
    their variance, and few labels with large weights count as few.

    ``labels`` are NaN for rows without a label, ``bounds`` is their range. None with under two labelled rows.

    Source: Angelopoulos et al. (2023), arXiv:2301.09633; Angelopoulos, Duchi and Zrnic (2023),
    arXiv:2311.01453 (λ); Korn and Graubard (1998), Survey Methodology 24 (effective rows); Zrnic and Candès
    (2024), arXiv:2403.03208 (known probabilities); Hájek (1971), in Foundations of Statistical Inference.

    >>> nothing = float("nan")
    >>> result = prediction_powered_mean([1, 0, 1, nothing, nothing, nothing], [0.9, 0.4, 0.8, 0.9, 0.8, 0.9])
    >>> round(result.value, 4), round(result.power, 4), result.labelled, result.unlabelled
    (0.8333, 1.0, 3, 3)
    """
    check_level(level)
    truth, score = _columns(labels, scores, bounds)
    codes, _ = cluster_codes(clusters, len(truth))
    known = ~np.isnan(truth)
    n = int(known.sum())
    if n < 2:
        return None
    if known.all():
        low, high = bounds or (None, None)
        result = mean_interval(truth, codes, low=low, high=high, level=level)
        return PredictionPoweredMean(float(truth.mean()), interval_or_none(result), 0.0, n, 0)
    if probabilities is not None:
        mass = row_weights(1 / np.asarray(probabilities, dtype=np.float64)[known], n)
        return _from_probabilities(truth, score, codes, known, mass, bounds, level)
    return _from_random_sample(truth, score, codes, known, bounds, level)


def _from_random_sample(
    truth: Floats,
    score: Floats,
    codes: NDArray[np.int64],
    known: NDArray[np.bool_],
    bounds: tuple[float, float] | None,
    level: float,
) -> PredictionPoweredMean:
    """Return the estimate from labels of rows that were all drawn with one probability."""
    n, others = int(known.sum()), int((~known).sum())
    power = _power(truth[known], score, known)
    residuals = truth[known] - power * score[known]
    value = power * float(score[~known].mean()) + float(residuals.mean())
    if bounds is not None:
        value = min(max(value, bounds[0]), bounds[1])
    influences = _influences(residuals, power * score[~known], known, codes)
    sizes = np.unique(codes[known], return_counts=True)[1]
    if len(sizes) < MIN_CLUSTERS:
        return PredictionPoweredMean(value, None, power, n, others)
    few, error = effective_clusters(sizes), _error(influences, codes)
    binary = bounds is not None and np.isin(truth[known], bounds).all()
    rows = _effective_rows(residuals, influences[known], codes[known], few) if binary else None
    interval = _interval(value, error, student_quantile(level, few - 2), bounds, level, rows)
    return PredictionPoweredMean(value, interval, power, n, others)


def _from_probabilities(
    truth: Floats,
    score: Floats,
    codes: NDArray[np.int64],
    known: NDArray[np.bool_],
    mass: Floats,
    bounds: tuple[float, float] | None,
    level: float,
) -> PredictionPoweredMean:
    """Return the estimate from labels with the weights ``mass``, whose mean is 1."""
    n, rows = len(mass), len(score)
    centred = score - score.mean()
    of_labels, of_scores = np.zeros(rows), centred / rows
    of_labels[known] = mass / n * (truth[known] - np.average(truth[known], weights=mass))
    of_scores[known] -= mass / n * (score[known] - np.average(score[known], weights=mass))
    spread = float(np.square(of_scores).sum())
    power = min(max(-float((of_labels * of_scores).sum()) / spread, 0.0), 1.0) if spread else 0.0
    residuals = truth[known] - power * score[known]
    value = power * float(score.mean()) + float(np.average(residuals, weights=mass))
    if bounds is not None:
        value = min(max(value, bounds[0]), bounds[1])
    sizes = np.bincount(codes[known], weights=mass)
    few, count = effective_clusters(sizes[sizes > 0]), int((sizes > 0).sum())
    if few < MIN_CLUSTERS:
        return PredictionPoweredMean(value, None, power, n, rows - n)
    errors = residuals - np.average(residuals, weights=mass)
    leverage = 1 - sizes[codes[known]] / n  # jackknife, as for clusters of unequal weight in a mean
    influences = power * centred / rows
    influences[known] += mass / n * errors / leverage
    influences *= math.sqrt((count - 1) / count)
    effective = None
    if bounds is not None and np.isin(truth[known], bounds).all():
        spread = float(np.average(np.square(errors), weights=mass))
        error = _error(influences[known], codes[known]) ** 2
        effective = max(spread / error, few) if error > 0 else few
    error = _error(influences, codes)
    interval = _interval(value, error, student_quantile(level, few - 2), bounds, level, effective)
    return PredictionPoweredMean(value, interval, power, n, rows - n)


def _columns(
    labels: ArrayLike, scores: ArrayLike, bounds: tuple[float, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    truth, score = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != score.shape:
        raise ValueError(f"Labels and scores must have one shape (n,), not {truth.shape} and {score.shape}.")
    if not np.isfinite(score).all() or np.isinf(truth).any():
        raise ValueError("Scores must be finite, and labels finite or NaN.")
    if bounds is not None and ((truth < bounds[0]) | (truth > bounds[1])).any():
        raise ValueError(f"A label is outside the range {bounds[0]:g} to {bounds[1]:g}.")
    return truth, score


def _power(truth: NDArray[np.float64], score: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    """Return λ, the weight that minimises the variance of the estimate for independent rows."""
    n, others = len(truth), len(score) - len(truth)
    spread = (1 + n / others) * float(score.var(ddof=1))
    if spread == 0:
        return 0.0
    shared = float(np.mean((truth - truth.mean()) * (score[known] - score[known].mean())))
    return min(max(shared / spread, 0.0), 1.0)


def _influences(
    labelled: NDArray[np.float64],
    others: NDArray[np.float64],
    known: NDArray[np.bool_],
    codes: NDArray[np.int64],
) -> NDArray[np.float64]:
    r"""Return the influence of each row on the sum of two means, with the small-sample correction of each.

    The standard error is :math:`SE^2 = \frac{G_L}{G_L - 1} \sum_c p_c^2`, where p_c is the sum of (e − ē)/n
    over a cluster's labelled rows (e = y − λf) and of λ(f − f̄)/N over its others.
    """
    influences = np.empty(len(known))
    for rows, values in ((known, labelled), (~known, others)):
        count = len(np.unique(codes[rows]))
        few = math.sqrt(count / (count - 1)) if count > 1 else 1.0
        influences[rows] = (values - values.mean()) * (few / len(values))
    return influences


def _error(influences: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    return float(np.sqrt(np.square(np.bincount(codes, weights=influences)).sum()))


def _interval(
    value: float,
    error: float,
    quantile: float,
    bounds: tuple[float, float] | None,
    level: float,
    effective_rows: float | None,
) -> Interval | None:
    """Return Wilson's interval for binary labels; without ``effective_rows``, return Student's interval."""
    low, high = bounds or (-math.inf, math.inf)
    if effective_rows is None:
        half = quantile * error
        return Interval(max(value - half, low), min(value + half, high), level, _METHOD) if error else None
    span = high - low
    share = (value - low) / span
    most = _MAX_ROWS_PER_LABEL * effective_rows
    rows = min(share * (1 - share) * (span / error) ** 2, most) if error > 0 else effective_rows
    first, last = wilson_ends(share, rows if 0 < share < 1 else effective_rows, quantile)
    return Interval(low + first * span, low + last * span, level, _METHOD)


def _effective_rows(
    residuals: NDArray[np.float64], influences: NDArray[np.float64], codes: NDArray[np.int64], few: float
) -> float:
    """Return the number of independent rows with the same standard error of the mean error."""
    error = _error(influences, codes) ** 2
    return max(float(residuals.var(ddof=1)) / error, few) if error > 0 else few


@dataclass(frozen=True)
class LabelPlan:
    """The number of further labels of a random sample, and the interval with them.

    Attributes:
        labelled: number of rows with a label.
        half_width: expected half-width of the present 95 % interval.
        more: number of further labels for the target; 0 if it is reached, and all other rows if these are
            not enough.
        final_half_width: expected half-width with them.
    """

    labelled: int
    half_width: float
    more: int
    final_half_width: float


def plan_labels(
    labels: ArrayLike, scores: ArrayLike, *, target: float = 0.05, present: float | None = None
) -> LabelPlan | None:
    r"""Return how many more labels the corrected mean needs for an interval of ± ``target``.

    .. math:: h(n) = t_{n-2} \sqrt{\frac{\sigma_y^2 - 2 \lambda c + \lambda^2 \sigma_f^2}{n}
        + \frac{\lambda^2 \sigma_f^2}{N - n}}, \qquad \lambda = \frac{c}{\sigma_f^2} \left(1 - \frac nN\right)

    is the expected half-width with n of N rows labelled. λ is the weight of the scores, within [0, 1]; the
    variance of labels σ_y² and their covariance c with scores are those of the rows labelled so far. This
    counts rows as independent; all half-widths are scaled so that the present one is that of its interval,
    over clusters.

    Args:
        labels: label of each row, NaN without one, shape (n,).
        scores: score of each row, shape (n,).
        target: half-width of the interval, in the unit of the labels, above 0.
        present: half-width of the present interval; None counts rows as independent.

    Returns:
        None with fewer than five labels, or if all labels so far are equal: their variance is not known yet.

    Source: Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453 (λ and the variance).

    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(1000)
    >>> labels = np.where(np.arange(1000) < 60, rng.random(1000) < scores, np.nan)
    >>> plan = plan_labels(labels, scores)
    >>> plan.labelled, round(plan.half_width, 2), plan.more
    (60, 0.09, 136)
    """
    truth, score = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(truth)
    count, rows = int(known.sum()), len(truth)
    if count < MIN_CLUSTERS or np.ptp(truth[known]) == 0:
        return None
    (of_labels, shared), (_, _) = np.cov(truth[known], score[known])
    of_scores = float(score.var(ddof=1))

    def of_rows(labelled: int) -> float:
        others = rows - labelled
        weight = min(max(shared / of_scores, 0.0) * others / rows, 1.0) if of_scores else 0.0
        variance = (of_labels - 2 * weight * shared + weight**2 * of_scores) / labelled
        variance += weight**2 * of_scores / others if others else 0.0
        return student_quantile(0.95, labelled - 2) * math.sqrt(max(variance, 0.0))

    now = of_rows(count)
    scale = 1.0 if present is None or not now else present / now

    def half_width(labelled: int) -> float:
        return scale * of_rows(labelled)

    enough = count + bisect_left(range(count, rows), True, key=lambda n: half_width(n) <= target)  # noqa: FBT003
    return LabelPlan(count, half_width(count), enough - count, half_width(enough))
