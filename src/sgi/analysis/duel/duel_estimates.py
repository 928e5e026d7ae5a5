"""Win rates, the A/A test and strengths from the rows of one criterion."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.analysis.duel.duel_result import OUTCOMES, AaTest, CriterionDuel, PairResult, RankedSystem
from sgi.stats.intervals import Interval, NoInterval, interval_or_none, p_of_value
from sgi.stats.means import mean_interval
from sgi.stats.order_length_model import fit_order_length
from sgi.stats.paired_tests import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.duel.duel_result import DuelRow
    from sgi.stats.order_length_model import OrderLengthModel

    Floats = NDArray[np.float64]

_POINTS = {"first": 1.0, "second": 0.0, "tie": 0.5, "order-dependent": 0.5}
_LEVEL = 0.95
_PREFERS_FIRST = {"response_1": 1.0, "response_2": 0.0, "tie": 0.5}


class _Replies(NamedTuple):
    """The single replies of all decided rows as columns; systems are numbers. See `fit_order_length`."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    order: Floats
    doublings: Floats
    preferred: Floats
    clusters: NDArray[np.int64]

    @property
    def prefers_shown_first(self) -> Floats:
        """1 if the response shown first is preferred, 0 if the other one is, 0.5 for a tie."""
        return np.where(self.order < 0, 1 - self.preferred, self.preferred)


def criterion_duel(
    criterion: str, names: Sequence[str], rows: Sequence[DuelRow], *, with_aa: bool
) -> CriterionDuel:
    """Compute the results of one criterion from its rows; p is not yet corrected."""
    replies = _replies(names, rows)
    pairs = [*combinations(range(len(names)), 2)]
    columns = [(replies.first == one) & (replies.second == two) for one, two in pairs]
    model = _fit(replies, np.column_stack(columns))
    length = model.weights_of(-1)
    between = (replies.order != 0) & (replies.first != replies.second) & (replies.preferred != 0.5)  # noqa: PLR2004
    share, interval = _share(replies.prefers_shown_first[between], replies.clusters[between])
    systems, reason = _ranking(names, rows, replies)
    aa = _aa_test(rows, replies, model) if with_aa else None
    twice = _interval(model.intervals(length))
    return CriterionDuel(
        criterion=criterion,
        pairs=tuple(
            _pair(names[one], names[two], rows, model, place) for place, (one, two) in enumerate(pairs)
        ),
        systems=systems,
        aa=aa,
        shown_first=share,
        shown_first_interval=interval_or_none(interval),
        twice_as_long=_probability(model.estimate(length)),
        twice_as_long_interval=interval_or_none(_of_probability(twice)),
        no_strengths=reason,
    )


def with_adjusted_p(parts: Sequence[CriterionDuel]) -> tuple[CriterionDuel, ...]:
    """Correct p by Holm over all pairs and criteria."""
    adjusted = iter(holm([pair.p for part in parts for pair in part.pairs]))
    return tuple(
        replace(part, pairs=tuple(replace(pair, adjusted_p=next(adjusted)) for pair in part.pairs))
        for part in parts
    )


def _replies(names: Sequence[str], rows: Sequence[DuelRow]) -> _Replies:
    number = {name: place for place, name in enumerate(names)}
    found = []
    for row in rows:
        if row.outcome not in _POINTS:
            continue
        ends = (number[row.first], number[row.second])
        doublings = float(np.log2(row.lengths[0] / row.lengths[1]))
        if row.same and not row.is_aa:  # a tie in both orders, for which the judge was not asked
            found += [(*ends, 0.0, 0.0, 0.5, row.cluster)] * 2
        for order, better in zip((1.0, -1.0), row.better, strict=False):
            shown_first = _PREFERS_FIRST[better]
            preferred = shown_first if order > 0 else 1 - shown_first
            found.append((*ends, order, doublings, preferred, row.cluster))
    table = np.array(found, dtype=np.float64).reshape(-1, 6).T
    first, second, clusters = (table[place].astype(np.int64) for place in (0, 1, 5))
    return _Replies(first, second, table[2], table[3], table[4], clusters)


def _fit(replies: _Replies, terms: NDArray[np.bool_] | Floats) -> OrderLengthModel:
    return fit_order_length(terms, replies.order, replies.doublings, replies.preferred, replies.clusters)


