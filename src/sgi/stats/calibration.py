"""Calibration of probabilities: reliability diagram, ECE, Brier score, out-of-fold probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.stats.auroc_intervals import values_and_labels
from sgi.stats.intervals import cluster_codes
from sgi.stats.logistic_map import fit_logistic
from sgi.stats.probability_maps import fit_base_rate, fit_isotonic, fit_platt, labelled_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.stats.logistic_map import LogisticMap
    from sgi.stats.probability_maps import ProbabilityMap

    Floats = NDArray[np.float64]

Binning = Literal["width", "mass"]
"""Binning of probabilities: equal width, or equal number of rows."""

CalibrationMethod = Literal["platt", "logistic", "isotonic", "base rate"]
"""Maps a score to a probability; ``base rate`` ignores the score."""

_FITS: dict[str, Callable[[ArrayLike, ArrayLike], ProbabilityMap | LogisticMap]] = {
    "platt": fit_platt,
    "logistic": fit_logistic,
    "isotonic": fit_isotonic,
    "base rate": fit_base_rate,
}


@dataclass(frozen=True)
class Reliability:
    """Mean predicted probability, share of true rows and number of rows of each bin that is not empty."""

    confidence: tuple[float, ...]
    frequency: tuple[float, ...]
    rows: tuple[int, ...]
    binning: Binning

    @property
    def error(self) -> float:
        """Expected calibration error: mean |frequency − confidence|, weighted by rows."""
        gaps = np.abs(np.subtract(self.frequency, self.confidence))
        return float(gaps @ np.array(self.rows)) / sum(self.rows)


def reliability(
    probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10, binning: Binning = "width"
) -> Reliability:
    """Compute the reliability diagram: mean probability and share of true rows in each of ``bins`` bins.

    ``width``: bin i of B contains i ≤ p·B < i + 1; the last bin includes 1. ``mass``: the bin of a row is
    ⌊B·(rows below + half of the tied rows)/n⌋. Ties are never split, so bins can differ in size.
    ``probabilities`` are those that a row is true, in [0, 1], shape (n,), n ≥ 1.

    Source: DeGroot and Fienberg (1983), The Statistician 32; the treatment of ties is new.

    >>> reliability([0.1, 0.1, 0.8, 0.9], [0, 1, 1, 1], bins=2).frequency
    (0.5, 1.0)
    """
    column, truth = _probabilities(probabilities, labels)
    if bins < 1:
        raise ValueError(f"`bins` must be at least 1, not {bins}.")
    if binning not in get_args(Binning):
        raise ValueError(f"`binning` must be {' or '.join(get_args(Binning))}, not {binning!r}.")
    numbers = _by_width(column, bins) if binning == "width" else _by_mass(column, bins)
    rows = np.bincount(numbers, minlength=bins)
    occupied = rows > 0
    confidence = np.bincount(numbers, column, bins)[occupied] / rows[occupied]
    frequency = np.bincount(numbers, truth, bins)[occupied] / rows[occupied]
    return Reliability(
        tuple(confidence.tolist()), tuple(frequency.tolist()), tuple(rows[occupied].tolist()), binning
    )


def expected_calibration_error(
    probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10, binning: Binning = "width"
) -> float:
    """Return the expected calibration error, in [0, 1]; 0 is best. The arguments are as in `reliability`.

    ECE = Σ_b (n_b/n)·|share true in b − mean probability in b|. It depends on the bins. A constant forecast
    of the base rate has an ECE of 0, so report a Brier score beside it.

    Source: Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), ICML.

    >>> round(expected_calibration_error([0.1, 0.1, 0.8, 0.9], [0, 1, 1, 1], bins=2), 4)
    0.275
    """
    return reliability(probabilities, labels, bins=bins, binning=binning).error


def error_by_chance(probabilities: ArrayLike) -> float:
    """Return the mean expected calibration error of labels that are drawn from the probabilities themselves.

    It is the mean over 200 draws, with ten bins of equal mass. Such probabilities are perfectly calibrated,
    so this is the part of an expected calibration error that the number of rows alone explains: with 30 rows
    in ten bins, about 0.2.

    Source: Bröcker and Smith (2007), Weather and Forecasting 22 (consistency resampling).

    >>> error_by_chance([0.0, 0.0, 1.0]), round(error_by_chance([0.5] * 10), 1)
    (0.0, 0.1)
    """
    column = np.asarray(probabilities, dtype=np.float64)
    rng = np.random.default_rng(0)
    drawn = (rng.random(len(column)) < column for _ in range(200))
    errors = [expected_calibration_error(column, truth, binning="mass") for truth in drawn]
    return float(np.mean(errors))


@dataclass(frozen=True)
class Brier:
    """Brier score and its decomposition: score = reliability − resolution + uncertainty, up to rounding.

    Attributes:
        score: mean (p − y)², in [0, 1]; 0 is best.
        reliability: mean (p − share true at p)², the loss due to miscalibration.
        resolution: mean (share true at p − base rate)², what separating rows gains.
        uncertainty: base rate·(1 − base rate), the score of a constant forecast of the base rate.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float


