"""Bradley–Terry model: strengths of systems from pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.stats.intervals import MIN_CLUSTERS, Interval, check_level, cluster_codes, too_few_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_STEPS = 100
_CONVERGED = 1e-8
_DRAWS = 2000
_METHOD = "Bradley–Terry, random weights"


@dataclass(frozen=True)
class Strengths:
    """Strengths of systems.

    Attributes:
        values: log-odds of each system against an average one; their sum is 0; shape (k,). NaN if the model
            has no finite solution.
        intervals: the interval of each strength, with an end of −∞ or ∞ if the comparisons do not bound it;
            None if no end is known.
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

    A tie counts as half a win of each side. The maximum of the likelihood is found by Newton's method. It
    exists only if no group of systems won all of its comparisons against the others (a tie counts for both),
    and if comparisons connect all systems. Otherwise the values are NaN, and the reason is given.

    The ends of an interval are quantiles of strengths fitted with random weights: clusters, such as
    questions, get uniform Dirichlet weights, since the comparisons of one question are not independent. For
    the lower end, one cluster is added in which the system loses all of its comparisons, for the upper end
    one in which it wins them. With two systems, no ties and one comparison for each question, this is the
    interval of Clopper and Pearson. If even the added cluster leaves the system without a loss, or without a
    win, the strength has no such end.

    Args:
        first: index of the first system of each comparison, from 0, shape (n,).
        second: index of the second system, shape (n,).
        outcomes: 1 if the first system won, 0 if the second won, 0.5 for a tie, shape (n,).
        systems: number of systems, k.
        clusters: as in all functions of this package.
        level: confidence level.

    Source: Bradley and Terry (1952), Biometrika 39; Ford (1957), Am. Math. Mon. 64 (existence); Rubin (1981),
    Ann. Stat. 9 (random weights); Gaffke (2005), Math. Methods Stat. 14 (the added cluster).

    >>> result = bradley_terry([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0], systems=2)
    >>> round(result.values[0] - result.values[1], 6) == round(float(np.log(3)), 6)
    True
    """
    check_level(level)
    one, two, won = _comparisons(first, second, outcomes, systems)
    codes, count = cluster_codes(clusters, len(one))
    totals = _Totals.of(one, two, won, codes, systems)
    reason = totals.no_maximum()
    unknown = (float("nan"),) * systems
    values = unknown if reason else tuple(totals.strengths(np.ones((1, count)))[0].tolist())
    if count < MIN_CLUSTERS:
        return Strengths(values, (None,) * systems, reason or too_few_clusters(count).reason)
    weights = np.random.default_rng(0).exponential(size=(_DRAWS, count + 1))
    intervals = tuple(_interval(totals, system, weights, level) for system in range(systems))
    return Strengths(values, intervals, reason)


def _interval(totals: _Totals, system: int, weights: Floats, level: float) -> Interval | None:
    """Return the interval of a strength; ``weights`` has the shape (draws, G + 1)."""
    low, high = -np.inf, np.inf
    if not (added := totals.with_cluster(system, 0)).no_maximum():
        low = float(np.quantile(added.strengths(weights)[:, system], (1 - level) / 2))
    if not (added := totals.with_cluster(system, 1)).no_maximum():
        high = float(np.quantile(added.strengths(weights)[:, system], (1 + level) / 2))
    return Interval(low, high, level, _METHOD) if np.isfinite([low, high]).any() else None


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


class _Totals(NamedTuple):
    """The wins of the first system and the comparisons of each pair, by cluster: (G, p); pairs: (p, 2)."""

    pairs: NDArray[np.int64]
    wins: Floats
    games: Floats
    systems: int

    @classmethod
    def of(
        cls,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        won: Floats,
        codes: NDArray[np.int64],
        systems: int,
    ) -> Self:
        """Count wins and comparisons of each pair of systems in each cluster."""
        both = np.sort(np.stack([first, second], axis=1), axis=1)
        pairs, pair = np.unique(both, axis=0, return_inverse=True)
        wins, games = np.zeros((2, int(codes.max(initial=-1)) + 1, len(pairs)))
        np.add.at(wins, (codes, pair.reshape(-1)), np.where(first < second, won, 1 - won))
        np.add.at(games, (codes, pair.reshape(-1)), 1.0)
        return cls(pairs, wins, games, systems)

    def with_cluster(self, system: int, won: int) -> Self:
        """Add a cluster of average size in which the system wins (1) or loses (0) all its comparisons."""
        more = np.where((self.pairs == system).any(axis=1), self.games.mean(axis=0), 0.0)
        wins = np.where(self.pairs[:, 0] == system, won, 1 - won) * more
        return self._replace(wins=np.vstack([self.wins, wins]), games=np.vstack([self.games, more]))

    def no_maximum(self) -> str:
        """Return why the likelihood has no finite maximum (Ford's condition); empty if it has one."""
        wins, games = self.wins.sum(axis=0), self.games.sum(axis=0)
        if not len(self.pairs):
            return "there are no comparisons"
        if not _is_connected(self.pairs, games > 0, games > 0, self.systems):
            return "no chain of comparisons connects all systems"
        if not _is_connected(self.pairs, wins > 0, wins < games, self.systems):
            return "some systems won all of their comparisons with the others, so their lead has no upper end"
        return ""

    def strengths(self, weights: Floats) -> Floats:
        """Return the maxima of the likelihood with weights of the clusters, (draws, G) -> (draws, k)."""
        wins, games = weights @ self.wins, weights @ self.games
        one, two = np.eye(self.systems)[self.pairs.T]
        design = one - two
        outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        # The unweighted maximum is near those of the draws.
        start = np.zeros(self.systems) if len(weights) == 1 else self.strengths(np.ones((1, len(self.games))))
        strengths = np.tile(start, (len(weights), 1))
        for _ in range(_STEPS):
            p = 1 / (1 + np.exp(-(strengths @ design.T)))
            information = ((games * p * (1 - p)) @ outer).reshape(-1, self.systems, self.systems)
            # Equal strengths are the null space of the information: a constant makes it invertible.
            slopes = ((wins - games * p) @ design)[:, :, None]
            step = np.linalg.solve(information + games.mean(), slopes)[:, :, 0]
            # A long first step can overshoot; with strengths of at most 5 per step, the method converges.
            step *= np.minimum(1.0, 5.0 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
            strengths += step
            if float(np.abs(step).max()) < _CONVERGED:
                break
        return np.asarray(strengths - strengths.mean(axis=1, keepdims=True), dtype=np.float64)


def _is_connected(
    pairs: NDArray[np.int64], won: NDArray[np.bool_], lost: NDArray[np.bool_], systems: int
) -> bool:
    """Return whether wins and ties lead from each system to each other one."""
    beats = np.eye(systems, dtype=np.int64)
    beats[pairs[won, 0], pairs[won, 1]] = 1
    beats[pairs[lost, 1], pairs[lost, 0]] = 1
    for _ in range(systems.bit_length()):
        beats = np.minimum(beats @ beats, 1)
    return bool(beats.all())
