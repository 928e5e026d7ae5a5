"""Analyses repeated answers and judgements: pass rates, flaky questions and components of variance."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.summarise import on_mean_scale, with_range
from sgi.engine.summary import NotebookRepr
from sgi.io.repeated_rows import answer_id
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import is_judged
from sgi.kernel.short_text import pluralize, short_repr
from sgi.stats.intervals import Interval, NoInterval, interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.pass_rates import differing_answers, pass_at_k, pass_hat_k
from sgi.stats.variance_components import ANSWER, JUDGE, VarianceComponents, variance_components

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn

NOT_SEPARABLE = "not separable"
"""The reason of a flaky question whose answers differ no more than the chance of the judge explains."""
_HALF = 0.5
_HINT = "Score several answers to each question, or judge them several times: `repeat`, `repeat_judge`."


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
    """A question whose values differ.

    Attributes:
        ids: the ids of its rows with a value.
        values: their values.
        passed: number of values that pass; None without a threshold.
        because: ``answer`` if its answers differ by more than the chance of the judge, ``judge`` if the
            judgements of an answer differ, or both; ``not separable`` if the judge alone can explain answers
            that differ.
    """

    ids: tuple[str, ...]
    values: tuple[float, ...]
    passed: int | None
    because: tuple[str, ...]


@dataclass(frozen=True)
class Repeats(NotebookRepr):
    """Repeated answers and judgements of one metric.

    Attributes:
        metric: its canonical string.
        threshold: the value from which on an answer passes; None without pass rates.
        questions: number of questions with at least two values.
        answers: number of answers to these questions.
        judgements: number of values of these answers.
        single: number of questions with fewer values; they are left out.
        components: components of variance; None if they cannot be estimated.
        rates: pass rates for k = 1, 2, …; empty without a threshold, or with one answer to each question.
        flaky: number of questions with values that pass and values that fail; without a threshold, with
            different values.
        flaky_because: number of these questions by the reason; some have ``answer`` and ``judge``.
        examples: the questions whose values differ most.
    """

    metric: str
    threshold: float | None
    questions: int
    answers: int
    judgements: int
    single: int
    components: VarianceComponents | None
    rates: tuple[PassRate, ...]
    flaky: int
    flaky_because: Mapping[str, int]
    examples: tuple[FlakyQuestion, ...]

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.metric}: {repeat_counts(self)}, {self.flaky:,} flaky"]
        lines += [
            f"k = {one.k}: pass@k {one.at_least_one:.4f}, pass^k {one.all_pass:.4f}" for one in self.rates
        ]
        return "\n".join(lines)


def repeat_counts(result: Repeats) -> str:
    """Return the numbers of judgements, answers and questions as a text."""
    judgements = (
        f"{pluralize(result.judgements, 'judgement')} of " if result.judgements > result.answers else ""
    )
    return f"{judgements}{pluralize(result.answers, 'answer')} to {pluralize(result.questions, 'question')}"


def repeats(run: Run, metric: str, *, threshold: float | None = None, examples: int = 10) -> Repeats:
    """Analyse the repeated answers and judgements of a run.

    Rows with the same question are answers to it. Rows without a question are grouped by contexts, and
    without these by reference; without any of them, each answer is a question of its own. Rows with the
    column ``judge_repeat`` and the same id up to ``~`` are judgements of one answer.

    Args:
        run: the scores, with texts.
        metric: a metric of the run, with or without parameters.
        threshold: a value passes if it is at least this, or at most this if lower is better. An answer passes
            if more than half of its values do. None: 1 for a metric whose values are all 0 or 1, otherwise
            no pass rates.
        examples: number of flaky questions to list.

    Raises:
        UnknownNameError: the run has no such metric.
        UsageError: the texts are not stored, or no question has two values.
    """
    column = with_range(run.metric(metric))
    groups = _rows_by_question(run, column)
    repeated = [rows for rows in groups if len(rows) > 1]
    if not repeated:
        raise UsageError(f"No question of {run.name} has two answers with a value of {metric}.", hint=_HINT)
    if threshold is None and np.isin(column.values[column.ok], (0.0, 1.0)).all():
        threshold = 1.0 if column.higher_is_better else 0.0
    passes = None if threshold is None else column.meets(threshold)
    rows = np.array([row for group in repeated for row in group], dtype=np.int64)
    questions = np.repeat(np.arange(len(repeated)), [len(group) for group in repeated])
    answers = _answer_ids(run, rows.tolist())
    by_question = _by_answer(repeated, answers)
    flaky = _flaky_questions(column, passes, by_question)
    components = variance_components(
        on_mean_scale(column).values[rows], questions, answers, judged=is_judged(column.metric)
    )
    several = any(len(of_question) > 1 for of_question in by_question)
    return Repeats(
        metric=column.metric,
        threshold=threshold,
        questions=len(repeated),
        answers=sum(map(len, by_question)),
        judgements=len(rows),
        single=len(groups) - len(repeated),
        components=components,
        rates=() if passes is None or not several else tuple(_rates(by_question, passes, run.clusters)),
        flaky=len(flaky),
        flaky_because=dict(Counter(chain.from_iterable(flaky.values()))),
        examples=tuple(
            FlakyQuestion(
                tuple(run.ids[row] for row in repeated[place]),
                tuple(column.values[repeated[place]].tolist()),
                None if passes is None else int(passes[repeated[place]].sum()),
                flaky[place],
            )
            for place in heapq.nsmallest(
                examples, flaky, key=lambda place: (-np.ptp(column.values[repeated[place]]), place)
            )
        ),
    )


def _rows_by_question(run: Run, column: MetricColumn) -> list[list[int]]:
    """Return the rows with a value, by question."""
    keys = run.row_keys
    if keys is None:
        raise _no_texts(run)
    groups: dict[tuple[str, int | str], list[int]] = {}
    alone = np.flatnonzero(column.ok & ~keys.identified).tolist()
    answers = dict(zip(alone, _answer_ids(run, alone), strict=True))
    for row, identity in enumerate(keys.identity):
        if column.ok[row]:
            key = ("answer", answers[row]) if row in answers else identity
            groups.setdefault(key, []).append(row)
    return [*groups.values()]


def _answer_ids(run: Run, rows: list[int]) -> list[str]:
    if run.read_samples is None:
        raise _no_texts(run)
    return [answer_id(sample) for sample in run.read_samples(rows)]


def _no_texts(run: Run) -> UsageError:
    return UsageError(f"{run.name} has no texts, so answers to the same question cannot be found.")


def _by_answer(repeated: Sequence[Sequence[int]], answers: Sequence[str]) -> list[list[list[int]]]:
    """Group the rows of each question by their answers; ``answers`` has the answer of each row in order."""
    names = iter(answers)
    by_question = []
    for group in repeated:
        of_question: dict[str, list[int]] = {}
        for row in group:
            of_question.setdefault(next(names), []).append(row)
        by_question.append([*of_question.values()])
    return by_question


def _flaky_questions(
    column: MetricColumn, passes: NDArray[np.bool_] | None, by_question: Sequence[Sequence[Sequence[int]]]
) -> dict[int, tuple[str, ...]]:
    """Return the reasons for each flaky question: its answers, the judge, or both.

    The answers differ if most judgements of one pass and most of another fail (without a threshold: if all
    judgements of one are greater than all of another), and by more than the chance of the judge. Without
    the second condition, the parts of answers and judge are not separable.
    """
    values = column.values if passes is None else passes.astype(np.float64)
    differing = differing_answers([[values[rows] for rows in of_question] for of_question in by_question])
    judged = is_judged(column.metric)
    flaky: dict[int, tuple[str, ...]] = {}
    for place, of_question in enumerate(by_question):
        lows = [values[rows].min() for rows in of_question]
        highs = [values[rows].max() for rows in of_question]
        shares = [values[rows].mean() for rows in of_question]
        by_answer = max(lows) > min(highs) if passes is None else min(shares) < _HALF < max(shares)
        by_judge = any(high > low for low, high in zip(lows, highs, strict=True))
        single = all(len(rows) == 1 for rows in of_question)
        if by_answer and not (not judged if single else differing[place]):
            flaky[place] = (NOT_SEPARABLE,)
        elif reasons := (ANSWER,) * bool(by_answer) + (JUDGE,) * by_judge:
            flaky[place] = reasons
    return flaky


def _rates(
    groups: Sequence[Sequence[Sequence[int]]], passes: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> list[PassRate]:
    most = max(map(len, groups))
    rates = []
    for k in range(1, most + 1):
        large = [group for group in groups if len(group) >= k]
        cluster = [int(clusters[group[0][0]]) for group in large]
        counts = [(len(group), sum(bool(passes[rows].mean() > _HALF) for rows in group)) for group in large]
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
