"""Components of variance: the parts of questions, answers and judge in the variance of a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import (
    MIN_CLUSTERS,
    Interval,
    check_level,
    cluster_codes,
    student_quantile,
    too_few_clusters,
)
from sgi.stats.pass_rates import correlation_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

QUESTION, ANSWER, JUDGE = "question", "answer", "judge"
"""The sources of variance."""

MIN_QUESTIONS = 50
MIN_OUTCOME = 0.2
"""Least share of passes and of fails for the jackknife of pass/fail values with answers and judgements."""

_TWO = 2
_ROUNDING = 1e-9
"""A smaller share of the variance is a rounding error."""


@dataclass(frozen=True)
class Component:
    """The variance from one source, or from sources that the data cannot tell apart.

    Attributes:
        sources: ``question``, ``answer`` and ``judge``, or some of them.
        variance: the estimate; 0 if it is negative.
        share: part of the sum of all components, in [0, 1]; None without any variance.
        interval: confidence interval of the share; None if it cannot be computed.
        no_interval: why there is no interval; empty if there is one.
    """

    sources: tuple[str, ...]
    variance: float
    share: float | None
    interval: Interval | None
    no_interval: str = ""


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of one value, split by source.

    Attributes:
        questions: number of questions.
        answers: number of answers to them.
        judgements: number of judgements of these answers; one value each.
        components: the components; together they have each source once.
    """

    questions: int
    answers: int
    judgements: int
    components: tuple[Component, ...]

    def standard_error(self, questions: int, answers: int = 1, judgements: int = 1) -> float | None:
        """Return the standard error of a mean; None if it needs sources that the data cannot tell apart.

        Args:
            questions: number of questions.
            answers: number of answers to each.
            judgements: number of judgements of each answer.
        """
        divisors = {QUESTION: 1, ANSWER: answers, JUDGE: answers * judgements}
        variance = 0.0
        for component in self.components:
            divisor, *others = {divisors[source] for source in component.sources}
            if others:
                return None
            variance += component.variance / divisor
        return math.sqrt(variance / questions)


def variance_components(
    values: ArrayLike,
    questions: ArrayLike,
    answers: ArrayLike | None = None,
    *,
    judged: bool = False,
    level: float = 0.95,
) -> VarianceComponents | None:
    r"""Split the variance of values into questions, answers and judge, by analysis of variance.

    The model has nested random effects: answers in questions, judgements in answers. Groups may have
    different sizes. With :math:`T_g` the sum and :math:`n_g` the number of the values of group g, the
    estimates solve one equation for each level l:

    .. math::

        \sum_{g \in l} \frac{T_g^2}{n_g} - \frac{T^2}{N} = \sum_k \hat\sigma_k^2 \Bigl(
        \sum_{g \in l} \sum_{h \in k} \frac{n_{gh}^2}{n_g} - \sum_{h \in k} \frac{n_h^2}{N} \Bigr)

    with :math:`n_{gh}` the number of values in both groups. The interval of a share is a jackknife over
    questions. It needs 5 questions with repeats. Pass/fail values have the interval of `correlation_interval`
    with two components, and with three a jackknife from `MIN_QUESTIONS` and `MIN_OUTCOME` on.

    Args:
        values: the values, shape (n,).
        questions: the question of each value, shape (n,).
        answers: the answer of each value, shape (n,); None if each value is another answer.
        judged: whether the values depend on a judge. Without repeated judgements, its variance is a part of
            the variance of answers.
        level: confidence level of the intervals.

    Returns:
        The components; None if no question has two values, or there is only one question.

    Source: Searle, Casella and McCulloch (1992), Variance Components, section 5.3 (Henderson's method 1);
    Arvesen (1969), Ann. Math. Stat. 40 (jackknife).

    >>> result = variance_components([1, 1, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3])
    >>> [(one.sources, round(one.variance, 4)) for one in result.components]
    [(('question',), 0.1667), (('answer',), 0.1667)]
    """
    check_level(level)
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError("Variance components need one column of finite values.")
    n = len(column)
    codes, count = cluster_codes(questions, n)
    inner, names = cluster_codes(answers, n)
    inner, replies = cluster_codes(codes * names + inner, n)
    if count <= 1 or count == n:
        return None
    levels: list[Codes] = [codes, *[inner] * (count < replies < n), np.arange(n)]
    # Values near their mean keep the sums of squares exact.
    sums = _Sums.of(column - column.mean(), levels)
    sources = _sources(count, replies, n, judged=judged)
    components = _components(sums, levels, sources, level, varied=bool(np.ptp(column) > 0))
    if len(np.unique(column)) == _TWO:
        passed = np.bincount(codes, weights=column == column.max()).astype(np.int64)
        components = _of_pass_fail(components, passed, np.bincount(codes), level)
    return VarianceComponents(count, replies, n, components)


def _components(
    sums: _Sums, levels: Sequence[Codes], sources: Sequence[tuple[str, ...]], level: float, *, varied: bool
) -> tuple[Component, ...]:
    variances = sums.total().components()[0]
    positive = np.where(variances > _ROUNDING * np.abs(variances).sum(), variances, 0.0)
    shares = positive / positive.sum() if varied else [None] * len(levels)
    intervals = _share_intervals(sums, levels, variances, level)
    return tuple(
        Component(one, float(variance), None if share is None else float(share), *interval)
        for one, variance, share, interval in zip(sources, positive, shares, intervals, strict=True)
    )


