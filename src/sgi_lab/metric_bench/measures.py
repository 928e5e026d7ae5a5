"""Measures of a metric from values before and after a change: shares, intervals and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi_lab.metric_bench.perturbation import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.kernel.metric import MetricSpec
    from sgi.stats.intervals import Interval

    Floats = NDArray[np.float64]

FEWEST_PAIRS = 10
"""Fewer pairs get no verdict."""
TOLERANCE = 0.05
"""Share of its range by which a value may change under a harmless perturbation and count as unchanged."""
SEEN = 0.8
"""Least lower end of the interval for the verdict *sees*."""
NOTICEABLE = 0.1
"""Least median fall for the verdict *sees*, in interquartile ranges of the original values."""
STEADY = 0.95
"""Least share of unchanged values for the verdict *steady*."""
SURE = 0.8
"""Least lower end of the interval for the verdict *steady*."""
BLIND = 0.7
"""Greatest upper end of the interval for the verdict *blind*."""

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
    """Better more often than worse."""
    STEADY = "steady"
    """Unchanged, as required."""
    MOVED = "moved though harmless"
    """Changed, although the meaning is the same."""
    DROPS = "falls though supported"
    """Worse, although the new answer is surely supported."""
    FALLS = "falls"
    """No requirement; it gets worse."""
    RISES = "rises"
    """No requirement; it gets better."""
    STAYS = "stays"
    """No requirement; it gets worse as often as better."""
    CLOSED = "fails closed"
    """No faulty reply gave a new value."""
    FOOLED = "is fooled"
    """A faulty reply gave another value."""
    UNCLEAR = "unclear"
    """The interval allows either verdict; more rows can decide."""
    TOO_FEW = "too few"
    """Too few pairs for a verdict."""
    NONE = "does not apply"
    """The metric does not read what changes, or the change applies to no row."""


@dataclass(frozen=True)
class Scale:
    """The unit in which changes of a metric are measured.

    Attributes:
        span: range of the metric; if unbounded, 4 interquartile ranges, the distance between Tukey's fences.
        spread: interquartile range of the original values, or the span if that is nearly 0.
        sign: 1 if higher is better, otherwise −1.

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
        """Return the scale of a metric with these values; NaN values are ignored."""
        known = values[np.isfinite(values)]
        quarter, three = np.quantile(known, [0.25, 0.75]) if len(known) else (0.0, 0.0)
        width = float(three - quarter)
        span = spec.high - spec.low if math.isfinite(spec.high - spec.low) else _FENCES * width
        spread = width if width > _LEAST_SPREAD * span else span
        return cls(span or 1.0, spread or 1.0, 1 if spec.higher_is_better else -1)


@dataclass(frozen=True)
class Reaction:
    """Reaction of a metric to one change.

    The fields are as in `matrix.Cell`; ``interval`` is the clustered interval of the share.
    Without a requirement, it is the share of pairs that got worse; equal values count half.
    """

    share: float
    interval: Interval | None
    unchanged: float
    median_change: float
    mean_change: float
    most_change: float
    worst_change: float
    verdict: Verdict