def brier(probabilities: ArrayLike, labels: ArrayLike) -> Brier:
    """Compute the Brier score and its decomposition over the distinct probabilities, each in [0, 1].

    If every row has a distinct probability, ``reliability`` equals the score. The decomposition is
    informative only for few distinct probabilities, such as the values of an isotonic map.

    Source: Brier (1950); Murphy (1973), J. Appl. Meteorol. 12.

    >>> brier([0.5, 0.5, 1.0, 1.0], [0, 1, 1, 1])
    Brier(score=0.125, reliability=0.0, resolution=0.0625, uncertainty=0.1875)
    """
    column, truth = _probabilities(probabilities, labels)
    levels, codes, rows = np.unique(column, return_inverse=True, return_counts=True)
    shares, rate = np.bincount(codes, truth) / rows, float(truth.mean())
    return Brier(
        score=float(np.square(column - truth).mean()),
        reliability=float(rows @ np.square(levels - shares)) / len(column),
        resolution=float(rows @ np.square(shares - rate)) / len(column),
        uncertainty=rate * (1 - rate),
    )


def out_of_fold_probabilities(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    method: CalibrationMethod = "platt",
    folds: int | Sequence[NDArray[np.int64]] = 5,
    seed: int = 0,
) -> Floats:
    """Return the cross-validated probability of each row, from a map fitted without its cluster, shape (n,).

    Clusters are assigned to folds with similar base rates. There are at most as many folds as clusters that
    contain the rarer class. ``method`` is ``platt``, ``logistic`` (`fit_logistic`), ``isotonic``, or ``base
    rate`` (share of true rows in the other folds). ``folds`` is the maximum number of folds, at least 2, or
    the row numbers of each, from `grouped_folds`.

    Raises:
        ValueError: a class occurs in only one cluster.

    Source: Stone (1974), J. R. Stat. Soc. B 36 (cross-validation).

    >>> out_of_fold_probabilities([1, 2, 3, 4], [0, 1, 0, 1], method="base rate", folds=2).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    column, truth = labelled_scores(scores, labels)
    if method not in _FITS:
        raise ValueError(f"`method` must be one of {', '.join(_FITS)}, not {method!r}.")
    fit = _FITS[method]
    result = np.full(len(column), np.nan)
    if isinstance(folds, int):
        folds = grouped_folds(truth, clusters, folds=folds, seed=seed)
    for rows in folds:
        others = np.ones(len(column), dtype=np.bool_)
        others[rows] = False
        result[rows] = fit(column[others], truth[others]).probability(column[rows])
    return result


def grouped_folds(
    labels: ArrayLike, clusters: ArrayLike | None = None, *, folds: int = 5, seed: int = 0
) -> tuple[NDArray[np.int64], ...]:
    """Assign whole clusters to at most ``folds`` folds, with classes spread as evenly as possible.

    Returns:
        Row numbers of each fold, ascending; the rows outside a fold contain both classes.

    Raises:
        ValueError: a class occurs in fewer than two clusters, or ``folds`` is below 2.

    >>> [rows.tolist() for rows in grouped_folds([0, 1, 0, 1], ["a", "a", "b", "b"], folds=2)]
    [[0, 1], [2, 3]]
    """
    truth = np.asarray(labels).astype(np.bool_)
    codes, cluster_count = cluster_codes(clusters, len(truth))
    occupied = np.column_stack(
        [np.bincount(codes[truth == side], minlength=cluster_count) for side in (0, 1)]
    )
    fewest = int((occupied > 0).sum(axis=0).min())
    if min(fewest, folds) < 2:
        raise ValueError("Out-of-fold values need two folds, and both classes in two clusters each.")
    fold = _assign_folds(occupied, min(folds, fewest), np.random.default_rng(seed))[codes]
    return tuple(np.flatnonzero(fold == number) for number in range(min(folds, fewest)))


def _assign_folds(rows: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each cluster, given its rows per class, shape (clusters, 2).

    Clusters with the rarer class are assigned first, the others from the other end, so no fold contains all
    clusters of a class.
    """
    rarer = int((rows[:, 1] > 0).sum() < (rows[:, 0] > 0).sum())
    order = rng.permutation(len(rows))
    single_class = (rows == 0).any(axis=1)
    order = order[np.lexsort([-rows[order, 0], -rows[order, 1], single_class[order]])]
    first: NDArray[np.bool_] = rows[order, rarer] > 0
    to_and_fro = np.concatenate([np.arange(folds), np.arange(folds)[::-1]])
    fold = np.empty(len(rows), dtype=np.int64)
    fold[order[first]] = np.resize(to_and_fro, first.sum())
    fold[order[~first]] = folds - 1 - np.resize(to_and_fro, (~first).sum())
    return fold


def _probabilities(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    column, truth = values_and_labels(probabilities, labels)
    if not len(column):
        raise ValueError("Rows are required.")
    if not ((column >= 0) & (column <= 1)).all():
        raise ValueError("A probability is NaN or outside [0, 1].")
    return column, truth


def _by_width(column: Floats, bins: int) -> NDArray[np.int64]:
    return np.minimum((column * bins).astype(np.int64), bins - 1)


def _by_mass(column: Floats, bins: int) -> NDArray[np.int64]:
    """Return the bins of mid-ranks, in integer arithmetic so that rounding cannot move a row."""
    ordered = np.sort(column)
    twice = np.searchsorted(ordered, column, "left") + np.searchsorted(ordered, column, "right")
    return (twice * bins) // (2 * len(column))
