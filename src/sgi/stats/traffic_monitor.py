"""Tests all the time whether traffic still looks like the values that something was fitted on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sgi.stats.conformal import highest_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

ALARM = 100.0
"""The evidence at which traffic counts as different: at most 1 % of monitors reach it without a change."""

_MISSED = 0.01
"""The chance that the fitted values give a limit whose share is too low, over all limits."""

_QUANTILES = (0.1, 0.25, 0.5)
_MOST = 1e300
_STEPS = np.array([0.05, 0.15, 0.3, 0.5, 0.8])

Side = Literal["below", "above"]


class TrafficLimit(BaseModel):
    """A limit that few new values exceed while traffic looks like the fitted values.

    Attributes:
        value: the name of the value, such as ``answer words``.
        side: whether values ``below`` or ``above`` the limit count.
        limit: the limit.
        share: the largest share of traffic beyond the limit, in (0, 1).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    value: str
    side: Side
    limit: float
    share: Annotated[float, Field(gt=0, lt=1)]


def traffic_limits(
    fitted: Mapping[str, ArrayLike], sides: Mapping[str, Sequence[Side]], *, other_share: float
) -> tuple[TrafficLimit, ...]:
    r"""Return limits for a `TrafficMonitor`, from the fitted values.

    For n independent fitted values, the share of the population below the k-th smallest is at most
    Beta(k, n + 1 − k) distributed, so that u, its 1 − 0.01/m quantile, bounds it, for m limits. The share of
    traffic is then at most b + (1 − b)·u, if at most the share b of it (``other_share``) is of another kind.

    Args:
        fitted: finite values by name, each of shape (n,), one per question.
        sides: the sides that count, by name.
        other_share: the share of traffic that may have any value, in [0, 1).

    Source: Wilks (1941), Ann. Math. Stat. 12 (tolerance limits).

    >>> limits = traffic_limits({"words": range(1, 101)}, {"words": ["above"]}, other_share=0.1)
    >>> [(limit.limit, round(limit.share, 2)) for limit in limits]
    [(91.0, 0.28), (76.0, 0.44), (51.0, 0.67)]
    """
    chosen = [(name, side, part) for name, found in sides.items() for side in found for part in _QUANTILES]
    limits = []
    for name, side, part in chosen:
        column = np.asarray(fitted[name], dtype=np.float64)
        sign = 1.0 if side == "below" else -1.0
        rank = max(1, math.ceil(round(part * len(column), 9)))
        limit = sign * float(np.sort(sign * column)[rank - 1])
        bound = highest_share(rank - 1, len(column), _MISSED / len(chosen))
        share = other_share + (1 - other_share) * bound
        if share < 1:
            limits.append(TrafficLimit(value=name, side=side, limit=limit, share=share))
    return tuple(limits)


class Evidence:
    r"""Evidence that more values than a share :math:`p_0` are beyond each of several limits.

    For each limit, and for several alternatives :math:`p > p_0`, the evidence that a change began at answer s
    is the product of :math:`p/p_0` for each value beyond the limit since then, and of
    :math:`(1-p)/(1-p_0)` for each other value. The sum over all beginnings s, with weights
    :math:`1/\ln(s+e) - 1/\ln(s+1+e)` that sum to 1, needs one number:
    :math:`v \leftarrow (v + w_s) \cdot \text{factor}`. The mean over limits and alternatives is at most 1 in
    expectation at every time, while each new value is beyond each limit with a probability of at most
    :math:`p_0`, given the past. By Ville's inequality, it reaches `ALARM` = 100 in at most 1 % of cases.

    Args:
        shares: the largest shares, shape (..., limits); each row before the last axis is a test of its own.

    Source: Shin, Ramdas and Rinaldo (2024), New Engl. J. Stat. Data Sci. 2 (e-detectors); Ramdas et al.
    (2023), Stat. Sci. 38.
    """

    def __init__(self, shares: ArrayLike) -> None:
        null = np.asarray(shares, dtype=np.float64)[..., None]
        alternative = null + (1 - null) * _STEPS
        self._beyond: NDArray[np.float64] = alternative / null
        self._within: NDArray[np.float64] = (1 - alternative) / (1 - null)
        self._values = np.zeros_like(self._beyond)
        self.answers = 0

    def add(self, beyond: ArrayLike) -> None:
        """Add an answer: whether its values are beyond the limits, shape (..., limits)."""
        weight = 1 / math.log(self.answers + math.e) - 1 / math.log(self.answers + 1 + math.e)
        factor = np.where(np.asarray(beyond)[..., None], self._beyond, self._within)
        self._values = np.minimum((self._values + weight) * factor, _MOST)
        self.answers += 1

    @property
    def total(self) -> NDArray[np.float64]:
        """The mean evidence, shape (...)."""
        return np.asarray(self._values.mean(axis=(-2, -1)))

    @property
    def strongest(self) -> NDArray[np.int64]:
        """The limit with the most evidence, shape (...)."""
        return np.asarray(self._values.max(axis=-1).argmax(axis=-1))


class TrafficMonitor:
    """An always-valid test that few values of traffic are beyond limits; each answer costs the same.

    Attributes:
        difference: the limit with the most evidence at the alarm; None before.

    >>> limits = traffic_limits({"words": range(1, 101)}, {"words": ["above"]}, other_share=0.1)
    >>> monitor = TrafficMonitor(limits)
    >>> for words in [50, 60] * 100:
    ...     monitor.observe({"words": words})
    >>> monitor.difference is None
    True
    >>> for words in [120] * 100:
    ...     monitor.observe({"words": words})
    >>> monitor.difference.value, monitor.difference.side
    ('words', 'above')
    """

    def __init__(self, limits: Sequence[TrafficLimit]) -> None:
        self._limits = tuple(limits)
        self._sign = np.array([1.0 if each.side == "below" else -1.0 for each in limits])
        self._limit = self._sign * np.array([each.limit for each in limits])
        self._evidence = Evidence([each.share for each in limits])
        self.difference: TrafficLimit | None = None

    @property
    def answers(self) -> int:
        """The number of answers until the alarm."""
        return self._evidence.answers

    def observe(self, values: Mapping[str, float | None]) -> None:
        """Add the values of one answer; None counts as within the limits. Does nothing after an alarm."""
        if self.difference is not None or not self._limits:
            return
        known = {name: math.nan if value is None else value for name, value in values.items()}
        self._evidence.add(self._sign * np.array([known[each.value] for each in self._limits]) < self._limit)
        if self._evidence.total >= ALARM:
            self.difference = self._limits[int(self._evidence.strongest)]
