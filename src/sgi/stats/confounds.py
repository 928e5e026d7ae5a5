"""Controls of a ranking: trivial baselines, strata, matched rows and shuffled labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.stats.auroc_intervals import area_interval, row_influence
from sgi.stats.bootstrap import shuffled_labels
from sgi.stats.intervals import Interval, check_draws, cluster_codes, percentiles
from sgi.stats.rank_counts import scores_and_truths, values_and_truths
from sgi.stats.ranking import Ranking, auroc, ranking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_CHANCE = 0.5
_LEVEL = 0.95
# AUROCs at the same distance from chance differ by rounding.
_TIE = 1e-12


@dataclass(frozen=True)
class Baseline:
    """A trivial score and its AUROC.

    Attributes:
        name: of the score, as ``length`` or ``overlap``.
        direction: the values that it ranks as true: ``higher`` or ``lower``; of a length ``longer`` or
            ``shorter``.
        ranking: its AUROC in that direction, with interval.
    """

    name: str
    direction: str
    ranking: Ranking


@dataclass(frozen=True)
class Stratified:
    """AUROC over pairs of rows of the same stratum.

    Attributes:
        ranking: its area, interval, and the true and false rows of the strata that hold both.
        strata: how many hold both.
        dropped: rows of strata with one class only.
    """

    ranking: Ranking
    strata: int
    dropped: int


@dataclass(frozen=True)
class Permuted:
    """AUROC where the labels are shuffled.

    Attributes:
        auroc: mean over the shuffles.
        interval: the middle 95 % of the shuffles.
        draws: number of shuffles.
        p: two-sided, of the AUROC with the real labels.
    """

    auroc: float
    interval: Interval
    draws: int
    p: float


def baseline(
    name: str,
    values: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    direction: Literal["higher", "lower", "either"] = "higher",
) -> Baseline | None:
    """How well one column alone ranks positive rows above negative ones.

    Args:
        name: of the column.
        values: shape (n,); rows where it is NaN are left out.
        labels: true or false (or 1 and 0), shape (n,).
        clusters: rows with the same value are dependent, shape (n,).
        direction: the values that it ranks as true. ``either`` takes the direction that ranks better on these
            rows, so its AUROC is at least 0.5, and on few rows higher than on new ones.

    Returns:
        None where the known rows hold one class only.

    Raises:
        ValueError: as for `ranking`, or there is no such direction.

    Source: AUROC as in `auroc`; the choice of baselines is ours.

    >>> found = baseline("copied", [0.9, 0.2, 0.4, 0.1], [0, 1, 0, 1], direction="either")
    >>> found.direction, found.ranking.auroc
    ('lower', 1.0)
    """
    if direction not in {"higher", "lower", "either"}:
        raise ValueError(f"The direction {direction!r} is none of higher, lower, either.")
    column, truth = values_and_truths(values, labels)
    known = ~np.isnan(column)
    column, truth = column[known], truth[known]
    groups = None if clusters is None else cluster_codes(clusters, len(known))[0][known]
    taken = direction
    if direction == "either":
        area = auroc(column, truth)
        taken = "lower" if area is not None and area < _CHANCE else "higher"
    found = ranking(column if taken == "higher" else -column, truth, groups)
    return None if found is None else Baseline(name, taken, found)


def trivial_baselines(
    labels: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    overlaps: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> tuple[Baseline, ...]:
    """How well length and overlap alone rank positive rows above negative ones.

    Length takes the direction that ranks better on these rows, so its AUROC is at least 0.5; overlap keeps
    higher = true. A detector should rank better than both.

    Args:
        labels: true or false (or 1 and 0), shape (n,).
        lengths: of the responses, shape (n,); rows where it is NaN are left out.
        overlaps: share of the response found in its contexts, shape (n,); rows where it is NaN are left out.
        clusters: rows with the same value are dependent, shape (n,).

    Returns:
        Those of the two that were given and rank at all (both classes present), length first.

    Raises:
        ValueError: as for `ranking`.

    Source: AUROC as in `auroc`; the choice of baselines is ours.

    >>> (found,) = trivial_baselines([True, True, False, False], lengths=[3, 9, 9, 20])
    >>> found.name, found.direction, found.ranking.auroc
    ('length', 'shorter', 0.875)
    """
    found = []
    if lengths is not None:
        made = baseline("length", lengths, labels, clusters, direction="either")
        words = {"higher": "longer", "lower": "shorter"}
        found.append(made and replace(made, direction=words[made.direction]))
    if overlaps is not None:
        found.append(baseline("overlap", overlaps, labels, clusters))
    return tuple(made for made in found if made is not None)


def stratified_auroc(
    scores: ArrayLike,
    labels: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> Stratified | None:
    r"""AUROC over the pairs of a positive and a negative row **of the same stratum**, ties counting half.

    .. math:: \frac{\sum_s m_s n_s\,\mathrm{AUROC}_s}{\sum_s m_s n_s}

    with m positive and n negative rows in stratum s. A variable that is constant within each stratum, such as
    the stratum itself, adds nothing to it. The interval is the score interval of `auroc_interval` over these
    pairs; a cluster may span several strata.

    Args:
        scores: higher = more likely positive, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        strata: the variable to condition on, numbers or names, shape (n,); not NaN.
        clusters: rows with the same value are dependent, shape (n,); None if all rows are independent.
        level: in (0, 1).

    Returns:
        None where no stratum has both classes.

    Raises:
        ValueError: as for `auroc_interval`, or a stratum is NaN.

    Source: Janes and Pepe (2009), Biometrika 96 (covariate-adjusted ROC curve), here with weights of pairs.

    >>> found = stratified_auroc([1, 2, 3, 11, 12, 13], [0, 1, 1, 0, 0, 1], [1, 1, 1, 2, 2, 2])
    >>> found.ranking.auroc, auroc([1, 2, 3, 11, 12, 13], [0, 1, 1, 0, 0, 1])
    (1.0, 0.5555555555555556)
    """
    column, truth = scores_and_truths(scores, labels)
    check_draws(level, 1)
    codes, _ = cluster_codes(clusters, len(column))
    places, count = cluster_codes(_without_nan(strata), len(column))
    positive, negative = (np.bincount(places[side], minlength=count) > 0 for side in (truth, ~truth))
    used = (positive & negative)[places]
    column, truth, codes = column[used], truth[used], codes[used]
    places = np.unique(places[used], return_inverse=True)[1]
    if not used.any():
        return None
    area, _ = row_influence(column, truth, places)
    interval = area_interval(column, truth, codes, places, level)
    return Stratified(
        ranking=Ranking.of(area, interval, int(truth.sum()), int((~truth).sum())),
        strata=int((positive & negative).sum()),
        dropped=int((~used).sum()),
    )


def matched_rows(
    values: ArrayLike, labels: ArrayLike, *, width: float = 0.0, seed: int = 0
) -> NDArray[np.int64]:
    """Rows in which each value occurs equally often with either label (exact or coarsened matching).

    For each distinct value, or bin [k·width, (k + 1)·width), all rows of the rarer class are kept and as many
    rows of the other are drawn. Over the kept rows an exactly matched value has AUROC 0.5, so it does not
    explain how a score ranks them.

    The kept values and labels depend on seed and width, not on the order of the rows. Among rows with the
    same value and label the order decides which are kept.

    Args:
        values: the variable to match, such as the length of the response, shape (n,); rows where it is NaN
            are left out.
        labels: true or false (or 1 and 0), shape (n,).
        width: of the bins; 0 matches equal values alone.
        seed: of the draws; equal input gives equal rows.

    Returns:
        The numbers of the kept rows, ascending; empty where no value comes with both labels.

    Raises:
        ValueError: a label is neither true nor false, lengths differ, or width is negative, not
            finite, or too narrow for the values to be counted in it.

    Source: exact and coarsened exact matching, Iacus, King and Porro (2012), Political Analysis 20.

    >>> matched_rows([5, 5, 5, 7, 9, 9], [1, 0, 0, 1, 1, 0]).tolist()
    [0, 2, 4, 5]
    """
    column, truth = values_and_truths(values, labels)
    rows = np.flatnonzero(~np.isnan(column))
    bins, count = cluster_codes(_binned(column[rows], width), len(rows))
    # Rows in an order of their own meet the random keys, so that the order they came in has no say.
    canonical = np.lexsort((column[rows], truth[rows], bins))
    rows, bins = rows[canonical], bins[canonical]
    groups = 2 * bins + truth[rows]
    drawn = np.lexsort((np.random.default_rng(seed).random(len(rows)), groups))
    sizes = np.bincount(groups, minlength=2 * count)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fewer = sizes.reshape(-1, 2).min(axis=1)
    return np.sort(rows[drawn][place < fewer[bins]])


def permutation_control(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    draws: int = 200,
    seed: int = 0,
) -> Permuted | None:
    r"""AUROC under shuffled labels, and the p-value of a permutation test.

    .. math:: p = \frac{1 + \#\{|A^* - ½| \ge |A - ½|\}}{1 + B}

    The labels of a cluster stay together: they are exchanged with those of another cluster of the same size,
    and permuted within it. So

    * without clusters, labels are shuffled over rows;
    * with one true and one false answer per question, labels are shuffled within questions: the effect of a
      question on both of its answers cancels, and shuffles over rows would show too wide a spread;
    * with clusters of one label each, whole clusters are shuffled: shuffles over rows would count dependent
      rows as independent evidence, and find effects where there are none.

    The labels of a cluster with a unique size are only permuted within it. This keeps the test valid and
    costs some power.

    Args:
        scores: higher = more likely true, shape (n,); not NaN.
        labels: true or false (or 1 and 0), shape (n,).
        clusters: rows with the same value are dependent, shape (n,); None if all rows are independent.
        draws: number of shuffles, B.
        seed: of the shuffles; equal input gives equal bits.

    Returns:
        None where a class is absent.

    Raises:
        ValueError: as for `auroc`, or draws are below 1.

    Source: Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9 (p of random permutations); Winkler et
    al. (2015), NeuroImage 123 (exchangeable blocks of one size).

    >>> found = permutation_control(range(40), [0] * 20 + [1] * 20)
    >>> 0.45 < found.auroc < 0.55, found.p == 1 / 201
    (True, True)
    """
    column, truth = scores_and_truths(scores, labels)
    check_draws(_LEVEL, draws)
    area = auroc(column, truth)
    if area is None:
        return None
    codes, _ = cluster_codes(clusters, len(column))
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    shuffled = shuffled_labels(truth, codes, draws, seed)
    areas = np.array([auroc(ordered, labelling[order]) for labelling in shuffled], dtype=np.float64)
    found = int(np.count_nonzero(np.abs(areas - _CHANCE) >= abs(area - _CHANCE) - _TIE))
    interval = percentiles(areas, _LEVEL, "permutation")
    return Permuted(float(areas.mean()), interval, draws, (1 + found) / (1 + draws))


def _binned(column: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    if width == 0.0:
        return column
    if not 0.0 < width < np.inf:
        raise ValueError(f"A bin of width {width} matches nothing; the width is 0 or more.")
    with np.errstate(over="ignore"):
        bins: NDArray[np.float64] = np.floor(column / width)
    if np.isinf(bins[np.isfinite(column)]).any():
        raise ValueError(f"Bins of width {width} are too narrow to be counted; 0 matches equal values.")
    return bins


def _without_nan(strata: ArrayLike) -> NDArray[Any]:
    column = np.asarray(strata)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ValueError("A stratum is NaN: a row of unknown stratum can be compared with none.")
    return column
