"""How far probabilities can be believed, and probabilities of scores that were made without the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.stats.intervals import cluster_codes
from sgi.stats.probability_maps import fit_base_rate, fit_isotonic, fit_platt, labelled_scores, truth_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.stats.probability_maps import ProbabilityMap

    Floats = NDArray[np.float64]

Binning = Literal["width", "mass"]
"""How probabilities are put into bins: of equal width, or of equally many rows."""

CalibrationMethod = Literal["platt", "isotonic", "base rate"]
"""What makes a probability of a score; ``base rate`` takes no notice of the score."""


@dataclass(frozen=True)
class Reliability:
    """What was foretold and what came true, bin by bin; empty bins are left out.

    Attributes:
        confidence: the mean probability of each bin's rows.
        frequency: the share of them that is true.
        rows: how many there are.
        binning: how the bins were made.
    """

    confidence: tuple[float, ...]
    frequency: tuple[float, ...]
    rows: tuple[int, ...]
    binning: Binning

    @property
    def error(self) -> float:
        """The mean gap between the two, weighted by rows: the expected calibration error."""
        gaps = np.abs(np.subtract(self.frequency, self.confidence))
        return float(gaps @ np.array(self.rows)) / sum(self.rows)


def reliability(
    probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10, binning: Binning = "width"
) -> Reliability:
    """Mean probability and share of true rows, bin by bin.

    Of equal width, bin i of B holds the p with i ≤ p·B < i + 1, and the last one 1 too. Of equal mass, a row
    is in the bin of its rank: ⌊B·(rows below + half of those equal to it)/n⌋. Rows of one probability share
    that rank, so ties are never split: bins are then of unequal size, and may be fewer.

    Args:
        probabilities: of being true, in [0, 1], shape (n,), n at least 1.
        labels: true or false (or 1 and 0), shape (n,).
        bins: how many, at least 1.
        binning: ``width`` or ``mass``.

    Raises:
        ValueError: a probability lies outside [0, 1] or is NaN, a label is neither true nor false, lengths
            differ, there are no rows, or bins or binning make no sense.

    Source: DeGroot and Fienberg (1983), The Statistician 32; the treatment of ties is ours.

    >>> reliability([0.1, 0.1, 0.8, 0.9], [0, 1, 1, 1], bins=2).frequency
    (0.5, 1.0)
    """
    column, truth = _probabilities(probabilities, labels)
    if bins < 1:
        raise ValueError(f"{bins} bins are none.")
    if binning not in get_args(Binning):
        raise ValueError(f"binning is one of {', '.join(get_args(Binning))}, not {binning!r}.")
    places = _by_width(column, bins) if binning == "width" else _by_mass(column, bins)
    rows = np.bincount(places, minlength=bins)
    held = rows > 0
    confidence = np.bincount(places, column, bins)[held] / rows[held]
    frequency = np.bincount(places, truth, bins)[held] / rows[held]
    return Reliability(
        tuple(confidence.tolist()), tuple(frequency.tolist()), tuple(rows[held].tolist()), binning
    )


def expected_calibration_error(
    probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10, binning: Binning = "width"
) -> float:
    """How far the probabilities are from the shares that came true, on average over bins.

    ECE = Σ_b (n_b/n)·|share true in b − mean probability in b|, in [0, 1]; 0 is best. A constant forecast of
    the base rate has an ECE of 0, so an ECE means little without that of the base rate and a Brier score
    beside it; and it changes with the bins.

    Args:
        probabilities: of being true, in [0, 1], shape (n,), n at least 1.
        labels: true or false (or 1 and 0), shape (n,).
        bins: how many, at least 1.
        binning: ``width`` or ``mass``; see `reliability`.

    Raises:
        ValueError: as for `reliability`.

    Source: Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), ICML.

    >>> round(expected_calibration_error([0.1, 0.1, 0.8, 0.9], [0, 1, 1, 1], bins=2), 4)
    0.275
    """
    return reliability(probabilities, labels, bins=bins, binning=binning).error


@dataclass(frozen=True)
class Brier:
    """The mean squared error of probabilities, and what it is made of.

    score = reliability − resolution + uncertainty, but for rounding.

    Attributes:
        score: mean (p − y)², in [0, 1]; 0 is best.
        reliability: mean (p − share true at p)², what better calibration would save.
        resolution: mean (share true at p − base rate)², what telling rows apart gained.
        uncertainty: base rate·(1 − base rate), the score of the base rate as a constant forecast.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float


def brier(probabilities: ArrayLike, labels: ArrayLike) -> Brier:
    """The Brier score, taken apart over the distinct probabilities, so that nothing is lost to bins.

    Where every row has a probability of its own, reliability is the score itself: read the parts of few
    distinct probabilities (of isotonic maps, of bins), and the score of any.

    Args:
        probabilities: of being true, in [0, 1], shape (n,), n at least 1.
        labels: true or false (or 1 and 0), shape (n,).

    Raises:
        ValueError: as for `reliability`.

    Source: Brier (1950); Murphy (1973), J. Appl. Meteorol. 12.

    >>> brier([0.5, 0.5, 1.0, 1.0], [0, 1, 1, 1])
    Brier(score=0.125, reliability=0.0, resolution=0.0625, uncertainty=0.1875)
    """
    column, truth = _probabilities(probabilities, labels)
    levels, places, rows = np.unique(column, return_inverse=True, return_counts=True)
    shares, rate = np.bincount(places, truth) / rows, float(truth.mean())
    return Brier(
        score=float(np.square(column - truth).mean()),
        reliability=float(rows @ np.square(levels - shares)) / len(column),
        resolution=float(rows @ np.square(shares - rate)) / len(column),
        uncertainty=rate * (1 - rate),
    )


