"""Power and sample size: detectable difference, and the clusters with which a claim is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.stats.intervals import MIN_CLUSTERS, Interval, clustered_standard_error, normal_quantile
from sgi.stats.means import degrees_of_freedom, skew_corrected_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sgi.stats.intervals import NoInterval

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

POWER = 0.8

_MAX_CLUSTERS = 10**9
_MAX_MADE = 20_000
"""Largest sample that is made; beyond it, the distance to the end of an interval falls as 1/√G."""
_LARGE = 4000
"""Sample whose interval is about as wide as one of normal estimates."""
_MAX_TILT = 60.0
_TILTS = 24
_POWERS = 10
_MAX_Z = 4.0
_NEAR = 0.1
_ROUNDING = 1e-12
_SIGNIFICANT = 0.05


def detectable_difference(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], *, tests: int = 1, count: float | None = None
) -> float | None:
    r"""Return the minimum detectable difference with a power of 80 %.

    .. math:: \left(t \left(1 - \frac{1}{4\nu}\right) + z_{0.8} \sqrt{1 + \frac{t^2}{2\nu}}\right) SE

    with the clustered standard error, ν from `degrees_of_freedom`, and t the half-width of the interval at
    the level 1 − 0.05/m in standard errors, for m metrics tested together. The non-central t
    variable exceeds t with probability 0.8. The level 0.05/m is the strictest step of Holm's correction, so
    the power is a lower bound.

    ``sums`` and ``sizes`` are the sum of differences and the number of pairs of each cluster, shape (G,).
    ``count`` is the effective number of clusters of weighted pairs, None for G; SE is the standard error
    behind the interval.

    Returns:
        None with fewer than 5 clusters or without spread.

    Source: Johnson and Welch (1940), Biometrika 31 (the non-central variable); Miller (2024),
    arXiv:2411.00640.

    >>> import numpy as np
    >>> gaps = np.array([0.1, -0.1] * 10)
    >>> one, ten = (detectable_difference(gaps, np.ones(20), tests=m) for m in (1, 10))
    >>> round(one, 3), round(ten, 3)
    (0.068, 0.094)
    """
    count, level = len(sums) if count is None else count, _SIGNIFICANT / tests
    if count < MIN_CLUSTERS:
        return None
    error = clustered_standard_error(sums, sizes, jackknife=count != len(sums))
    if error <= _ROUNDING * abs(float(sums.sum() / sizes.sum())):
        return None
    freedom = max(degrees_of_freedom(sums, sizes), 1.0)
    interval = skew_corrected_interval(sums, sizes, 1 - level, count)
    critical = (interval.high - interval.low) / (2 * error)
    power = normal_quantile(2 * POWER - 1) * math.sqrt(1 + critical**2 / (2 * freedom))
    return (critical * (1 - 1 / (4 * freedom)) + power) * error


@dataclass(frozen=True)
class Claim:
    """The claim that an interval must support: a value above or below a limit, or a half-width.

    Attributes:
        kind: ``above``, ``below`` or ``width``.
        limit: the limit; for ``width`` the half-width, above 0.
    """

    kind: Literal["above", "below", "width"]
    limit: float

    @property
    def worse(self) -> float:
        """The direction, as a sign, of estimates that make the claim harder to show."""
        return 1.0 if self.kind == "below" else -1.0

    def margin(self, value: float) -> float:
        """Return the distance that `reach` must not exceed if the true value is ``value``."""
        return self.limit if self.kind == "width" else self.worse * (self.limit - value)

    def reach(self, interval: Interval, value: float) -> float:
        """Return the distance from the value to the end of an interval, or its half-width."""
        if self.kind == "width":
            return (interval.high - interval.low) / 2
        return value - interval.low if self.kind == "above" else interval.high - value


@dataclass(frozen=True, eq=False)
class Pilot:
    """Clusters of rows, the estimate of a sample of them, and its interval.

    Attributes:
        clusters: cluster of each row, from 0, shape (n,).
        influence: derivative of the estimate by the weight of each cluster, up to a factor, shape (G,).
        estimate: function from row numbers to the estimate; NaN if it is undefined.
        interval: function from row numbers, their clusters and the level to the interval.
        weights: share of each cluster in the population; equal if None.
        classes: class of each cluster, from 0; every sample keeps their shares. One class if None.
    """

    clusters: Codes
    influence: Floats
    estimate: Callable[[Codes], float]
    interval: Callable[[Codes, Codes, float], Interval | NoInterval]
    weights: Floats | None = None
    classes: Codes | None = None
    _order: Codes = field(init=False, repr=False)
    _rows: Codes = field(init=False, repr=False)
    _starts: Codes = field(init=False, repr=False)
    _sizes: Codes = field(init=False, repr=False)
    _exponents: Floats = field(init=False, repr=False)
    _scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        keys = (self.influence,) if self.classes is None else (self.influence, self.classes)
        order = np.lexsort(keys)
        if self.weights is None and len(order) > _MAX_MADE:
            order = order[np.arange(_MAX_MADE) * len(order) // _MAX_MADE]
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_rows", np.argsort(self.clusters, kind="stable"))
        sizes = np.bincount(self.clusters, minlength=len(self.influence))
        object.__setattr__(self, "_starts", np.append(0, np.cumsum(sizes)))
        object.__setattr__(self, "_sizes", sizes)
        object.__setattr__(self, "_exponents", self.influence[order])
        object.__setattr__(self, "_scale", float(np.abs(self._exponents).max()) or 1.0)

    @property
    def is_constant(self) -> bool:
        """Whether no cluster differs from another, so that the spread is unknown."""
        return float(np.ptp(self.influence)) <= _ROUNDING * max(1.0, float(np.abs(self.influence).max()))

    @property
    def value(self) -> float:
        """The estimate of the pilot; with weights, of a large sample."""
        if self.weights is None:
            return self.estimate(self._rows)
        return self.estimate(self._rows_and_codes(self._choose(_MAX_MADE, 0.0))[0])

    def sample(self, count: int, value: float) -> tuple[Codes, Codes]:
        r"""Return row numbers and clusters of a typical sample of ``count`` clusters with this estimate.

        Cluster c has the weight :math:`e^{\lambda x_c}`, with x its influence; λ is found by bisection. The
        sample has the quantiles (i − ½)/count of the weighted clusters.

        Source: Efron (1981), Canadian J. Stat. 9 (exponential tilting).
        """
        low, high = -_MAX_TILT, _MAX_TILT
        best = self._choose(count, 0.0)
        least = abs(self._gap(best, value))
        gaps: dict[bytes, float] = {}  # many tilts choose the same clusters
        if math.isnan(least):
            least = math.inf
        for _ in range(_TILTS):
            if least <= _ROUNDING:
                break
            middle = (low + high) / 2
            chosen = self._choose(count, middle)
            key = chosen.tobytes()
            if key not in gaps:
                gaps[key] = self._gap(chosen, value)
            gap = gaps[key]
            if abs(gap) < least:
                best, least = chosen, abs(gap)
            raised = gap < 0 if math.isfinite(gap) else middle < 0
            low, high = (middle, high) if raised else (low, middle)
        return self._rows_and_codes(best)

    def _gap(self, chosen: Codes, value: float) -> float:
        return self.estimate(self._rows_and_codes(chosen)[0]) - value

    def _choose(self, count: int, tilt: float) -> Codes:
        """Return ``count`` clusters at the quantiles of the clusters with this tilt."""
        weights = np.exp(tilt * self._exponents / self._scale)
        shares = None if self.weights is None else self.weights[self._order]
        if shares is not None:
            weights *= shares
        if self.classes is not None:
            of_rows = self.classes[self._order]
            weights *= (np.bincount(of_rows, shares) / np.bincount(of_rows, weights))[of_rows]
        edges = np.cumsum(weights)
        places = np.searchsorted(edges, edges[-1] * (np.arange(count) + 0.5) / count)
        chosen: Codes = self._order[places]
        return chosen

    def _rows_and_codes(self, chosen: Codes) -> tuple[Codes, Codes]:
        """Return the row numbers of the clusters, and for each row the position of its cluster."""
        sizes = self._sizes[chosen]
        codes = np.repeat(np.arange(len(chosen)), sizes)
        within = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._rows[np.repeat(self._starts[chosen], sizes) + within], codes


@dataclass(frozen=True, eq=False)
class SampleSize:
    r"""The number of clusters with which the interval of a sample shows a claim, and the power.

    The estimate of G clusters is about normal with the standard error :math:`s / \sqrt{G}`. So the power is
    at least Φ(z) if the claim is shown by a sample whose estimate is z standard errors on the worse side of
    the true value. That sample is made from the pilot (`Pilot.sample`), and its interval is computed as for
    any data. s comes from the width of the interval of 4,000 clusters.

    Attributes:
        pilot: the clusters.
        claim: what the interval must show.
        value: the true value that is assumed.
        level: the confidence level of the interval.

    >>> from sgi.stats.pilots import share_pilot
    >>> plan = SampleSize(share_pilot(0.9), Claim("above", 0.8), 0.9)
    >>> plan.needed(), round(plan.power(106), 2)
    (106, 0.83)
    """

    pilot: Pilot
    claim: Claim
    value: float
    level: float = 0.95
    _error: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        error = 0.0
        if not self.pilot.is_constant:
            interval = self._interval(_LARGE, self.value)
            if isinstance(interval, Interval):
                error = (interval.high - interval.low) / (2 * normal_quantile(self.level)) * math.sqrt(_LARGE)
        object.__setattr__(self, "_error", error)

    @property
    def is_reachable(self) -> bool:
        """Whether a population with the clusters of the pilot can have the value that is assumed."""
        gap = self.pilot.estimate(self.pilot.sample(_LARGE, self.value)[0]) - self.value
        return abs(gap) <= _NEAR * self._error

    @property
    def is_possible(self) -> bool:
        """Whether some number is enough: the value that is assumed is on the right side of the limit."""
        return self.claim.margin(self.value) > 0

    def needed(self, power: float = POWER) -> int | None:
        """Return the least number of clusters with this power, at most 10⁹; None if no number is enough."""
        z, few, many = NormalDist().inv_cdf(power), 0, 1
        if not self.is_possible:
            return None
        while not self._shows(many, z):
            if many == _MAX_MADE:
                ratio = self._reach(many, z) / self.claim.margin(self.value)
                count = many * ratio ** (2 if self._error else 1)
                return math.ceil(count) if count <= _MAX_CLUSTERS else None
            few, many = many, min(2 * many, _MAX_MADE)
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if self._shows(middle, z) else (middle, many)
        return many

    def power(self, count: int) -> float:
        """Return the probability that ``count`` clusters show the claim, in [0, 1]."""
        low, high = -_MAX_Z, _MAX_Z
        if not math.isfinite(self._reach(min(count, _MAX_MADE), 0.0)):
            return 0.0
        for _ in range(_POWERS):
            middle = (low + high) / 2
            # Beyond the best possible sample, such as two raters who always agree, there is no interval.
            reach = self._reach(min(count, _MAX_MADE), middle)
            is_best = middle < 0 and not math.isfinite(reach)
            shown = is_best or self._is_within(reach, count)
            low, high = (middle, high) if shown else (low, middle)
        return NormalDist().cdf((low + high) / 2)

    def spread_range(self, needed: int) -> tuple[int, int]:
        r"""Return the 95 % range of the number, from the uncertainty of the pilot's variance.

        The number is proportional to the variance, and :math:`\nu \hat\sigma^2 / \sigma^2` is about
        chi-squared with ν from `degrees_of_freedom`.

        Source: Wilson and Hilferty (1931), PNAS 17 (quantiles of chi-squared).
        """
        count = len(self.pilot.influence)
        influence = self.pilot.influence
        freedom = max(degrees_of_freedom(influence, np.ones(count)), 1.0)
        z, part = normal_quantile(0.95), 2 / (9 * freedom)
        low, high = (max(1 - part + side * z * math.sqrt(part), 0.05) ** 3 for side in (1, -1))
        return max(math.floor(needed / low), 1), math.ceil(needed / high)

    def _interval(self, count: int, estimate: float) -> Interval | NoInterval:
        return self.pilot.interval(*self.pilot.sample(count, estimate), self.level)

    def _reach(self, count: int, z: float) -> float:
        interval = self._interval(count, self.value + self.claim.worse * z * self._error / math.sqrt(count))
        return self.claim.reach(interval, self.value) if isinstance(interval, Interval) else math.inf

    def _shows(self, count: int, z: float) -> bool:
        return self._is_within(self._reach(min(count, _MAX_MADE), z), count)

    def _is_within(self, reach: float, count: int) -> bool:
        scale = 1.0 if count <= _MAX_MADE else math.sqrt(_MAX_MADE / count)
        return reach * scale <= self.claim.margin(self.value) * (1 + 1e-9)
