"""Bradley–Terry model: strengths of systems from pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    ValueRange,
    check_level,
    cluster_codes,
    student_quantile,
    too_few_clusters,
)
from sgi.stats.means import MIN_DIFFERENT_CLUSTERS, clusters_that_differ

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_STEPS = 100
_CONVERGED = 1e-12
_METHOD = "Bradley–Terry, clustered t"


@dataclass(frozen=True)
class Strengths:
    """Strengths of systems.

    Attributes:
        values: log-odds of each system against an average one; their sum is 0; shape (k,). NaN if the model
            has no finite solution.
        intervals: the interval of each strength; None if it cannot be computed.
        reason: why there are no strengths, or why an interval is missing; empty if nothing is missing.
    """

    values: tuple[float, ...]
    intervals: tuple[Interval | None, ...]
    reason: str = ""


def bradley_terry(
    first: ArrayLike,
    second: ArrayLike,
    outcomes: ArrayLike,
    *,
    systems: int,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Strengths:
    r"""Fit strengths to comparisons of two systems.

    .. math:: P(i \text{ beats } j) = \frac{1}{1 + e^{-(\theta_i - \theta_j)}}, \quad \sum_i \theta_i = 0

    A tie counts as half a win of each side. The maximum of the likelihood is found by Newton's method. The
    standard errors come from the sandwich estimator with whole clusters, since the comparisons of one
    question are not independent; quantiles are those of Student's t with G − 1 degrees of freedom.

    The maximum exists only if no group of systems won all of its comparisons against the others (a tie
    counts for both), and if comparisons connect all systems. Otherwise the values are NaN, and the reason is
    given. A strength has no interval if fewer than 8 clusters (or half of them) differ from the most
    frequent outcome, for example if all comparisons are ties: so few do not show the spread.

    Args:
        first: index of the first system of each comparison, from 0, shape (n,).
        second: index of the second system, shape (n,).
        outcomes: 1 if the first system won, 0 if the second won, 0.5 for a tie, shape (n,).
        systems: number of systems, k.
        clusters: as in all functions of this package.
        level: confidence level.

    Source: Bradley and Terry (1952), Biometrika 39; Ford (1957), Am. Math. Mon. 64 (existence); Liang and
    Zeger (1986), Biometrika 73 (sandwich estimator).

    >>> result = bradley_terry([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0], systems=2)
    >>> round(result.values[0] - result.values[1], 6) == round(float(np.log(3)), 6)
    True
    """
    check_level(level)
    one, two, won = _comparisons(first, second, outcomes, systems)
    codes, count = cluster_codes(clusters, len(one))
    if reason := _no_maximum(one, two, won, systems):
        return Strengths((float("nan"),) * systems, (None,) * systems, reason)
    design = np.zeros((len(one), systems))
    design[np.arange(len(one)), one] = 1
    design[np.arange(len(one)), two] = -1
    strengths = _maximum(design, won)
    if count < MIN_CLUSTERS:
        return Strengths(tuple(strengths.tolist()), (None,) * systems, too_few_clusters(count).reason)
    influence = _influence(design, won, strengths, codes)
    return _with_intervals(strengths, influence, level)


def _comparisons(
    first: ArrayLike, second: ArrayLike, outcomes: ArrayLike, systems: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the columns as arrays.

    Raises:
        ValueError: the columns do not describe comparisons of ``systems`` systems.
    """
    one, two = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    won = np.asarray(outcomes, dtype=np.float64)
    if not one.shape == two.shape == won.shape or one.ndim != 1:
        raise ValueError("`first`, `second` and `outcomes` must be columns of the same length.")
    if not np.isin(won, (0, 0.5, 1)).all() or (one == two).any():
        raise ValueError("An outcome is 0, 0.5 or 1, and a system is not compared with itself.")
    if len(one) and (min(one.min(), two.min()) < 0 or max(one.max(), two.max()) >= systems):
        raise ValueError(f"Systems are numbered from 0 to {systems - 1}.")
    return one, two, won


def _with_intervals(strengths: Floats, influence: Floats, level: float) -> Strengths:
    """Return the strengths with the intervals of the sandwich estimator; `influence` has shape (G, k)."""
    count = len(influence)
    errors = np.sqrt(np.square(influence).sum(axis=0) * count / (count - 1))
    half = student_quantile(level, count - 1) * errors
    different = [clusters_that_differ(column, ValueRange.of(None, None)) for column in influence.T]
    needed = min(MIN_DIFFERENT_CLUSTERS, count / 2)
    intervals = tuple(
        Interval(float(value - width), float(value + width), level, _METHOD) if found >= needed else None
        for value, width, found in zip(strengths, half, different, strict=True)
    )
    rare = f"only {min(different)} of {count} clusters differ from the most frequent outcome"
    return Strengths(tuple(strengths.tolist()), intervals, rare if None in intervals else "")


def _no_maximum(first: NDArray[np.int64], second: NDArray[np.int64], won: Floats, systems: int) -> str:
    """Return why the likelihood has no finite maximum (Ford's condition); empty if it has one."""
    if not len(first):
        return "there are no comparisons"
    if not _is_connected(first, second, np.full(len(first), 0.5), systems):
        return "no chain of comparisons connects all systems"
    if not _is_connected(first, second, won, systems):
        return "some systems won all of their comparisons with the others, so their lead has no upper end"
    return ""


def _is_connected(first: NDArray[np.int64], second: NDArray[np.int64], won: Floats, systems: int) -> bool:
    """Return whether wins and ties lead from each system to each other one."""
    beats = np.eye(systems, dtype=np.int64)
    beats[first[won > 0], second[won > 0]] = 1
    beats[second[won < 1], first[won < 1]] = 1
    for _ in range(systems.bit_length()):
        beats = np.minimum(beats @ beats, 1)
    return bool(beats.all())


def _maximum(design: Floats, won: Floats) -> Floats:
    strengths = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = _probabilities(design, strengths)
        step = _inverse_information(design, p) @ (design.T @ (won - p))
        # A long first step can overshoot; with strengths of at most 5 per step, the method converges.
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        strengths += step
        if float(np.abs(step).max()) < _CONVERGED:
            break
    centred: Floats = strengths - strengths.mean()
    return centred


def _probabilities(design: Floats, strengths: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-(design @ strengths))), dtype=np.float64)


def _inverse_information(design: Floats, p: Floats) -> Floats:
    """Return the pseudo-inverse of the Fisher information, whose null space is that of equal strengths."""
    information = (design * (p * (1 - p))[:, None]).T @ design
    count = len(information)
    return np.asarray(np.linalg.inv(information + 1.0) - 1.0 / count**2, dtype=np.float64)


def _influence(design: Floats, won: Floats, strengths: Floats, codes: NDArray[np.int64]) -> Floats:
    """Return the effect of each cluster on each strength, shape (G, k)."""
    p = _probabilities(design, strengths)
    scores = np.zeros((int(codes.max()) + 1, design.shape[1]))
    np.add.at(scores, codes, design * (won - p)[:, None])
    influence = scores @ _inverse_information(design, p)
    # Rounding errors are not differences.
    influence[np.abs(influence) < _CONVERGED * (1 + np.abs(strengths))] = 0.0
    return np.asarray(influence, dtype=np.float64)