def reaction(
    kind: Kind,
    before: Floats,
    after: Floats,
    scale: Scale,
    clusters: NDArray[np.int64],
    *,
    level: float = 0.95,
) -> Reaction:
    """Measure how a metric reacts to a perturbation.

    For an error, the share is P(worse) + ½·P(equal), which is ½ for an insensitive metric; a lost value
    counts as equal. For a harmless perturbation, it is the share of values that change by at most `TOLERANCE`
    spans; for a surely supported answer, the share that get worse by at most that.

    Args:
        kind: the required reaction; not that of judge faults.
        before: finite values, shape (n,), n ≥ 1.
        after: values of the changed rows; NaN if an error leaves no value.
        scale: scale of the metric.
        clusters: rows with the same value share a question, shape (n,).
        level: confidence level of the interval that decides the verdict; see `simultaneous_level`.

    Source: the share is the paired form of Agresti (1980), Biometrics 36 (generalised odds for ties).

    >>> before, rows = np.full(40, 0.9), np.arange(40)
    >>> found = reaction(Kind.ERROR, before, before - 0.4, Scale(1.0, 0.2, 1), rows)
    >>> found.share, round(found.interval.low, 2), found.median_change.__round__(6), found.verdict.value
    (1.0, 0.91, -2.0, 'sees')
    """
    valued, change, equal = _changes(before, after, scale)
    outcomes = _outcomes(kind, change, equal, TOLERANCE * scale.span)
    interval = share_interval(outcomes, clusters, level=level)
    median = float(np.median(change)) / scale.spread
    return Reaction(
        share=float(outcomes.mean()),
        interval=interval,
        unchanged=float(equal[valued].mean()) if valued.any() else 0.0,
        median_change=0.0 if abs(median) <= _EQUAL else median,
        verdict=_verdict(kind, interval, float(outcomes.mean()), median),
        **_sizes(change[valued], scale),
    )


def simultaneous_level(intervals: int, *, level: float = 0.95) -> float:
    """Return the Bonferroni level of each of ``intervals`` intervals that hold jointly at ``level``.

    >>> round(simultaneous_level(50), 6)
    0.999
    """
    return 1 - (1 - level) / intervals


def share_interval(values: Floats, clusters: NDArray[np.int64], *, level: float = 0.95) -> Interval | None:
    """Return the interval of a mean of values in [0, 1]; None for fewer than ``FEWEST_PAIRS``."""
    if len(values) < FEWEST_PAIRS:
        return None
    return interval_or_none(mean_interval(values, clusters, low=0.0, high=1.0, level=level))


def interval_ends(prefix: str, interval: Interval | None) -> dict[str, float]:
    """Return the ends of an interval as fields named ``low`` and ``high``, with a prefix."""
    return {} if interval is None else {f"{prefix}low": interval.low, f"{prefix}high": interval.high}


def _changes(
    before: Floats, after: Floats, scale: Scale
) -> tuple[NDArray[np.bool_], Floats, NDArray[np.bool_]]:
    """Return which rows have a value after the change, the signed changes, and which of them are 0."""
    valued = np.isfinite(after)
    change = np.where(valued, (after - before) * scale.sign, 0.0)
    return valued, change, np.abs(change) <= _EQUAL * scale.span


def _sizes(change: Floats, scale: Scale) -> dict[str, float]:
    size = np.abs(change) / scale.span
    return {
        "mean_change": float(size.mean()) if len(size) else 0.0,
        "most_change": float(np.quantile(size, _USUAL, method="higher")) if len(size) else 0.0,
        "worst_change": float(size.max(initial=0.0)),
    }


def _outcomes(kind: Kind, change: Floats, equal: NDArray[np.bool_], tolerance: float) -> Floats:
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


def fault_reaction(
    before: Floats, after: Floats, scale: Scale, clusters: NDArray[np.int64], *, level: float = 0.95
) -> Reaction:
    """Measure how a judged metric reacts to faulty judge replies; NaN in ``after`` means no value.

    It is the share of rows without a value, or with an unchanged one. Changes are measured over the rows
    that still have a value, and are 0 if there are none.

    >>> fault_reaction(np.ones(20), np.full(20, np.nan), Scale(1.0, 0.2, 1), np.arange(20)).verdict.value
    'fails closed'
    """
    valued, change, equal = _changes(before, after, scale)
    safe = (~valued | equal).astype(np.float64)
    closed = Verdict.CLOSED if len(safe) >= FEWEST_PAIRS else Verdict.TOO_FEW
    return Reaction(
        share=float(safe.mean()),
        interval=share_interval(safe, clusters, level=level),
        unchanged=float((valued & equal).mean()),
        median_change=float(np.median(change[valued])) / scale.spread if valued.any() else 0.0,
        verdict=closed if safe.all() else Verdict.FOOLED,
        **_sizes(change[valued], scale),
    )
