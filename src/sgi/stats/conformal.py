"""Thresholds whose rate of false alarms is promised: split conformal, overall and by strata of length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FEWEST_IN_STRATUM = 40
"""Grounded rows that a stratum needs for a threshold of its own."""

FLAGS_NOTHING = -math.inf
"""The threshold where the rows are too few to promise anything."""


def conformal_threshold(grounded: ArrayLike, rate: float) -> float:
    """The threshold τ below which a row is flagged, so that P(flagged | grounded) ≤ rate.

    τ is the ⌊(n + 1)·rate⌋-th smallest of the n grounded scores; with nonconformity −s that is the
    ⌈(n + 1)(1 − rate)⌉-th smallest nonconformity, negated. Flagged is what scores *less* than τ, so rows
    equal to it are passed and ties can only lower the rate. Where rate < 1/(n + 1) nothing can be promised
    but by flagging nothing: τ = −∞.

    The promise holds on average over draws of calibration rows and of the new row, which must be exchangeable
    with them: of the same kind, from the same system and encoder. Rows of one question are not exchangeable
    with a row of a new one: give one row of each question (see `one_of_each`), and n counts questions. It
    says nothing of ungrounded rows, nor of any one subgroup.

    Args:
        grounded: scores of rows known to be grounded, higher = better, finite, one a question, shape (n,).
        rate: the share of grounded rows that may be flagged, in (0, 1).

    Returns:
        One of the scores, or −∞.

    Raises:
        ValueError: a score is not finite, or the rate lies outside (0, 1).

    Source: Vovk, Gammerman and Shafer (2005); Lei et al. (2018), J. Am. Stat. Assoc. 113.

    >>> conformal_threshold(range(1, 20), 0.05), conformal_threshold(range(1, 19), 0.05)
    (1.0, -inf)
    """
    column = _scores(grounded)
    place = math.floor((len(column) + 1) * _checked(rate))
    return float(np.partition(column, place - 1)[place - 1]) if place else FLAGS_NOTHING


def clearing_threshold(ungrounded: ArrayLike, rate: float) -> float:
    """The threshold above which a row is cleared, so that P(cleared | ungrounded) ≤ rate.

    It is the ⌊(n + 1)·rate⌋-th greatest of the n ungrounded scores: `conformal_threshold` with the two kinds
    and the two directions changed over, and the same promise. Cleared is what scores *more* than it, so
    rows equal to it are not, and ties can only lower the rate. Where rate < 1/(n + 1) nothing can be
    promised but by clearing nothing: ∞.

    Args:
        ungrounded: scores of rows known to be ungrounded, higher = better, finite, one a question, (n,).
        rate: the share of ungrounded rows that may be cleared, in (0, 1).

    Returns:
        One of the scores, or ∞.

    Raises:
        ValueError: a score is not finite, or the rate lies outside (0, 1).

    Source: Angelopoulos et al. (2024), ICLR (conformal risk control, of which this is the case of a miss).

    >>> clearing_threshold(range(1, 20), 0.05), clearing_threshold(range(1, 19), 0.05)
    (19.0, inf)
    """
    return -conformal_threshold(-_scores(ungrounded), rate)


def one_of_each(clusters: ArrayLike, *, seed: int = 0) -> NDArray[np.int64]:
    """One row of each cluster, drawn without looking at scores.

    A new question is exchangeable with the questions that are known, but its answers are not with theirs:
    many answers of one question are much alike, and a threshold at their 5 % quantile can flag far more than
    5 % of the answers to new questions. With one row of each question the promise of `conformal_threshold`
    holds for one answer, drawn in the same way, of a new question.

    Args:
        clusters: what belongs together (say, the same question), whole numbers or texts, shape (n,).
        seed: of the draw; equal input gives equal rows.

    Returns:
        Row numbers, ascending; as many as there are distinct clusters.

    Source: Dunn, Wasserman and Ramdas (2023), J. Am. Stat. Assoc. 118 (subsampling one of each group).

    >>> one_of_each([7, 3, 5]).tolist(), len(one_of_each([7, 7, 7, 3]))
    ([0, 1, 2], 2)
    """
    column = np.asarray(clusters)
    order = np.random.default_rng(seed).permutation(len(column))
    _, first = np.unique(column[order], return_index=True)
    return np.sort(order[first])


@dataclass(frozen=True)
class LengthThresholds:
    """One threshold for each stratum of length.

    Attributes:
        edges: where a stratum ends and the next begins, ascending; a length equal to an edge belongs above.
        thresholds: of the strata, one more than edges; −∞ flags nothing.
        rows: grounded rows, one a question, that each was made of.
    """

    edges: tuple[float, ...]
    thresholds: tuple[float, ...]
    rows: tuple[int, ...]

    def of(self, lengths: ArrayLike, /) -> NDArray[np.float64]:
        """The threshold for each length.

        >>> LengthThresholds((20.0,), (0.8, 1.1), (40, 40)).of([3, 20]).tolist()
        [0.8, 1.1]
        """
        return np.asarray(self.thresholds, dtype=np.float64)[stratum_of(lengths, self.edges)]


def length_thresholds(
    grounded: ArrayLike, lengths: ArrayLike, rate: float, *, bins: int = 4, fewest: int = FEWEST_IN_STRATUM
) -> LengthThresholds:
    """A conformal threshold for each stratum of length, so that the rate holds within each (Mondrian).

    Rows are one of each question, as for `conformal_threshold`, so the rate holds within each stratum and
    over all of them. Strata end at quantiles of the lengths. Each holds ``fewest`` rows at least, and 1/rate
    less one, without which it could flag nothing; where that cannot be there are fewer strata. That their
    edges come from the calibration rows bends the promise by no more than about 1/n.

    Args:
        grounded: scores of rows known to be grounded, higher = better, finite, one a question, shape (n,).
        lengths: of their responses, shape (n,).
        rate: the share of grounded rows that may be flagged, in (0, 1).
        bins: strata at most, at least 1.
        fewest: rows of a stratum.

    Raises:
        ValueError: as for `conformal_threshold`; or lengths are not one for each score, or bins are none.

    Source: Vovk (2012), ACML (Mondrian conformal predictors).

    >>> made = length_thresholds(range(100), range(100), 0.05, bins=2)
    >>> made.edges, made.thresholds, made.rows
    ((50.0,), (1.0, 51.0), (50, 50))
    """
    column, measured = _scores(grounded), np.asarray(lengths, dtype=np.float64)
    if measured.shape != column.shape or not np.isfinite(measured).all():
        raise ValueError("Each score has a finite length.")
    if bins < 1:
        raise ValueError(f"{bins} bins are none.")
    wanted = max(fewest, math.ceil(1 / _checked(rate)) - 1)
    edges = _edges(measured, bins, wanted)
    strata = stratum_of(measured, edges)
    parts = [column[strata == stratum] for stratum in range(len(edges) + 1)]
    thresholds = tuple(conformal_threshold(part, rate) for part in parts)
    return LengthThresholds(edges, thresholds, tuple(map(len, parts)))


def stratum_of(lengths: ArrayLike, edges: tuple[float, ...]) -> NDArray[np.int64]:
    """The stratum of each length, counted from 0.

    >>> stratum_of([3, 20, 21], (20.0,)).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(np.asarray(edges, dtype=np.float64), lengths, side="right")


def _edges(lengths: NDArray[np.float64], bins: int, fewest: int) -> tuple[float, ...]:
    """Inner quantiles that leave enough rows between them; as many as can be, maybe none."""
    for count in range(min(bins, len(lengths) // max(fewest, 1)), 1, -1):
        shares = np.arange(1, count) / count
        found = np.unique(np.quantile(lengths, shares, method="higher"))
        edges = tuple(found[found > lengths.min()].tolist())
        if edges and np.bincount(stratum_of(lengths, edges), minlength=len(edges) + 1).min() >= fewest:
            return edges
    return ()


def _scores(grounded: ArrayLike) -> NDArray[np.float64]:
    column = np.asarray(grounded, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("A threshold is made of one column of finite scores.")
    return column


def _checked(rate: float) -> Fraction:
    """The rate as it is written: 29 % of 100 are 29, not the 28.999… of floats."""
    if not 0 < rate < 1:
        raise ValueError(f"A rate lies in (0, 1), not {rate!r}.")
    return Fraction(repr(float(rate)))