def _of_pass_fail(
    components: tuple[Component, ...], passed: Codes, sizes: Codes, level: float
) -> tuple[Component, ...]:
    """Return the components of pass/fail values with intervals that hold for them.

    The spread of the jackknife is far too small if nearly all values are equal.
    """
    if any(component.interval is None for component in components):
        return components
    if len(components) == _TWO:
        whole = correlation_interval(passed, sizes, level)
        rest = replace(whole, low=1 - whole.high, high=1 - whole.low)
        return tuple(replace(one, interval=end) for one, end in zip(components, (whole, rest), strict=True))
    share = passed.sum() / sizes.sum()
    if len(sizes) >= MIN_QUESTIONS and MIN_OUTCOME <= share <= 1 - MIN_OUTCOME:
        return components
    reason = f"pass/fail values need {MIN_QUESTIONS} questions, and {MIN_OUTCOME:.0%} of each outcome"
    return tuple(replace(one, interval=None, no_interval=reason) for one in components)


def _sources(questions: int, answers: int, values: int, *, judged: bool) -> list[tuple[str, ...]]:
    """Return the sources of each component; data without repeats cannot tell some of them apart."""
    if questions < answers < values:
        return [(QUESTION,), (ANSWER,), (JUDGE,)]
    if answers == questions:
        return [(QUESTION, ANSWER), (JUDGE,)]
    return [(QUESTION,), (ANSWER, JUDGE) if judged else (ANSWER,)]


@dataclass(frozen=True)
class _Sums:
    """Sums over sets of questions, such as a single question; the first axis is the set.

    Attributes:
        number: number of values, shape (s,).
        totals: their sum, shape (s,).
        squares: squared sum / size, added up over the groups of each level, shape (s, l).
        overlaps: coefficients of the components in these sums, shape (s, l, l).
        sizes: squared sizes, added up over the groups of each level, shape (s, l).
    """

    number: Floats
    totals: Floats
    squares: Floats
    overlaps: Floats
    sizes: Floats

    @classmethod
    def of(cls, values: Floats, levels: Sequence[Codes]) -> _Sums:
        """Return the sums of each question; the first level is the question, and the last the value."""
        questions = levels[0]
        count = int(questions.max()) + 1

        def add(group: Codes, weights: Floats) -> Floats:
            return np.bincount(group, weights=weights, minlength=count).astype(np.float64)

        sizes = [np.bincount(level).astype(np.float64) for level in levels]
        first = [np.unique(level, return_index=True)[1] for level in levels]
        squares, squared_sizes = [], []
        overlaps = np.empty((count, len(levels), len(levels)))
        for place, (level, size, rows) in enumerate(zip(levels, sizes, first, strict=True)):
            sums = np.bincount(level, weights=values)
            squares.append(add(questions[rows], np.square(sums) / size))
            squared_sizes.append(add(questions[rows], np.square(size)))
            overlaps[:, place, : place + 1] = sizes[0][:, None]
            for finer in range(place + 1, len(levels)):
                inside = np.square(sizes[finer]) / size[level[first[finer]]]
                overlaps[:, place, finer] = add(questions[first[finer]], inside)
        return cls(
            sizes[0], add(questions, values), np.stack(squares, 1), overlaps, np.stack(squared_sizes, 1)
        )

    def total(self) -> _Sums:
        """Return the sums over all questions as one set of sums."""
        return _Sums(*(part.sum(axis=0, keepdims=True) for part in self._parts()))

    def without_each(self) -> _Sums:
        """Return, for each question, the sums over all other questions."""
        return _Sums(*(part.sum(axis=0, keepdims=True) - part for part in self._parts()))

    def components(self) -> Floats:
        """Return the estimates, which can be negative, shape (s, l)."""
        known = self.squares - (np.square(self.totals) / self.number)[:, None]
        factors = self.overlaps - (self.sizes / self.number[:, None])[:, None, :]
        solved = np.linalg.solve(factors, known[:, :, None])[:, :, 0]
        return solved.astype(np.float64)

    def _parts(self) -> tuple[Floats, ...]:
        return self.number, self.totals, self.squares, self.overlaps, self.sizes


def _share_intervals(
    sums: _Sums, levels: Sequence[Codes], variances: Floats, level: float
) -> list[tuple[Interval | None, str]]:
    """Return the jackknife interval of each share, or the reason why there is none."""
    count, total = len(sums.number), float(variances.sum())
    repeated = min(starmap(partial(_repeated, levels[0]), pairwise(levels)))
    if repeated < MIN_CLUSTERS:
        return [(None, too_few_clusters(repeated).reason)] * len(variances)
    if not np.abs(variances).sum() > 0:
        return [(None, "all values are equal")] * len(variances)
    if not total > 0:
        return [(None, "an estimate is negative")] * len(variances)
    # Negative estimates are kept here: set to 0, they would make the jackknife biased.
    others = sums.without_each().components()
    pseudo = count * variances / total - (count - 1) * others / others.sum(axis=1, keepdims=True)
    halves = student_quantile(level, count - 1) * pseudo.std(axis=0, ddof=1) / math.sqrt(count)
    return [
        _interval(share, half, level) for share, half in zip(variances / total, halves.tolist(), strict=True)
    ]


def _repeated(questions: Codes, outer: Codes, inner: Codes) -> int:
    """Return the number of questions in which a group of the outer level has several of the inner level."""
    first = np.unique(inner, return_index=True)[1]
    several = np.bincount(outer[first]) > 1
    return len(np.unique(questions[several[outer]]))


def _interval(share: float, half: float, level: float) -> tuple[Interval | None, str]:
    if not half > _ROUNDING:
        return None, "it is the same without any one of the questions"
    low, high = (min(max(share + side * half, 0.0), 1.0) for side in (-1, 1))
    return Interval(low, high, level, "jackknife of questions"), ""
