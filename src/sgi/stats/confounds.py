"""Controls for a ranking: trivial baselines, stratification, matching and label permutation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.stats.auroc_intervals import area_interval, row_influence, scores_and_labels, values_and_labels
from sgi.stats.intervals import (
    Interval,
    check_draws,
    check_level,
    cluster_codes,
    percentile_interval,
    shuffled_labels,
)
from sgi.stats.ranking import Ranking, auroc, ranking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CONTENT_PRECISION = "content-word precision"
"""Name of the baseline that counts the content words of a response that its passages have."""

_CHANCE = 0.5
_LEVEL = 0.95
# AUROCs at the same distance from chance differ by rounding.
_TIE = 1e-12


@dataclass(frozen=True)
class Baseline:
    """A trivial score and its AUROC.

    Attributes:
        name: name of the score, such as ``length`` or ``content-word precision``.
        direction: values ranked as true: ``higher`` or ``lower``; for lengths ``longer`` or ``shorter``.
        ranking: AUROC in that direction, with interval.
    """

    name: str
    direction: str
    ranking: Ranking


@dataclass(frozen=True)
class StratifiedAuroc:
    """AUROC over pairs of rows of the same stratum, and the number of strata with both classes.

    ``dropped`` is the number of rows in strata with one class only.
    """

    ranking: Ranking
    strata: int
    dropped: int


@dataclass(frozen=True)
class PermutationControl:
    """AUROC under permuted labels: mean, central 95 %, number of permutations and two-sided p-value."""

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
    """Return the AUROC of one column alone; None if a class is absent.

    Rows with NaN are omitted. The direction ``either`` takes the better direction on these rows, so its AUROC
    is at least 0.5 and optimistic for few rows.

    >>> result = baseline("copied", [0.9, 0.2, 0.4, 0.1], [0, 1, 0, 1], direction="either")
    >>> result.direction, result.ranking.auroc
    ('lower', 1.0)
    """
    if direction not in {"higher", "lower", "either"}:
        raise ValueError(f"`direction` must be higher, lower or either, not {direction!r}.")
    column, truth = values_and_labels(values, labels)
    known = ~np.isnan(column)
    column, truth = column[known], truth[known]
    groups = None if clusters is None else cluster_codes(clusters, len(known))[0][known]
    if direction == "either":
        area = auroc(column, truth)
        direction = "lower" if area is not None and area < _CHANCE else "higher"
    result = ranking(column if direction == "higher" else -column, truth, groups)
    return None if result is None else Baseline(name, direction, result)


def trivial_baselines(
    labels: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    precisions: ArrayLike | None = None,
    overlaps: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> tuple[Baseline, ...]:
    """Return the AUROC of length and of two overlaps of words, if given; a detector should exceed all.

    Length takes the better direction on these rows. ``precisions`` are the shares of the response's content
    words found in its contexts, ``overlaps`` the shares of all its distinct words; higher = true. Rows with
    NaN are omitted.

    >>> (result,) = trivial_baselines([True, True, False, False], lengths=[3, 9, 9, 20])
    >>> result.name, result.direction, result.ranking.auroc
    ('length', 'shorter', 0.875)
    """
    length = precision = None
    if lengths is not None:
        length = baseline("length", lengths, labels, clusters, direction="either")
        words = {"higher": "longer", "lower": "shorter"}
        length = length and replace(length, direction=words[length.direction])
    if precisions is not None:
        precision = baseline(CONTENT_PRECISION, precisions, labels, clusters)
    overlap = None if overlaps is None else baseline("overlap", overlaps, labels, clusters)
    return tuple(trivial for trivial in (length, precision, overlap) if trivial is not None)


def stratified_auroc(
    scores: ArrayLike,
    labels: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> StratifiedAuroc | None:
    r"""Return the AUROC over pairs of a positive and a negative row **of the same stratum**; ties count half.

    .. math:: \frac{\sum_s m_s n_s\,\mathrm{AUROC}_s}{\sum_s m_s n_s}

    with m positive and n negative rows in stratum s. A variable that is constant within each stratum adds
    nothing to it. The interval is the score interval of `auroc_interval` over these pairs; a cluster may span
    several strata. ``strata`` are numbers or names, shape (n,).

    Returns:
        None if no stratum has both classes.

    Source: Janes and Pepe (2009), Biometrika 96 (covariate-adjusted ROC curve), here with weights of pairs.

    >>> result = stratified_auroc([1, 2, 3, 11, 12, 13], [0, 1, 1, 0, 0, 1], [1, 1, 1, 2, 2, 2])
    >>> result.ranking.auroc, auroc([1, 2, 3, 11, 12, 13], [0, 1, 1, 0, 0, 1])
    (1.0, 0.5555555555555556)
    """
    column, truth = scores_and_labels(scores, labels)
    check_level(level)
    codes, _ = cluster_codes(clusters, len(column))
    stratum, count = cluster_codes(_without_nan(strata), len(column))
    positive, negative = (np.bincount(stratum[side], minlength=count) > 0 for side in (truth, ~truth))
    used = (positive & negative)[stratum]
    column, truth, codes = column[used], truth[used], codes[used]
    stratum = np.unique(stratum[used], return_inverse=True)[1]
    if not used.any():
        return None
    area, _ = row_influence(column, truth, stratum)
    interval = area_interval(column, truth, codes, stratum, level)
    return StratifiedAuroc(
        ranking=Ranking.of(area, interval, int(truth.sum()), int((~truth).sum())),
        strata=int((positive & negative).sum()),
        dropped=int((~used).sum()),
    )


def matched_rows(
    values: ArrayLike, labels: ArrayLike, *, width: float = 0.0, seed: int = 0
) -> NDArray[np.int64]:
    """Select rows in which each value occurs equally often with both labels (exact or coarsened matching).

    For each distinct value, or bin [k·width, (k + 1)·width) if ``width`` is not 0, keeps all rows of the
    rarer class and as many random rows of the other. An exactly matched value then has AUROC 0.5. Rows with
    NaN are omitted. The values and labels of the result do not depend on the order of the rows.

    Returns:
        Row numbers, ascending; empty if no value occurs with both labels.

    Source: exact and coarsened exact matching, Iacus, King and Porro (2012), Political Analysis 20.

    >>> matched_rows([5, 5, 5, 7, 9, 9], [1, 0, 0, 1, 1, 0]).tolist()
    [0, 2, 4, 5]
    """
    column, truth = values_and_labels(values, labels)
    rows = np.flatnonzero(~np.isnan(column))
    bins, count = cluster_codes(_bin(column[rows], width), len(rows))
    # A canonical order makes the random keys independent of the input order.
    canonical = np.lexsort((column[rows], truth[rows], bins))
    rows, bins = rows[canonical], bins[canonical]
    groups = 2 * bins + truth[rows]
    sample = np.lexsort((np.random.default_rng(seed).random(len(rows)), groups))
    sizes = np.bincount(groups, minlength=2 * count)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fewer = sizes.reshape(-1, 2).min(axis=1)
    return np.sort(rows[sample][place < fewer[bins]])


def permutation_control(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    draws: int = 200,
    seed: int = 0,
) -> PermutationControl | None:
    r"""Compute the permutation test of AUROC; None if a class is absent.

    .. math:: p = \frac{1 + \#\{|A^* - ½| \ge |A - ½|\}}{1 + B}

    Labels are exchanged between clusters of the same size, and permuted within each cluster. Permuting single
    rows would be wrong for clustered labels. A cluster of unique size is only permuted within, which keeps
    the test valid and costs some power.

    Source: Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9 (p of random permutations); Winkler et
    al. (2015), NeuroImage 123 (exchangeable blocks of one size).

    >>> result = permutation_control(range(40), [0] * 20 + [1] * 20)
    >>> 0.45 < result.auroc < 0.55, result.p == 1 / 201
    (True, True)
    """
    column, truth = scores_and_labels(scores, labels)
    check_draws(_LEVEL, draws)
    area = auroc(column, truth)
    if area is None:
        return None
    codes, _ = cluster_codes(clusters, len(column))
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    permutations = shuffled_labels(truth, codes, draws, seed)
    areas = np.array([auroc(ordered, permuted[order]) for permuted in permutations], dtype=np.float64)
    as_far = int(np.count_nonzero(np.abs(areas - _CHANCE) >= abs(area - _CHANCE) - _TIE))
    interval = percentile_interval(areas, _LEVEL, "permutation")
    return PermutationControl(float(areas.mean()), interval, draws, (1 + as_far) / (1 + draws))


def _bin(column: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    if width == 0.0:
        return column
    if not 0.0 < width < np.inf:
        raise ValueError(f"`width` must be finite and 0 or more, not {width}.")
    with np.errstate(over="ignore"):
        bins: NDArray[np.float64] = np.floor(column / width)
    if np.isinf(bins[np.isfinite(column)]).any():
        raise ValueError(f"`width` {width} is too narrow for these values; use 0 to match equal values.")
    return bins


def _without_nan(strata: ArrayLike) -> NDArray[Any]:
    column = np.asarray(strata)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ValueError("A stratum is NaN; leave out rows without a stratum.")
    return column
