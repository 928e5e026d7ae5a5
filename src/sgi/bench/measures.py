"""Measures of a metric from values before and after a change: shares, intervals and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from sgi.bench.perturbation import Kind
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.kernel.metric import MetricSpec
    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]

FEWEST_PAIRS = 10
"""Fewer pairs get no verdict."""
TOLERANCE = 0.05
"""By how much of its range a value may move and still count as unchanged under a harmless perturbation."""
SEEN = 0.8
"""The lower end of the interval from which a metric is said to see an error."""
NOTICEABLE = 0.1
"""The median fall, in spreads, from which it is said so."""
STEADY = 0.95
"""The share of unmoved values that a steady metric has."""
SURE = 0.8
"""The least lower end of its interval."""
BLIND = 0.7
"""The greatest upper end of the interval from which a metric is said to see nothing of an error."""

_EQUAL = 1e-7
_USUAL = 0.98
_FENCES = 4.0
_LEAST_SPREAD = 0.01


class Verdict(StrEnum):
    """Verdict of a cell of the matrix."""

    SEES = "sees"
    """Nearly always worse after the error, and noticeably so."""
    PARTLY = "partly"
    """Worse more often than not, but not reliably or not noticeably."""
    BLIND = "blind"
    """No more often worse than better."""
    REWARDS = "rewards it"
    """Better more often than worse: the error pays."""
    STEADY = "steady"
    """Unmoved, as it should be."""
    MOVED = "moved though harmless"
    """Moved, though nothing was changed that matters."""
    DROPS = "falls though supported"
    """Worse, though the answer has become a surely supported one."""
    FALLS = "falls"
    """Nothing is demanded; it gets worse."""
    RISES = "rises"
    """Nothing is demanded; it gets better."""
    STAYS = "stays"
    """Nothing is demanded; it goes neither way."""
    CLOSED = "fails closed"
    """No spoiled reply became a value."""
    FOOLED = "is fooled"
    """A spoiled reply became another value."""
    UNCLEAR = "unclear"
    """The interval holds good and bad: more rows would tell."""
    TOO_FEW = "too few"
    """Too few pairs to say anything."""
    NONE = "does not apply"
    """The metric does not read what is changed, or the change applies to no row."""


@dataclass(frozen=True)
class Scale:
    """Units of a metric's changes.

    Attributes:
        span: range of the metric; if unbounded, 4 interquartile ranges, the distance between Tukey's fences.
        spread: interquartile range of the original values, or the span if that is nearly 0.
        sign: 1 if higher is better, else −1.

    Source: Tukey (1977), Exploratory Data Analysis (fences).

    >>> from sgi.kernel.registry import metric
    >>> Scale.of(metric("sgi").spec, np.array([1.0, 1.0, 1.1, 1.2, 1.2])).span.__round__(6)
    0.8
    """

    span: float
    spread: float
    sign: int

    @classmethod
    def of(cls, spec: MetricSpec, values: Floats) -> Scale:
        """The scale of a metric with these values; NaN values are ignored."""
        known = values[np.isfinite(values)]
        quarter, three = np.quantile(known, [0.25, 0.75]) if len(known) else (0.0, 0.0)
        width = float(three - quarter)
        span = spec.high - spec.low if math.isfinite(spec.high - spec.low) else _FENCES * width
        spread = width if width > _LEAST_SPREAD * span else span
        return cls(span or 1.0, spread or 1.0, 1 if spec.higher_is_better else -1)


@dataclass(frozen=True)
class Moved:
    """Statistics of the pairs of one cell.

    Attributes:
        share: share of pairs with the required reaction; without a requirement, of those that got worse. For
            errors, and without a requirement, equal and lost values count half.
        interval: clustered interval of the share; None for too few pairs.
        unchanged: share of pairs with equal values; 0 without pairs.
        median: median change in spreads; negative is worse. Lost values count as no change.
        mean: mean absolute change, in spans.
        most: 98 % quantile of the absolute changes, in spans.
        worst: maximum absolute change, in spans.
        verdict: the verdict.
    """

    share: float
    interval: Interval | None
    unchanged: float
    median: float
    mean: float
    most: float
    worst: float
    verdict: Verdict


def share_moved(
    kind: Kind,
    before: Floats,
    after: Floats,
    scale: Scale,
    clusters: NDArray[np.int64],
    *,
    level: float = 0.95,
) -> Moved:
    """Measure how a metric reacts to a perturbation.

    For an error, the share is P(worse) + ½·P(equal), which is ½ for an insensitive metric; a lost value
    counts as equal. For a harmless perturbation, it is the share of values that move by at most `TOLERANCE`
    spans. For a perturbation that makes an answer surely supported, it is the share that gets worse by at
    most that.

    Args:
        kind: the required reaction; not that of judge faults.
        before: finite values, shape (n,), n ≥ 1.
        after: values of the changed rows; NaN if an error leaves no value.
        scale: scale of the metric.
        clusters: rows with the same value share a question, shape (n,).
        level: confidence level of the interval that decides the verdict; see `simultaneous_level`.

    Source: the share is the paired form of Agresti (1980), Biometrics 36 (generalised odds for ties).

    >>> before, rows = np.full(40, 0.9), np.arange(40)
    >>> found = share_moved(Kind.ERROR, before, before - 0.4, Scale(1.0, 0.2, 1), rows)
    >>> found.share, round(found.interval.low, 2), found.median.__round__(6), found.verdict.value
    (1.0, 0.91, -2.0, 'sees')
    """
    valued = np.isfinite(after)
    change = np.where(valued, (after - before) * scale.sign, 0.0)
    equal = np.abs(change) <= _EQUAL * scale.span
    did = _did(kind, change, equal, TOLERANCE * scale.span)
    interval = share_interval(did, clusters, level=level)
    median = float(np.median(change)) / scale.spread
    size = np.abs(change[valued]) / scale.span
    return Moved(
        share=float(did.mean()),
        interval=interval,
        unchanged=float(equal[valued].mean()) if len(size) else 0.0,
        median=0.0 if abs(median) <= _EQUAL else median,
        mean=float(size.mean()) if len(size) else 0.0,
        most=_most(size),
        worst=float(size.max(initial=0.0)),
        verdict=_verdict(kind, interval, float(did.mean()), median),
    )


def simultaneous_level(intervals: int, *, level: float = 0.95) -> float:
    """Bonferroni level of each of ``intervals`` intervals that hold jointly with ``level``.

    >>> round(simultaneous_level(50), 6)
    0.999
    """
    return 1 - (1 - level) / intervals


def share_interval(values: Floats, clusters: NDArray[np.int64], *, level: float = 0.95) -> Interval | None:
    """Interval of a mean of values in [0, 1]; None for fewer than ``FEWEST_PAIRS``.

    >>> share_interval(np.ones(3), np.arange(3)) is None
    True
    """
    if len(values) < FEWEST_PAIRS:
        return None
    return interval_or_none(mean_interval(values, clusters, low=0.0, high=1.0, level=level))


def _most(size: Floats) -> float:
    return float(np.quantile(size, _USUAL, method="higher")) if len(size) else 0.0


def _did(kind: Kind, change: Floats, equal: NDArray[np.bool_], tolerance: float) -> Floats:
    if kind is Kind.HARMLESS:
        return (np.abs(change) <= tolerance).astype(np.float64)
    if kind is Kind.SUPPORTED:
        return (change >= -tolerance).astype(np.float64)
    return np.where(equal, 0.5, change < 0)


def _verdict(kind: Kind, interval: Interval | None, share: float, median: float) -> Verdict:
    if interval is None:
        return Verdict.TOO_FEW
    if kind in {Kind.HARMLESS, Kind.SUPPORTED}:
        return _steadiness(kind, interval, share)
    down, up = interval.low > 0.5, interval.high < 0.5  # noqa: PLR2004 - as often worse as better
    if kind is Kind.OTHER:
        return Verdict.FALLS if down else Verdict.RISES if up else Verdict.STAYS
    if down and interval.low >= SEEN and median <= -NOTICEABLE:
        return Verdict.SEES
    if down or up:
        return Verdict.PARTLY if down else Verdict.REWARDS
    return Verdict.BLIND if interval.high <= BLIND else Verdict.UNCLEAR


def _steadiness(kind: Kind, interval: Interval, share: float) -> Verdict:
    if interval.high < STEADY:
        return Verdict.MOVED if kind is Kind.HARMLESS else Verdict.DROPS
    return Verdict.STEADY if share >= STEADY and interval.low >= SURE else Verdict.UNCLEAR


def withstood(
    before: Floats, after: Floats, scale: Scale, clusters: NDArray[np.int64], *, level: float = 0.95
) -> Moved:
    """Measure how a judged metric reacts to faulty judge replies; NaN in ``after`` means no value.

    The share is that of rows without a value, or with an unchanged one. Changes are measured over the rows
    that still have a value, and are 0 if there are none.

    >>> withstood(np.ones(20), np.full(20, np.nan), Scale(1.0, 0.2, 1), np.arange(20)).verdict.value
    'fails closed'
    """
    valued = np.isfinite(after)
    change = np.where(valued, (after - before) * scale.sign, 0.0)
    equal = np.abs(change) <= _EQUAL * scale.span
    kept = (~valued | equal).astype(np.float64)
    closed = Verdict.CLOSED if len(kept) >= FEWEST_PAIRS else Verdict.TOO_FEW
    size = np.abs(change[valued]) / scale.span
    return Moved(
        share=float(kept.mean()),
        interval=share_interval(kept, clusters, level=level),
        unchanged=float((valued & equal).mean()),
        median=float(np.median(change[valued])) / scale.spread if valued.any() else 0.0,
        mean=float(size.mean()) if len(size) else 0.0,
        most=_most(size),
        worst=float(size.max(initial=0.0)),
        verdict=closed if kept.all() else Verdict.FOOLED,
    )
