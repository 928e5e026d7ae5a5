"""Rows sorted by score, and the interval of AUROC, also within strata: clustered DeLong variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    NoInterval,
    check_level,
    cluster_codes,
    effective_clusters,
    normal_quantile,
    rarer_class_clusters,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Row numbers sorted by score, lowest first, and where each of the k groups of equal scores begins."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], strata: NDArray[np.int64] | None = None) -> Self:
        """Sort the rows; with strata, by stratum first, and no group spans two strata."""
        # A stable sort is fast for sorted rows, as in bootstrap resamples.
        order = np.argsort(scores, kind="stable") if strata is None else np.lexsort((scores, strata))
        begins = np.ones(len(order), dtype=np.bool_)
        ordered = scores[order]
        begins[1:] = ordered[1:] != ordered[:-1]
        if strata is not None:
            places = strata[order]
            begins[1:] |= places[1:] != places[:-1]
        return cls(order, np.flatnonzero(begins))

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the weights of each group, shape (k,)."""
        ordered = weights[self.order]
        # Without ties, skip the slow reduction.
        return ordered if len(self.starts) == len(ordered) else np.add.reduceat(ordered, self.starts)

    def of_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each row's group: shape (k,) to shape (n,)."""
        spread = np.empty(len(self.order))
        spread[self.order] = np.repeat(values, np.diff(self.starts, append=len(self.order)))
        return spread