def out_of_fold(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    method: CalibrationMethod = "platt",
    folds: int | Sequence[NDArray[np.int64]] = 5,
    seed: int = 0,
) -> Floats:
    """A probability for each row from a map that was fitted without it, nor with any row of its cluster.

    Whole clusters are dealt into folds so that the base rates are as alike as can be. Where a class stands
    in fewer clusters than there are folds, there are only as many folds.

    Args:
        scores: finite, shape (n,).
        labels: true or false (or 1 and 0), shape (n,), each class in two clusters at least.
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does.
        method: ``platt``, ``isotonic``, or ``base rate``, the share of true rows in the other folds.
        folds: at most, at least 2; or the rows of each, as `folds_of` dealt them.
        seed: of the dealing; equal input gives equal bits.

    Returns:
        Probabilities in [0, 1], shape (n,).

    Raises:
        ValueError: as for `fit_platt`; or a class stands in one cluster only, so that some row would have to
            be judged by a map that never saw it.

    Source: Stone (1974), J. R. Stat. Soc. B 36 (cross-validation).

    >>> out_of_fold([1, 2, 3, 4], [0, 1, 0, 1], method="base rate", folds=2).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    column, truth = labelled_scores(scores, labels)
    fit = _fitting(method)
    made = np.full(len(column), np.nan)
    dealt = folds_of(truth, clusters, folds=folds, seed=seed) if isinstance(folds, int) else folds
    for rows in dealt:
        others = np.ones(len(column), dtype=np.bool_)
        others[rows] = False
        made[rows] = fit(column[others], truth[others]).probability(column[rows])
    return made


def folds_of(
    labels: ArrayLike, clusters: ArrayLike | None = None, *, folds: int = 5, seed: int = 0
) -> tuple[NDArray[np.int64], ...]:
    """The rows of each fold: whole clusters, the classes spread as evenly as can be.

    Args:
        labels: true or false (or 1 and 0), shape (n,).
        clusters: what belongs together, shape (n,); None if nothing does.
        folds: at most, at least 2; fewer where a class stands in fewer clusters.
        seed: of the dealing.

    Returns:
        Row numbers, ascending; the rows outside any one fold hold both classes.

    Raises:
        ValueError: a class stands in fewer than two clusters, or folds are fewer than two.

    >>> [rows.tolist() for rows in folds_of([0, 1, 0, 1], ["a", "a", "b", "b"], folds=2)]
    [[0, 1], [2, 3]]
    """
    truth = np.asarray(labels).astype(np.bool_)
    codes, clusters_there = cluster_codes(clusters, len(truth))
    held = np.column_stack([np.bincount(codes[truth == side], minlength=clusters_there) for side in (0, 1)])
    fewest = int((held > 0).sum(axis=0).min())
    if min(fewest, folds) < 2:  # noqa: PLR2004 - a row is judged by rows other than itself
        raise ValueError("Out-of-fold values need two folds, and both classes in two clusters each.")
    fold = _dealt(held, min(folds, fewest), np.random.default_rng(seed))[codes]
    return tuple(np.flatnonzero(fold == number) for number in range(min(folds, fewest)))


def _dealt(held: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of each cluster, from how many rows of each class it holds, shape (clusters, 2).

    Clusters are dealt to and fro, those that hold alike one after another, so that folds are much alike.
    The class that stands in fewer clusters is dealt first and the rest from the other end: so no fold has all
    clusters of a class.
    """
    rarer = int((held[:, 1] > 0).sum() < (held[:, 0] > 0).sum())
    shuffled = rng.permutation(len(held))
    mixed = np.all(held > 0, axis=1)
    alike = shuffled[np.lexsort([-held[shuffled, 0], -held[shuffled, 1], np.logical_not(mixed[shuffled])])]
    first: NDArray[np.bool_] = held[alike, rarer] > 0
    to_and_fro = np.concatenate([np.arange(folds), np.arange(folds)[::-1]])
    fold = np.empty(len(held), dtype=np.int64)
    fold[alike[first]] = np.resize(to_and_fro, first.sum())
    fold[alike[~first]] = folds - 1 - np.resize(to_and_fro, (~first).sum())
    return fold


def _fitting(method: CalibrationMethod) -> Callable[[Floats, NDArray[np.bool_]], ProbabilityMap]:
    known: dict[str, Callable[[Floats, NDArray[np.bool_]], ProbabilityMap]] = {
        "platt": fit_platt,
        "isotonic": fit_isotonic,
        "base rate": fit_base_rate,
    }
    if method not in known:
        raise ValueError(f"method is one of {', '.join(known)}, not {method!r}.")
    return known[method]


def _probabilities(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    column = np.asarray(probabilities, dtype=np.float64)
    truth = truth_of(labels, column.shape)
    if not len(column):
        raise ValueError("There are no rows to judge the probabilities by.")
    if not ((column >= 0) & (column <= 1)).all():
        raise ValueError("A probability is NaN or lies outside [0, 1].")
    return column, truth


def _by_width(column: Floats, bins: int) -> NDArray[np.int64]:
    return np.minimum((column * bins).astype(np.int64), bins - 1)


def _by_mass(column: Floats, bins: int) -> NDArray[np.int64]:
    """Bins of ranks, counted in whole numbers, so that no rounding moves a row."""
    ordered = np.sort(column)
    twice = np.searchsorted(ordered, column, "left") + np.searchsorted(ordered, column, "right")
    return (twice * bins) // (2 * len(column))
