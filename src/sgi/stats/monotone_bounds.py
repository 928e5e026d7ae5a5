"""Bounds of a probability that assume only that a higher score is never less probable."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.stats.intervals import effective_clusters, normal_quantile, unseen_share, wilson_ends
from sgi.stats.probability_maps import finite_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_LEVEL = 0.95
_KNOTS = 41
_PARTS = (2, 4, 8)  # a window holds one of these parts of the rows
_MIN_WINDOW = 5


@dataclass(frozen=True)
class MonotoneBounds:
    """Bounds of the probability of true at increasing scores.

    Attributes:
        scores: the scores, ascending; the first and the last are the smallest and the greatest.
        lows: lower bounds at these scores.
        highs: upper bounds at these scores.
    """

    scores: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.scores), len(self.lows), len(self.highs)}
        if len(lengths) != 1 or not self.scores or not np.all(np.diff(self.scores) > 0):
            raise ValueError("Bounds need increasing scores, each with a lower and an upper bound.")

    def at(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Return the bounds at any scores: the lower of the next score below, the upper of the next above."""
        column = np.asarray(scores, dtype=np.float64)
        below = np.searchsorted(self.scores, column, "right")
        above = np.searchsorted(self.scores, column, "left")
        return np.append(0.0, self.lows)[below], np.append(self.highs, 1.0)[above]

    def widen(
        self, scores: ArrayLike, ends: tuple[Floats, Floats], *, everywhere: bool
    ) -> tuple[Floats, Floats]:
        """Return wider ends of intervals at these scores.

        An upper end is at least the upper bound of the lowest scores, and 1 where no false row is near; a
        lower end likewise. ``everywhere``: the interval also contains both bounds.
        """
        low, high = self.at(scores)
        floor = low if everywhere else np.where(low > 0, 1.0, 0.0)
        ceiling = high if everywhere else np.where(high < 1, 0.0, 1.0)
        return (
            np.minimum(np.minimum(ends[0], self.lows[-1]), floor),
            np.maximum(np.maximum(ends[1], self.highs[0]), ceiling),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as JSON values."""
        return {name: list(values) for name, values in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read bounds written by `to_dict`; raises ValueError if they are invalid."""
        return cls(*(finite_numbers(values.get(name)) for name in ("scores", "lows", "highs")))


def fit_bounds(scores: Floats, truth: NDArray[np.bool_], clusters: NDArray[np.int64]) -> MonotoneBounds:
    """Return bounds of the probability of true from labelled rows, at a level of 95 %.

    If a higher score is never less probable, the rows at and above a score are true at least as often as it.
    The upper bound is the least upper end of Wilson's intervals for the next eighth, quarter and half of the
    rows (at least 5), and never below the share that as many rows without a true one can hide
    (`unseen_share`, the rule of three). The lower bound is that of the rows at and below. Rows of a cluster
    count as copies of each other (`effective_clusters`).

    >>> bounds = fit_bounds(np.arange(40.0), np.arange(40) >= 20, np.arange(40))
    >>> [end.round(2).tolist() for end in bounds.at([0.0, 39.0])]
    [[0.0, 0.83], [0.17, 1.0]]
    """
    order = np.argsort(scores, kind="stable")
    column, true, codes = scores[order], truth[order], clusters[order]
    places = np.linspace(0, len(column) - 1, min(_KNOTS, len(column))).round().astype(np.int64)
    knots = np.unique(column[places])
    sizes = {max(len(column) // part, _MIN_WINDOW) for part in _PARTS}
    highs = [min(_upper(true, codes, window) for window in _windows(column, knot, sizes)) for knot in knots]
    mirrored = -column[::-1], ~true[::-1], codes[::-1]
    lows = [
        1 - min(_upper(*mirrored[1:], window) for window in _windows(mirrored[0], -knot, sizes))
        for knot in knots
    ]
    rising = np.minimum.accumulate(highs[::-1])[::-1]
    return MonotoneBounds(
        tuple(knots.tolist()), tuple(np.maximum.accumulate(lows).tolist()), tuple(rising.tolist())
    )


def _windows(column: Floats, knot: float, sizes: Iterable[int]) -> Iterator[slice]:
    """Yield the next rows at or above a score, at least ``size`` if there are as many; ties are not split."""
    first = int(np.searchsorted(column, knot, "left"))
    for size in sizes:
        last = column[min(first + size, len(column)) - 1]
        yield slice(first, int(np.searchsorted(column, last, "right")))


def _upper(true: NDArray[np.bool_], codes: NDArray[np.int64], window: slice) -> float:
    """Return the upper end of the share of true rows."""
    count = effective_clusters(np.unique(codes[window], return_counts=True)[1])
    end = wilson_ends(float(true[window].mean()), count, normal_quantile(_LEVEL))[1]
    return max(end, unseen_share(round(count), _LEVEL))
