"""Analyses the repeated answers of a run: pass rates, flaky questions and components of variance."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.pairing import RowKeys
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.engine.summary import NotebookRepr
from sgi.kernel.errors import UsageError
from sgi.kernel.short_repr import short_repr
from sgi.stats.intervals import Interval, NoInterval, interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.repeats import VarianceComponents, pass_at_k, pass_hat_k, variance_components

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.scored_run import MetricColumn, ScoredRun


@dataclass(frozen=True)
class PassRate:
    """Pass rates of k answers to a question, averaged over questions with at least k answers.

    Attributes:
        k: number of answers.
        questions: number of questions with at least k answers that have a value.
        at_least_one: probability that at least one of k answers passes (pass@k), with its interval.
        all_pass: probability that all of k answers pass (pass^k), with its interval.
    """

    k: int
    questions: int
    at_least_one: float
    at_least_one_interval: Interval | None
    all_pass: float
    all_pass_interval: Interval | None


@dataclass(frozen=True)
class FlakyQuestion:
    """A question whose answers differ.

    Attributes:
        ids: the ids of its rows with a value.
        values: their values.
        passed: number of values that pass; None without a threshold.
    """

    ids: tuple[str, ...]
    values: tuple[float, ...]
    passed: int | None


@dataclass(frozen=True)
class Repeats(NotebookRepr):
    """Repeated answers of one metric.

    Attributes:
        metric: its canonical string.
        threshold: the value from which on an answer passes; None without pass rates.
        questions: number of questions with at least two answers that have a value.
        answers: number of these answers.
        single: number of questions with fewer values; they are left out.
        components: components of variance; None if they cannot be estimated.
        rates: pass rates for k = 1, 2, …; empty without a threshold.
        flaky: number of questions with answers that pass and answers that fail; without a threshold, with
            different values.
        examples: the questions whose values differ most.
    """

    metric: str
    threshold: float | None
    questions: int
    answers: int
    single: int
    components: VarianceComponents | None
    rates: tuple[PassRate, ...]
    flaky: int
    examples: tuple[FlakyQuestion, ...]

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.metric}: {self.answers:,} answers to {self.questions:,} questions, {self.flaky:,} flaky"
        ]
        lines += [
            f"k = {one.k}: pass@k {one.at_least_one:.4f}, pass^k {one.all_pass:.4f}" for one in self.rates
        ]
        return "\n".join(lines)


def repeats(run: ScoredRun, metric: str, *, threshold: float | None = None, examples: int = 10) -> Repeats:
    """Analyse the repeated answers of a run; rows with the same question are answers to it.

    Args:
        run: the scores, with texts.
        metric: a metric of the run, with or without parameters.
        threshold: an answer passes if its value is at least this, or at most this if lower is better. None:
            1 for a metric whose values are all 0 or 1, otherwise no pass rates.
        examples: number of flaky questions to list.

    Raises:
        UnknownNameError: the run has no such metric.
        UsageError: the texts are not stored, or no question has two answers with a value.
    """
    column = with_range(run.metric(metric))
    keys = RowKeys.of(run)
    if keys is None:
        raise UsageError(f"{run.name} has no texts, so answers to the same question cannot be found.")
    groups: dict[tuple[str, int], list[int]] = {}
    for row, identity in enumerate(keys.identity):
        if column.ok[row]:
            groups.setdefault(identity, []).append(row)
    repeated = [rows for rows in groups.values() if len(rows) > 1]
    if not repeated:
        hint = "Score several answers to each question: sgi run … --target … --repeat 3."
        raise UsageError(f"No question of {run.name} has two answers with a value of {metric}.", hint=hint)
    if threshold is None and np.isin(column.values[column.ok], (0.0, 1.0)).all():
        threshold = 1.0 if column.higher_is_better else 0.0
    passes = None if threshold is None else _passes(column, threshold)
    rows = np.array([row for group in repeated for row in group], dtype=np.int64)
    questions = np.repeat(np.arange(len(repeated)), [len(group) for group in repeated])
    spread = [float(np.ptp(column.values[group])) for group in repeated]
    passed = [None if passes is None else int(passes[group].sum()) for group in repeated]
    flaky = [
        place
        for place, (group, count) in enumerate(zip(repeated, passed, strict=True))
        if (0 < count < len(group) if count is not None else spread[place] > 0)
    ]
    listed = heapq.nsmallest(examples, flaky, key=lambda place: (-spread[place], place))
    return Repeats(
        metric=column.metric,
        threshold=threshold,
        questions=len(repeated),
        answers=len(rows),
        single=len(groups) - len(repeated),
        components=variance_components(on_mean_scale(column).values[rows], questions),
        rates=() if passes is None else tuple(_rates(repeated, passes, run.clusters)),
        flaky=len(flaky),
        examples=tuple(
            FlakyQuestion(
                tuple(run.ids[row] for row in repeated[place]),
                tuple(column.values[repeated[place]].tolist()),
                passed[place],
            )
            for place in listed
        ),
    )


def _passes(column: MetricColumn, threshold: float) -> NDArray[np.bool_]:
    return column.values >= threshold if column.higher_is_better else column.values <= threshold


def _rates(
    groups: Sequence[Sequence[int]], passes: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> list[PassRate]:
    most = max(map(len, groups))
    rates = []
    for k in range(1, most + 1):
        large = [group for group in groups if len(group) >= k]
        cluster = [int(clusters[group[0]]) for group in large]
        counts = [(len(group), int(passes[group].sum())) for group in large]
        (one, one_interval), (every, every_interval) = (
            _mean(formula, counts, k, cluster) for formula in (pass_at_k, pass_hat_k)
        )
        rates.append(PassRate(k, len(large), one, one_interval, every, every_interval))
    return rates


def _mean(
    formula: Callable[[int, int, int], float],
    counts: Sequence[tuple[int, int]],
    k: int,
    clusters: Sequence[int],
) -> tuple[float, Interval | None]:
    values = np.array([formula(n, passed, k) for n, passed in counts])
    interval: Interval | NoInterval = mean_interval(values, clusters, low=0.0, high=1.0)
    return float(values.mean()), interval_or_none(interval)