def scores_and_labels(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check scores and labels and convert them to arrays."""
    column, truth = values_and_labels(scores, labels)
    if np.isnan(column).any():
        raise ValueError("A score is NaN and has no rank.")
    return column, truth


def values_and_labels(values: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check values and labels as `scores_and_labels` does, but allow NaN values."""
    column, truth = np.asarray(values, dtype=np.float64), np.asarray(labels)
    if column.ndim != 1 or column.shape != truth.shape:
        raise ValueError(f"Scores and labels must have one shape (n,), not {column.shape} and {truth.shape}.")
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise ValueError("Labels must be true or false, or 1 or 0.")
    return column, truth.astype(np.bool_)


def row_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Check row weights, which must be finite and not negative; None gives 1 each, and 0 omits a row."""
    if weights is None:
        return np.ones(n)
    column = np.asarray(weights, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(f"`weights` must have shape ({n},), not {column.shape}.")
    if not (np.isfinite(column) & (column >= 0)).all():
        raise ValueError("Weights must be finite and 0 or more.")
    return column


# Weight of the model variance, in clusters.
_PRIOR_CLUSTERS = 2.0
# Bisections that reduce an interval of width 1 to a rounding error.
_BISECTIONS = 52
_ROUNDING = 1e-12
_CHANCE = 0.5

METHOD = "score, clustered DeLong"


def auroc_interval(
    scores: ArrayLike, labels: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
) -> Interval | NoInterval:
    r"""Return a score interval of AUROC that treats whole clusters as the independent units.

    The interval holds every θ with

    .. math:: (A - \theta)^2 \le z^2\,r\,V(\theta), \qquad
        V(\theta) = \frac{\theta(1-\theta)}{mn}\left[1 + \left(\tfrac{m+n}{2} - 1\right)
        \left(\frac{1-\theta}{2-\theta} + \frac{\theta}{1+\theta}\right)\right]

    where m and n are the effective numbers of clusters with positive and with negative rows, and
    :math:`r = w\,\hat V / V(A) + 1 - w` corrects the model variance V by the clustered DeLong variance
    :math:`\hat V`. The weight :math:`w = f / (f + 2)` grows with the number f of clusters that contribute to
    :math:`\hat V`: near 1 few do, and :math:`\hat V` alone would be too small. A perfect ranking has r = 1.

    Measured coverage: see ``docs/internals/results/ranking-intervals.md``.

    Returns:
        An interval within [0, 1], or the reason why there is none: a class is absent, or the rarer class
        occurs in fewer than five clusters.

    Source: Newcombe (2006), Statistics in Medicine 25 (score interval, V); DeLong, DeLong and Clarke-Pearson
    (1988), Biometrics 44; Obuchowski (1997), Biometrics 53 (clusters); the weight w is new.

    >>> result = auroc_interval(range(40), [0] * 18 + [1, 0] * 2 + [1] * 18)
    >>> round(result.low, 3), round(result.high, 3)
    (0.929, 0.999)
    >>> auroc_interval([1, 2, 3, 4], [0, 0, 1, 1]).reason
    'the rarer class occurs in 2 independent groups; an interval needs 5'
    """
    column, truth = scores_and_labels(scores, labels)
    check_level(level)
    codes, _ = cluster_codes(clusters, len(column))
    return area_interval(column, truth, codes, np.zeros(len(column), dtype=np.int64), level)


def area_interval(
    scores: Floats, truth: NDArray[np.bool_], codes: Codes, strata: Codes, level: float
) -> Interval | NoInterval:
    """Return the interval of `auroc_interval` for pairs of rows of the same stratum; see `row_influence`."""
    reason = too_few_groups(codes, truth)
    if reason:
        return NoInterval(reason)
    return Influence.of(scores, truth, codes, strata).interval(level)


def too_few_groups(codes: Codes, truth: NDArray[np.bool_]) -> str:
    """Return the reason why an AUROC over these clusters has no interval; empty if it has one."""
    count = rarer_class_clusters(codes, truth)
    if count >= MIN_CLUSTERS:
        return ""
    groups = "group" if count == 1 else "groups"
    return f"the rarer class occurs in {count} independent {groups}; an interval needs {MIN_CLUSTERS}"


def row_influence(scores: Floats, truth: NDArray[np.bool_], strata: Codes) -> tuple[float, Floats]:
    """Return the AUROC within strata, and the influence of each row.

    The influence of a positive row in stratum s is (wins − A·n_s) / Σ_s m_s·n_s: its wins over the n_s
    negative rows of the stratum, ties counting half, minus those expected at A. Negative rows likewise.
    Strata are counted from 0; each contains both classes. All arrays have shape (n,).

    >>> scores, truth = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True])
    >>> area, influence = row_influence(scores, truth, np.zeros(4, dtype=np.int64))
    >>> area, influence.tolist()
    (0.75, [0.125, -0.125, -0.125, 0.125])
    """
    groups = TieGroups.of(scores, strata)
    true, false = groups.sums(truth.astype(np.float64)), groups.sums((~truth).astype(np.float64))
    stratum = strata[groups.order[groups.starts]]
    in_true, in_false = (_totals(stratum, weights, 0) for weights in (true, false))
    # Rows of the other class that score lower, or higher, within the stratum; ties count half.
    below = np.cumsum(false) - false / 2 - (np.cumsum(in_false) - in_false)[stratum]
    above = np.cumsum(in_true)[stratum] - np.cumsum(true) + true / 2
    pairs = _dot(in_true, in_false)
    area = _dot(true, below) / pairs
    of_true = groups.of_rows(below - area * in_false[stratum])
    of_false = groups.of_rows(above - area * in_true[stratum])
    return area, np.where(truth, of_true, of_false) / pairs


@dataclass(frozen=True, eq=False)
class Influence:
    """AUROC, and the influence of each cluster on it.

    Attributes:
        area: AUROC within strata, in [0, 1].
        positive: the influence of each cluster through its positive rows, shape (G,).
        negative: the same through its negative rows, shape (G,).
        corrections: G/(G − 1) of the clusters with positive rows, with negative rows, and of all.
        model: the coefficients a and b of the model variance θ(1 − θ)·(a + b·c(θ)).
        constant: whether the score is the same for all rows of each cluster.
    """

    area: float
    positive: Floats
    negative: Floats
    corrections: tuple[float, float, float]
    model: tuple[float, float]
    constant: bool

    @classmethod
    def of(cls, scores: Floats, truth: NDArray[np.bool_], codes: Codes, strata: Codes) -> Influence:
        """Compute from rows; each stratum has both classes, each class at least two clusters."""
        area, influence = row_influence(scores, truth, strata)
        codes = np.unique(codes, return_inverse=True)[1]
        count = int(codes.max()) + 1
        return cls(
            area,
            _totals(codes[truth], influence[truth], count),
            _totals(codes[~truth], influence[~truth], count),
            _corrections(codes, truth),
            _model(area, truth, codes, strata),
            _constant(scores, codes),
        )

    def interval(self, level: float) -> Interval | NoInterval:
        """Return the score interval of the area."""
        influences = self.positive + self.negative
        if 0 < self.area < 1 and np.abs(influences).max() <= _ROUNDING / len(influences):
            if self.constant and self.area == _CHANCE:
                return Interval(_CHANCE, _CHANCE, level, "constant within clusters")
            return NoInterval("every cluster ranks its rows alike, so the spread is unknown")
        variance = self._variance(normal_quantile(level) ** 2 * self._ratio())
        low = _boundary(self.area, 0.0, variance)
        return Interval(low, _boundary(self.area, 1.0, variance), level, METHOD)

    def effective_clusters(self) -> float:
        """Return the effective number of clusters in the variance, (Σ x²)² / Σ x⁴; 0 if none contributes."""
        squares = np.square(self.positive + self.negative)
        return effective_clusters(squares) if squares.any() else 0.0

    def covariance(self, other: Influence) -> float:
        """Return the clustered DeLong covariance with another score of the same rows."""
        positive, negative, both = self.corrections
        crossed = _dot(self.positive, other.negative) + _dot(self.negative, other.positive)
        same = positive * _dot(self.positive, other.positive) + negative * _dot(self.negative, other.negative)
        return same + both * crossed

    def _ratio(self) -> float:
        model = self._variance(1.0)(self.area)
        if model == 0:
            return 1.0
        count = self.effective_clusters()
        weight = count / (count + _PRIOR_CLUSTERS)
        return weight * self.covariance(self) / model + 1 - weight

    def _variance(self, factor: float) -> Callable[[float], float]:
        a, b = self.model
        return lambda area: factor * area * (1 - area) * (a + b * _shape(area))


def _corrections(codes: Codes, truth: NDArray[np.bool_]) -> tuple[float, float, float]:
    counts = [len(np.unique(one)) for one in (codes[truth], codes[~truth], codes)]
    positive, negative, both = (count / (count - 1) for count in counts)
    return positive, negative, both


def _constant(scores: Floats, codes: Codes) -> bool:
    order = np.lexsort((scores, codes))
    same = codes[order][1:] == codes[order][:-1]
    return bool((scores[order][1:][same] == scores[order][:-1][same]).all())


def _model(area: float, truth: NDArray[np.bool_], codes: Codes, strata: Codes) -> tuple[float, float]:
    """Return the coefficients of the model variance; a cluster in several strata counts once in total."""
    within = _coefficients(truth, codes, strata)
    whole = _coefficients(truth, codes, np.zeros_like(strata))
    return max(within, whole, key=lambda model: model[0] + model[1] * _shape(area))


def _coefficients(truth: NDArray[np.bool_], codes: Codes, strata: Codes) -> tuple[float, float]:
    """Return Σ w²/(mn) and Σ w²((m + n)/2 − 1)/(mn), with w the share of a stratum in all pairs."""
    sizes, effective = zip(*(_effective(codes[rows], strata[rows]) for rows in (truth, ~truth)), strict=True)
    pairs = sizes[0] * sizes[1]
    weights = np.square(pairs / pairs.sum()) / (effective[0] * effective[1])
    return float(weights.sum()), _dot(weights, (effective[0] + effective[1]) / 2 - 1)


def _effective(codes: Codes, strata: Codes) -> tuple[Floats, Floats]:
    span = int(codes.max()) + 1
    cells, counts = np.unique(strata * span + codes, return_counts=True)
    rows = np.bincount(strata).astype(np.float64)
    return rows, np.square(rows) / np.bincount(cells // span, np.square(counts.astype(np.float64)))


def _totals(codes: Codes, values: Floats, count: int) -> Floats:
    return np.bincount(codes, values, count).astype(np.float64)


def _dot(first: Floats, second: Floats) -> float:
    """Return the dot product whose bits do not depend on the number of threads."""
    return float(np.einsum("i,i->", first, second))


def _shape(area: float) -> float:
    return (1 - area) / (2 - area) + area / (1 + area)


def _boundary(area: float, end: float, variance: Callable[[float], float]) -> float:
    """Return the θ between the area and an end of [0, 1] at which (A − θ)² reaches the variance."""
    inside, outside = area, end
    if area == end:
        return end
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        if (area - middle) ** 2 <= variance(middle):
            inside = middle
        else:
            outside = middle
    return outside
