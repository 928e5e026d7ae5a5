"""Turns of a benchmark (our measurement and the next one of the peer), and the noise of their ratio."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from harness import Figure

    Turns = NDArray[np.float64]
    """Two values per turn; the ratio is the median of the first column divided by that of the second."""

DRAWS = 1_000
CONFIDENCE = 0.95
_TOLERANCE = 0.02
"""Allowed difference between the stored ratio and that of the repeats."""


def turns_of(figure: Figure) -> Turns | None:
    """Return the turns of a figure; None if it has no repeats from which its ratio can be computed.

    Repeats are in the unit of the figure, or in seconds where the figure is a rate.
    """
    ratio, pairs = figure.ratio, list(figure.repeats.values())[:2]
    if ratio is None or len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        return None
    turns = np.column_stack([np.asarray(pair, dtype=np.float64) for pair in pairs])
    if not turns.size or (turns <= 0).any():
        return None
    candidates = (turns, turns[:, ::-1])
    best = min(candidates, key=lambda each: abs(math.log(_ratio(each) / ratio)))
    return best if abs(_ratio(best) / ratio - 1) <= _TOLERANCE else None


def _ratio(turns: Turns) -> float:
    ours, peer = np.median(turns, axis=0)
    return float(ours / peer)


def spread(turns: Turns) -> float:
    """Return the relative spread of the ratios of the turns.

    It estimates the standard deviation (1.4826 times the median absolute deviation), so single turns that
    other work disturbed do not change it.
    """
    ratios = turns[:, 0] / turns[:, 1]
    centre = np.median(ratios)
    return float(1.4826 * np.median(np.abs(ratios - centre)) / centre)


def change_interval(old: Sequence[Turns], new: Sequence[Turns], seed: int = 0) -> tuple[float, float, float]:
    """Return the change of the ratio and the ends of its interval, as shares: 0.1 is 10 % more.

    Each side has the turns of one or more runs. The interval is that of the bootstrap: it draws turns.
    """
    generator = np.random.default_rng(seed)
    before, after = np.concatenate(old), np.concatenate(new)
    changes = _drawn_ratios(after, generator) / _drawn_ratios(before, generator) - 1
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(changes, [tail, 1 - tail])
    return _ratio(after) / _ratio(before) - 1, float(low), float(high)


def _drawn_ratios(turns: Turns, generator: np.random.Generator) -> NDArray[np.float64]:
    drawn = generator.integers(len(turns), size=(DRAWS, len(turns)))
    ours, peer = (np.median(column[drawn], axis=1) for column in turns.T)
    ratios: NDArray[np.float64] = ours / peer
    return ratios
