"""The mean that people would give, from a few of their labels and a cheap score of every row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    check_draws,
    cluster_codes,
    effective_clusters,
    interval_or_none,
    student_quantile,
)
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Rows imagined beside the labelled ones, at either end of the scale: with shares, few rows show too little of
# how wrong a score can be.
_IMAGINED = 4


@dataclass(frozen=True)
class PoweredMean:
    """A mean of labels, sharpened by a score of rows without one.

    Attributes:
        value: the estimate.
        interval: None from fewer than five labelled clusters, and where labels and scores show no spread.
        power: λ in [0, 1], how far the score is leant on; 0 leaves the labels alone.
        labelled: rows with a label.
        unlabelled: rows with a score alone.
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
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> PoweredMean | None:
    r"""The mean label of all rows, from scores of all and labels of some, drawn at random.

    .. math:: \hat\theta = \lambda \bar f_U + \overline{(y - \lambda f)}_L, \qquad
              \lambda = \frac{\mathrm{Cov}_L(y, f)}{(1 + n/N)\,\mathrm{Var}(f)} \text{ within } [0, 1]

    L are the n labelled rows, U the N others. It is the mean score of all rows plus the mean error on the
    labelled ones, the score being leant on so far as it foretells the labels. However biased the score, the
    estimate isn't, if the labelled rows are a random sample of all.

    The interval is θ̂ ± t·SE with the errors of both parts, clusters being independent,
    :math:`SE^2 = \frac{G_L}{G_L - 1} \sum_c p_c^2` with p_c the sum of (e − ē)/n over a cluster's labelled
    rows (e = y − λf) and of λ(f − f̄)/N over its others; t has ν degrees of freedom, two less than the
    effective number of labelled clusters G, since λ is estimated too. Where labels are 0 or 1, four more are
    imagined, two half a unit above the mean error and two below, as Agresti and Coull do for a share: SE²
    grows by 1/(m(m + 3)), m being how many independent rows the labelled ones are worth (s²/SE² of e, at
    least G), so that a score without an error in few rows is no proof of none. In simulations of 100 labels
    for 1,000 rows (shares of 0.5 to 0.9, verdicts of which 2 to 50 % are wrong) the 95 % interval then holds
    the truth in 94 to 97 %, where the plain normal one does in 92 to 95 %; of 20 labels in 97 to over 99 %,
    the plain one in 91 to 98 %. As λ is made from the same labels, few of them leave a bias: at most 0.004 of
    100, 0.014 of 20.

    If every row is labelled, value and interval are those of the labels (`mean_interval`).

    Args:
        labels: NaN where a row has none, shape (n + N,).
        scores: finite, on any scale, shape (n + N,).
        clusters: what belongs together (say, the same question), shape (n + N,); None if nothing does.
        bounds: the least and greatest possible label, if there are such; value and interval stay within.
        level: of the interval, in (0, 1).

    Returns:
        None of fewer than two labelled rows.

    Raises:
        ValueError: lengths differ, a score or a label is infinite or a score NaN, a label lies out of bounds,
            or the level makes no sense.

    Source: Angelopoulos et al. (2023), arXiv:2301.09633; Angelopoulos, Duchi and Zrnic (2023),
    arXiv:2311.01453 (λ); Agresti and Coull (1998), Am. Stat. 52 (four more rows).

    >>> nothing = float("nan")
    >>> found = prediction_powered_mean([1, 0, 1, nothing, nothing, nothing], [0.9, 0.4, 0.8, 0.9, 0.8, 0.9])
    >>> round(found.value, 4), round(found.power, 4), found.labelled, found.unlabelled
    (0.8333, 1.0, 3, 3)
    """
    check_draws(level, 1)
    truth, score = _columns(labels, scores, bounds)
    codes, _ = cluster_codes(clusters, len(truth))
    known = ~np.isnan(truth)
    n, others = int(known.sum()), int((~known).sum())
    shares = bounds == (0.0, 1.0) and bool(np.isin(truth[known], (0.0, 1.0)).all())
    if n < 2:  # noqa: PLR2004 - one label has no spread
        return None
    if others == 0:
        low, high = bounds or (None, None)
        found = mean_interval(truth, codes, low=low, high=high, level=level)
        return PoweredMean(float(truth.mean()), interval_or_none(found), 0.0, n, 0)
    power = _power(truth[known], score, known)
    left = truth[known] - power * score[known]
    value = power * float(score[~known].mean()) + float(left.mean())
    pulls = _pulls(left, power * score[~known], known, codes)
    interval = _interval(value, left, pulls, known, codes, level, shares=shares)
    if bounds is None:
        return PoweredMean(value, interval, power, n, others)
    kept = None if interval is None else _within(interval, bounds)
    return PoweredMean(min(max(value, bounds[0]), bounds[1]), kept, power, n, others)