def _pair(
    first: str, second: str, rows: Sequence[DuelRow], model: OrderLengthModel, place: int
) -> PairResult:
    own = [row for row in rows if (row.first, row.second) == (first, second)]
    decided = [row for row in own if row.outcome in _POINTS]
    counts = Counter(row.outcome for row in own)
    points = np.array([_POINTS[row.outcome] for row in decided])
    rate, interval = _share(points, np.array([row.cluster for row in decided], dtype=np.int64))
    weights = model.weights_of(place)
    estimate, intervals = model.estimate(weights), model.intervals(weights)
    equal = _interval(intervals)
    ratios = [row.lengths[0] / row.lengths[1] for row in decided]
    return PairResult(
        first=first,
        second=second,
        counts={name: counts[name] for name in OUTCOMES},
        win_rate=rate,
        interval=interval_or_none(interval),
        at_equal_length=_probability(estimate),
        at_equal_length_interval=interval_or_none(_of_probability(equal)),
        p=None if isinstance(intervals, NoInterval) else p_of_value(intervals, 0.0),
        adjusted_p=None,
        length_ratio=float(np.exp(np.mean(np.log(ratios)))) if ratios else None,
        no_interval=_reason(interval),
        no_estimate=_reason(equal),
    )


def _aa_test(rows: Sequence[DuelRow], replies: _Replies, model: OrderLengthModel) -> AaTest:
    own = [row for row in rows if row.is_aa]
    decided = [row for row in own if row.outcome in _POINTS]
    is_aa = replies.first == replies.second
    share, interval = _share(replies.prefers_shown_first[is_aa], replies.clusters[is_aa])
    left = model.unexplained(is_aa * replies.order / max(int(is_aa.sum()), 1))
    return AaTest(
        questions=len(decided),
        same=sum(row.same for row in decided),
        failed=sum(row.outcome == "failed" for row in own),
        shown_first=share,
        interval=interval_or_none(interval),
        after=None if isinstance(left, NoInterval) else left[0],
        after_interval=None if isinstance(left, NoInterval) else left[1],
        no_estimate=_reason(left),
    )


def _ranking(
    names: Sequence[str], rows: Sequence[DuelRow], replies: _Replies
) -> tuple[tuple[RankedSystem, ...], str]:
    """Return the systems, strongest first, and why strengths or intervals are missing."""
    one_of = np.eye(len(names))
    model = _fit(replies, one_of[replies.first] - one_of[replies.second])
    between = [row for row in rows if not row.is_aa]
    won = Counter(row.first if row.outcome == "first" else row.second for row in between if _is_won(row))
    lost = Counter(row.second if row.outcome == "first" else row.first for row in between if _is_won(row))
    ranked, reasons = [], []
    for place, name in enumerate(names):
        against_average = np.append(one_of[place] - 1 / len(names), [0.0, 0.0])
        value, interval = model.estimate(against_average), _interval(model.intervals(against_average))
        strength = None if isinstance(value, NoInterval) else value
        ranked.append(RankedSystem(name, won[name], lost[name], strength, interval_or_none(interval)))
        reasons.append(_reason(interval))
    if all(one.strength is not None for one in ranked):
        ranked.sort(key=lambda one: -(one.strength or 0.0))
    return tuple(ranked), next(filter(None, reasons), "")


def _is_won(row: DuelRow) -> bool:
    return row.outcome in {"first", "second"}


def _share(values: Floats, clusters: NDArray[np.int64]) -> tuple[float | None, Interval | NoInterval]:
    interval = mean_interval(values, clusters, low=0.0, high=1.0)
    return (float(values.mean()) if len(values) else None), interval


def _interval(intervals: Callable[[float], Interval] | NoInterval) -> Interval | NoInterval:
    return intervals if isinstance(intervals, NoInterval) else intervals(_LEVEL)


def _probability(log_odds: float | NoInterval) -> float | None:
    return None if isinstance(log_odds, NoInterval) else float((1 + np.tanh(log_odds / 2)) / 2)


def _of_probability(interval: Interval | NoInterval) -> Interval | NoInterval:
    if isinstance(interval, NoInterval):
        return interval
    low, high = ((1 + np.tanh(end / 2)) / 2 for end in interval)
    return replace(interval, low=float(low), high=float(high))


def _reason(value: object) -> str:
    return value.reason if isinstance(value, NoInterval) else ""
