"""How well scores rank the true over the false: AUROC, ties shared, and its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.stats.intervals import (
    Interval,
    check_draws,
    cluster_codes,
    normal_quantile,
    percentiles,
    wilson_interval,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Above this many rows a closed form takes the place of draws that would give the same to two digits.
_MOST_BOOTSTRAPPED = 20_000


@dataclass(frozen=True)
class Ranking:
    """How well scores rank the true over the false.

    Attributes:
        auroc: the area under the ROC curve, in [0, 1]; 0.5 is chance.
        interval: of that area; None where the rows are too few for one.
        positives: how many rows are true.
        negatives: how many rows are false.
    """

    auroc: float
    interval: Interval | None
    positives: int
    negatives: int


def ranking(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Ranking | None:
    """AUROC, interval and counts in one; see `auroc` and `auroc_interval`.

    Args:
        scores: higher = more likely true, shape (n,).
        labels: true or false (or 1 and 0), shape (n,).
        clusters: what belongs together, shape (n,).
        level: in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        None where a class is absent.

    Raises:
        ValueError: as for `auroc_interval`.

    Source: Hanley and McNeil (1982), Radiology 143.

    >>> ranking([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).auroc
    0.75
    """
    column, truth = _columns(scores, labels)
    area = auroc(column, truth)
    if area is None:
        return None
    interval = auroc_interval(column, truth, clusters, level=level, draws=draws, seed=seed)
    return Ranking(area, interval, int(truth.sum()), int((~truth).sum()))


def auroc(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """The chance that a true row scores above a false one, ties counting half.

    AUROC = (#{s⁺ > s⁻} + ½·#{s⁺ = s⁻}) / (n⁺·n⁻), which is the area under the ROC curve.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).

    Returns:
        A value in [0, 1]; None where a class is absent.

    Raises:
        ValueError: a score is NaN, a label is neither true nor false, or lengths differ.

    Source: Mann and Whitney (1947); Hanley and McNeil (1982), Radiology 143.

    >>> auroc([0.1, 0.4, 0.4, 0.8], [False, False, True, True])
    0.875
    """
    column, truth = _columns(scores, labels)
    if truth.all() or not truth.any():
        return None
    order = _Order.of(column, truth)
    return order.area(np.ones(len(order.positive)), np.ones(len(order.negative)))


def auroc_interval(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Interval | None:
    """An interval of AUROC, whole clusters being what was sampled.

    The method follows from the data and is named in the result:

    * ``wilson of disjoint pairs``: where the ranking is perfect (AUROC 0 or 1) draws would never differ; as
      many pairs as can be made without using a cluster twice are independent trials, and all came out alike.
    * ``bootstrap``: percentiles over draws of clusters; draws with one class only are left out and counted.
    * ``delong``: above 20,000 rows, AUROC ± z·SE, SE² from each cluster's summed placements.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        level: in (0, 1).
        draws: of the bootstrap.
        seed: of the bootstrap; equal input gives equal bits.

    Returns:
        An interval within [0, 1]; None where a class is absent or stands in one cluster only.

    Raises:
        ValueError: as for `auroc`, or level or draws are out of range.

    Source: Obuchowski (1997), Biometrics 53; DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44.

    >>> auroc_interval([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1]).method
    'wilson of disjoint pairs'
    """
    column, truth = _columns(scores, labels)
    check_draws(level, draws)
    codes, n_clusters = cluster_codes(clusters, len(column))
    true_clusters, false_clusters = len(np.unique(codes[truth])), len(np.unique(codes[~truth]))
    if min(true_clusters, false_clusters) < 2:  # noqa: PLR2004 - one cluster has no spread
        return None
    order = _Order.of(column, truth)
    area = order.area(np.ones(len(order.positive)), np.ones(len(order.negative)))
    if area in (0.0, 1.0):
        pairs = min(true_clusters, false_clusters, n_clusters // 2)
        return wilson_interval(area * pairs, pairs, level=level, method="wilson of disjoint pairs")
    if len(column) > _MOST_BOOTSTRAPPED:
        return _delong(order, codes, n_clusters, level)
    return _bootstrap(order, codes, n_clusters, level, draws, seed)


@dataclass(frozen=True, eq=False)
class _Order:
    """Both classes sorted once; an area under any weights of the rows is then two running sums.

    Attributes:
        positive: the true rows by score.
        negative: the false rows by score.
        below: for each true row, how many false rows score less.
        through: for each true row, how many false rows score no more.
    """

    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    below: NDArray[np.int64]
    through: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> Self:
        ordered = np.argsort(scores, kind="stable")
        positive, negative = ordered[labels[ordered]], ordered[~labels[ordered]]
        against, sought = scores[negative], scores[positive]
        below = np.searchsorted(against, sought, side="left")
        return cls(positive, negative, below, np.searchsorted(against, sought, side="right"))

    def area(self, positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
        """AUROC with these weights, in the order of the sorted rows; whole weights make it exact."""
        running = np.concatenate([[0.0], np.cumsum(negative)])
        pairs = positive @ (running[self.below] + running[self.through])
        return float(pairs / (2.0 * positive.sum() * running[-1]))


def _columns(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    column, truth = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if column.ndim != 1 or column.shape != truth.shape:
        raise ValueError(f"Scores of shape {column.shape} have labels of shape {truth.shape}.")
    if np.isnan(column).any():
        raise ValueError("A score is NaN, which has no rank.")
    if truth.dtype != np.bool_ and not np.isin(truth, (0, 1)).all():
        raise ValueError("A label is true or false, or 1 or 0.")
    return column, truth.astype(np.bool_)


def _bootstrap(
    order: _Order, codes: NDArray[np.int64], n_clusters: int, level: float, draws: int, seed: int
) -> Interval | None:
    generator = np.random.default_rng(seed)
    positive, negative = codes[order.positive], codes[order.negative]
    areas = np.full(draws, np.nan)
    for draw in range(draws):
        drawn = generator.integers(0, n_clusters, size=n_clusters)
        times = np.bincount(drawn, minlength=n_clusters).astype(np.float64)
        on_positive, on_negative = times[positive], times[negative]
        if on_positive.any() and on_negative.any():
            areas[draw] = order.area(on_positive, on_negative)
    kept = areas[~np.isnan(areas)]
    if not len(kept):
        return None
    dropped = draws - len(kept)
    note = f", {dropped} of {draws} draws had one class only" if dropped else ""
    return percentiles(kept, level, f"bootstrap{note}")


def _delong(order: _Order, codes: NDArray[np.int64], n_clusters: int, level: float) -> Interval:
    """A cluster pulls at the area by the placements of its rows; the pulls of clusters are independent."""
    n_positive, n_negative = len(order.positive), len(order.negative)
    of_positive = (order.below + order.through) / (2.0 * n_negative)
    area = float(of_positive.mean())
    # A false row's placement: the share of true rows above it, from the same two counts seen the other way.
    under = np.searchsorted(order.through, np.arange(n_negative), side="right")
    through = np.searchsorted(order.below, np.arange(n_negative), side="right")
    of_negative = 1.0 - (under + through) / (2.0 * n_positive)
    pull = np.bincount(codes[order.positive], (of_positive - area) / n_positive, n_clusters)
    pull += np.bincount(codes[order.negative], (of_negative - area) / n_negative, n_clusters)
    error = float(np.sqrt(np.square(pull).sum() * n_clusters / (n_clusters - 1)))
    half = normal_quantile(level) * error
    return Interval(max(0.0, area - half), min(1.0, area + half), level, "delong")