def slice_difference(
    scores: ArrayLike, labelled: ArrayLike, clusters: ArrayLike | None = None
) -> float | None:
    """How many standard errors the mean score of the labelled rows lies above that of the others.

    z = (f̄_L − f̄_U)/SE, clusters being independent. A random sample lies beyond ±2.58 once in a hundred; one
    that lies there was probably drawn in another way, and says little of the rest.

    Args:
        scores: finite, shape (n,).
        labelled: which rows are labelled, shape (n,).
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.

    Returns:
        None where either side has fewer than five clusters, or the scores show no spread.

    Raises:
        ValueError: lengths differ, or a score is not finite.

    Source: Welch (1947), Biometrika 34, with the clustered errors of Miller (2024), arXiv:2411.00640.

    >>> slice_difference([1, 2, 3, 4, 5, 1, 2, 3, 4, 5], [True] * 5 + [False] * 5)
    0.0
    """
    known = np.asarray(labelled, dtype=np.bool_)
    _, score = _columns(np.where(known, 0.0, np.nan), scores, None)
    codes, _ = cluster_codes(clusters, len(score))
    if min(len(np.unique(codes[known])), len(np.unique(codes[~known]))) < FEWEST_CLUSTERS:
        return None
    error = _error(_pulls(score[known], -score[~known], known, codes), codes)
    gap = float(score[known].mean() - score[~known].mean())
    return gap / error if error > 0 else None


def _columns(
    labels: ArrayLike, scores: ArrayLike, bounds: tuple[float, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    truth, score = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != score.shape:
        raise ValueError(f"Labels of shape {truth.shape} and scores of shape {score.shape} do not match.")
    if not np.isfinite(score).all() or np.isinf(truth).any():
        raise ValueError("Scores are finite, and labels finite or NaN.")
    if bounds is not None and ((truth < bounds[0]) | (truth > bounds[1])).any():
        raise ValueError(f"A label lies outside {bounds[0]:g} to {bounds[1]:g}.")
    return truth, score


def _power(truth: NDArray[np.float64], score: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    """The λ that makes the estimate's variance least, were the rows independent."""
    n, others = len(truth), len(score) - len(truth)
    spread = (1 + n / others) * float(score.var(ddof=1))
    if spread == 0:
        return 0.0
    shared = float(np.mean((truth - truth.mean()) * (score[known] - score[known].mean())))
    return min(max(shared / spread, 0.0), 1.0)


def _pulls(
    labelled: NDArray[np.float64],
    others: NDArray[np.float64],
    known: NDArray[np.bool_],
    codes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How far each row pulls the sum of two means, each enlarged for the few clusters it is over."""
    pulls = np.empty(len(known))
    for rows, values in ((known, labelled), (~known, others)):
        count = len(np.unique(codes[rows]))
        few = math.sqrt(count / (count - 1)) if count > 1 else 1.0
        pulls[rows] = (values - values.mean()) * (few / len(values))
    return pulls


def _error(pulls: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    return float(np.sqrt(np.square(np.bincount(codes, weights=pulls)).sum()))


def _interval(
    value: float,
    left: NDArray[np.float64],
    pulls: NDArray[np.float64],
    known: NDArray[np.bool_],
    codes: NDArray[np.int64],
    level: float,
    *,
    shares: bool,
) -> Interval | None:
    """None from fewer than five labelled clusters, and where nothing shows how wrong a score can be."""
    sizes = np.bincount(np.unique(codes[known], return_inverse=True)[1])
    if len(sizes) < FEWEST_CLUSTERS or not (shares or np.ptp(left) > 0):
        return None
    few = effective_clusters(sizes)
    worth = _worth(left, pulls[known], codes[known], few)
    imagined = 1 / (worth * (worth + _IMAGINED - 1)) if shares else 0.0
    error = math.sqrt(_error(pulls, codes) ** 2 + imagined)
    half = student_quantile(level, few - 2) * error
    return Interval(value - half, value + half, level, "prediction-powered")


def _worth(
    left: NDArray[np.float64], pulls: NDArray[np.float64], codes: NDArray[np.int64], few: float
) -> float:
    """How many independent rows tell as much of the mean error as the labelled ones do."""
    error = _error(pulls, codes) ** 2
    return max(float(left.var(ddof=1)) / error, few) if error > 0 else few


def _within(interval: Interval, bounds: tuple[float, float]) -> Interval:
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (interval.low, interval.high))
    return replace(interval, low=low, high=high)
