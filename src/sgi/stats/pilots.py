"""Pilots for a plan: values, differences, scores with labels, and ratings, measured or guessed."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.agreement import cohen_kappa
from sgi.stats.auroc_intervals import auroc_interval, row_influence
from sgi.stats.intervals import NoInterval, cluster_codes
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import paired_differences
from sgi.stats.ranking import auroc
from sgi.stats.sample_size import Pilot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

_QUANTILES = 400
_WIDE = 20.0


def mean_pilot(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    weights: Floats | None = None,
) -> Pilot:
    """Return pilot data for planning a mean, which `mean_interval` decides."""
    column = np.asarray(values, dtype=np.float64)
    codes, count = cluster_codes(clusters, len(column))

    def interval(rows: Codes, codes: Codes, level: float) -> Interval | NoInterval:
        return mean_interval(column[rows], codes, low=low, high=high, level=level)

    influence = _influence(column, codes, count, weights)
    return Pilot(codes, influence, lambda rows: float(column[rows].mean()), interval, weights)


def difference_pilot(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    width: float | None = None,
    weights: Floats | None = None,
) -> Pilot:
    """Return pilot data for planning a difference of paired values, which `paired_differences` decides."""
    before, after = (np.asarray(side, dtype=np.float64) for side in (first, second))
    codes, count = cluster_codes(clusters, len(before))
    gaps = after - before

    def interval(rows: Codes, codes: Codes, level: float) -> Interval | NoInterval:
        (result,) = paired_differences(before[rows], after[rows], codes, ranges=[width], level=level)
        return result.interval or NoInterval(result.no_interval)

    influence = _influence(gaps, codes, count, weights)
    return Pilot(codes, influence, lambda rows: float(gaps[rows].mean()), interval, weights)


def auroc_pilot(scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None) -> Pilot:
    """Return pilot data for planning an AUROC, which `auroc_interval` decides; both classes must occur."""
    column, truth = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.bool_)
    codes, count = cluster_codes(clusters, len(column))

    def interval(rows: Codes, codes: Codes, level: float) -> Interval | NoInterval:
        return auroc_interval(column[rows], truth[rows], codes, level=level)

    def estimate(rows: Codes) -> float:
        area = auroc(column[rows], truth[rows])
        return float("nan") if area is None else area

    _, influence = row_influence(column, truth, np.zeros(len(column), dtype=np.int64))
    has_both = [np.bincount(codes, rows, count) > 0 for rows in (truth, ~truth)]
    # Clusters with negative rows, with positive rows, and with both.
    classes = np.unique(has_both[0] * 2 + has_both[1], return_inverse=True)[1]
    of_clusters = np.bincount(codes, influence, count).astype(np.float64)
    return Pilot(codes, of_clusters, estimate, interval, classes=classes)


def kappa_pilot(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None = None, *, weights: Floats | None = None
) -> Pilot:
    """Return pilot data for planning a nominal kappa of two ratings, which `cohen_kappa` decides."""
    one, other = (np.asarray(side, dtype=np.float64) for side in (first, second))
    codes, count = cluster_codes(clusters, len(one))

    def interval(rows: Codes, codes: Codes, level: float) -> Interval | NoInterval:
        result = cohen_kappa(one[rows], other[rows], codes, level=level)
        return result.interval or NoInterval(result.reason)

    def estimate(rows: Codes) -> float:
        # In one cluster, so that no jackknife is computed.
        value = cohen_kappa(one[rows], other[rows], np.zeros(len(rows), dtype=np.int64)).value
        return float("nan") if value is None else value

    shares = np.ones(len(one)) if weights is None else weights
    derivative = _kappa_influence(one, other, shares / shares.sum())
    influence = np.bincount(codes, derivative, count).astype(np.float64)
    return Pilot(codes, influence, estimate, interval, weights)


def _kappa_influence(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return the derivative of κ = 1 − O/E by the weight of each row, O and E the disagreements."""
    names = np.union1d(first, second)
    one, other = (np.searchsorted(names, side) for side in (first, second))
    of_one, of_other = (np.bincount(side, weights, len(names)) for side in (one, other))
    apart = (first != second).astype(np.float64)
    observed, expected = float(weights @ apart), 1 - float(of_one @ of_other)
    change = 2 * (1 - expected) - of_other[one] - of_one[other]
    return np.asarray(observed / expected**2 * change - (apart - observed) / expected)


def share_pilot(share: float) -> Pilot:
    """Return invented pilot data: independent values 0 and 1 with this share of 1, in (0, 1)."""
    return mean_pilot([0.0, 1.0], low=0.0, high=1.0, weights=np.array([1 - share, share]))


def normal_pilot(mean: float, deviation: float) -> Pilot:
    """Return invented pilot data: independent normal values; ``deviation`` must be above 0."""
    values = mean + deviation * _normal(_QUANTILES)
    far = _WIDE * deviation  # fewer than 25 values have an interval if the scale has ends
    return mean_pilot(values, low=mean - far, high=mean + far)


def changed_pilot(changed: float, difference: float) -> Pilot:
    """Return invented pilot data: pass/fail pairs with this share of changes, and gained − lost."""
    lost, gained = (changed - difference) / 2, (changed + difference) / 2
    weights = np.array([lost, 1 - changed, gained])
    return difference_pilot([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], width=1.0, weights=weights)


def normal_difference_pilot(difference: float, deviation: float) -> Pilot:
    """Return invented pilot data: normal differences with this mean and standard deviation, above 0."""
    gaps = difference + deviation * _normal(_QUANTILES)
    return difference_pilot(np.zeros(_QUANTILES), gaps, width=_WIDE * deviation + abs(difference))


def normal_scores_pilot(area: float, positives: float) -> Pilot:
    """Return invented pilot data: normal scores with this AUROC, in (0.5, 1), and share of positive rows."""
    count = min(max(round(_QUANTILES * positives), 5), _QUANTILES - 5)
    shift = NormalDist().inv_cdf(area) * 2**0.5
    scores = np.append(_normal(_QUANTILES - count), _normal(count) + shift)
    return auroc_pilot(scores, np.arange(_QUANTILES) >= _QUANTILES - count)


def kappa_shares_pilot(kappa: float, share: float) -> Pilot:
    """Return invented pilot data: two raters with this kappa, who both say yes to this share of rows."""
    apart = share * (1 - share) * (1 - kappa)
    weights = np.array([1 - share - apart, apart, apart, share - apart])
    return kappa_pilot([0, 0, 1, 1], [0, 1, 0, 1], weights=weights)


def _normal(count: int) -> Floats:
    """Return equally probable quantiles of the normal distribution with the variance 1."""
    law = NormalDist()
    quantiles = np.array([law.inv_cdf((place + 0.5) / count) for place in range(count)])
    return np.asarray(quantiles / quantiles.std())


def _influence(values: Floats, codes: Codes, count: int, weights: Floats | None) -> Floats:
    mean = float(np.average(values, weights=weights))
    return np.bincount(codes, values - mean, count).astype(np.float64)
