"""Simulate how often the intervals and tests of systems are wrong, for the tables of docs/statistics.md.

    python scripts/simulate_comparisons.py --sets 2000

Data are drawn from populations with known values: lognormal latencies, systems that are equal, answers that
pass with a known probability, and comparisons of two systems. The numbers are computed by the functions that
the toolkit uses. With 2,000 data sets the standard error of a rate of 2.5 % is 0.35 percentage points.
"""

from __future__ import annotations

import argparse
import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from sgi.analysis.gate.gate import gate
from sgi.kernel.scored_run import MetricColumn, ScoredRun
from sgi.stats.bradley_terry import bradley_terry
from sgi.stats.intervals import Interval
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import holm, paired_differences
from sgi.stats.percentiles import percentile
from sgi.stats.repeats import pass_at_k, pass_hat_k
from sgi.stats.variance_components import variance_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.05
BETWEEN = 0.6
"""Share of the variance of log latencies between the questions, if a question has several rows."""


class Misses(NamedTuple):
    """Shares of the data sets: lower end above the truth, upper end below it, and an end is unknown."""

    low: float
    high: float
    unknown: float


def misses(ends: Iterable[tuple[float | None, float | None]], truth: float) -> Misses:
    """Count the ends that exclude the truth; an unknown end excludes nothing."""
    pairs = [*ends]
    low = sum(low is not None and low > truth for low, _ in pairs)
    high = sum(high is not None and high < truth for _, high in pairs)
    return Misses(*(count / len(pairs) for count in (low, high, sum(None in pair for pair in pairs))))


def latencies(generator: np.random.Generator, questions: int, rows: int) -> Floats:
    """Draw lognormal latencies with the median 1, sorted by question."""
    shared = np.repeat(generator.standard_normal(questions), rows) * math.sqrt(BETWEEN if rows > 1 else 0)
    own = generator.standard_normal(questions * rows) * math.sqrt(1 - BETWEEN if rows > 1 else 1)
    return np.asarray(np.exp(shared + own), dtype=np.float64)


def true_percentile(share: float) -> float:
    """Return the percentile of the latencies."""
    return math.exp(float(stats.norm.ppf(share)))


def percentile_misses(share: float, questions: int, rows: int, sets: int, seed: int = 0) -> Misses:
    """Simulate the interval of a percentile of latencies."""
    generator = np.random.default_rng((seed, questions, rows))
    clusters = np.repeat(np.arange(questions), rows)
    drawn = (latencies(generator, questions, rows) for _ in range(sets))
    found = (percentile(values, share, clusters=clusters) for values in drawn)
    return misses(((one.low, one.high) for one in found), true_percentile(share))


def gate_passes(questions: int, rows: int, sets: int, *, excess: float = 1.0, seed: int = 1) -> float:
    """Return how often a gate on p95 passes a run whose true p95 is ``excess`` times its limit."""
    generator = np.random.default_rng((seed, questions, rows))
    clusters = np.repeat(np.arange(questions), rows)
    ids, codes = tuple(map(str, range(len(clusters)))), np.zeros(len(clusters), dtype=np.int8)
    limit = true_percentile(0.95) / excess
    passed = 0
    for _ in range(sets):
        column = MetricColumn(
            "latency", latencies(generator, questions, rows), codes, 0.0, None, higher_is_better=False
        )
        run = ScoredRun("run", len(ids), ids, clusters, {"latency": column})
        passed += gate(run, f"latency.p95 <= {limit!r}").passed
    return passed / sets


def false_letters(kind: str, systems: int, questions: int, rows: int, sets: int) -> float:
    """Return how often Holm's tests find any difference between equal systems."""
    generator = np.random.default_rng((2, questions, rows))
    pairs = np.array([*combinations(range(systems), 2)])
    clusters = np.repeat(np.arange(questions), rows)
    wrong = 0
    for seed in range(sets):
        if kind == "0 or 1":
            chance = np.repeat(generator.beta(2, 1, questions), rows)[:, None]
            values = (generator.random((len(clusters), systems)) < chance).astype(np.float64)
        else:
            shared = np.repeat(generator.normal(0.5, 0.15, (questions, 1)), rows, axis=0)
            of_system = np.repeat(generator.normal(0, 0.07, (questions, systems)), rows, axis=0)
            own = generator.normal(0, 0.07, (len(clusters), systems))
            values = np.clip(shared + of_system + own, 0, 1)
        tests = paired_differences(
            values[:, pairs[:, 0]], values[:, pairs[:, 1]], clusters, ranges=[1.0] * len(pairs), seed=seed
        )
        adjusted = holm([one.p for one in tests])
        wrong += any(p is not None and p < LEVEL for p in adjusted)
    return wrong / sets


def pass_rates(
    formula: Callable[[int, int, int], float], answers: int, k: int, questions: int, sets: int
) -> tuple[float, Misses]:
    """Return the mean error of pass@k or pass^k, and the misses of its interval."""
    generator = np.random.default_rng((3, answers, k))
    # The chance of a question is from Beta(2, 1): E[p^k] = 2/(k + 2), and E[(1 − p)^k] = 2/((k + 1)(k + 2)).
    truth = 2 / (k + 2) if formula is pass_hat_k else 1 - 2 / ((k + 1) * (k + 2))
    passed = generator.binomial(answers, generator.beta(2, 1, (sets, questions)))
    values = np.vectorize(lambda count: formula(answers, int(count), k))(passed)
    made = (mean_interval(row, low=0.0, high=1.0) for row in values)
    ends = ((one.low, one.high) if isinstance(one, Interval) else (None, None) for one in made)
    return float(values.mean() - truth), misses(ends, truth)


def component_errors(truth: tuple[float, float, float], sets: int) -> list[tuple[float, Misses]]:
    """Return, for question, answer and judge, the mean error of the variance and the misses of its share.

    There are 60 questions with 3 answers and 3 judgements of each.
    """
    generator = np.random.default_rng(4)
    questions, answers = np.repeat(np.arange(60), 9), np.repeat(np.arange(180), 3)
    found = []
    for _ in range(sets):
        effects = [
            generator.normal(0, math.sqrt(variance), count)
            for variance, count in zip(truth, (60, 180, 540), strict=True)
        ]
        result = variance_components(
            effects[0][questions] + effects[1][answers] + effects[2], questions, answers
        )
        found.append(result.components if result is not None else ())
    errors = []
    for place, variance in enumerate(truth):
        of_source = [components[place] for components in found]
        intervals = [one.interval for one in of_source]
        ends = ((None, None) if one is None else (one.low, one.high) for one in intervals)
        mean = float(np.mean([one.variance for one in of_source]))
        errors.append((mean - variance, misses(ends, variance / sum(truth))))
    return errors


def duel_misses(questions: int, win: float, tie: float, sets: int) -> Misses:
    """Simulate the interval of the Bradley–Terry strength of one of two systems."""
    generator = np.random.default_rng((5, questions))
    outcomes = generator.choice([1, 0.5, 0], size=(sets, questions), p=[win, tie, 1 - win - tie])
    truth = math.log((win + tie / 2) / (1 - win - tie / 2)) / 2
    first, second = np.zeros(questions, dtype=np.int64), np.ones(questions, dtype=np.int64)
    made = (bradley_terry(first, second, row, systems=2).intervals[0] for row in outcomes)
    return misses(((None, None) if one is None else (one.low, one.high) for one in made), truth)


def _percent(*shares: float) -> str:
    return " | ".join(f"{100 * share:.1f} %" for share in shares)


def tables(sets: int) -> Iterator[str]:
    """Yield the lines of all tables in Markdown."""
    ends = "lower end too high | upper end too low | an end is unknown"
    yield f"| interval | data | {ends} |\n|:--|:--|--:|--:|--:|"
    for share in (0.5, 0.95):
        for questions, rows in ((20, 1), (50, 1), (200, 1), (1000, 1), (50, 8), (200, 3)):
            data = f"{questions:,} questions × {rows}" if rows > 1 else f"{questions:,} rows"
            result = percentile_misses(share, questions, rows, sets)
            yield f"| p{100 * share:.0f} of lognormal latencies | {data} | {_percent(*result)} |"
    for name, formula in (("pass@k", pass_at_k), ("pass^k", pass_hat_k)):
        for k in (1, 3):
            bias, result = pass_rates(formula, 5, k, 50, sets)
            what = f"{name}, k = {k} (mean error {bias:+.4f})"
            yield f"| {what} | 50 questions × 5 answers | {_percent(*result)} |"
    truth = (1.0, 0.5, 0.5)
    for source, (bias, result) in zip(
        ("question", "answer", "judge"), component_errors(truth, sets), strict=True
    ):
        data = "60 questions × 3 answers × 3 judgements"
        what = f"share of the {source} in the variance (mean error {bias:+.4f})"
        yield f"| {what} | {data} | {_percent(*result)} |"
    for questions, win, tie in ((30, 0.5, 0.2), (30, 0.9, 0.0), (100, 0.9, 0.0), (100, 0.02, 0.97)):
        data = f"{questions} questions, {100 * win:.0f} % wins, {100 * tie:.0f} % ties"
        yield f"| Bradley–Terry strength | {data} | {_percent(*duel_misses(questions, win, tie, sets))} |"
    yield "\n| decision | data | wrong |\n|:--|:--|--:|"
    for questions, rows in ((50, 1), (100, 1), (200, 1), (1000, 1), (200, 3)):
        data = f"true p95 at the limit, {questions:,} questions × {rows}"
        yield f"| gate on p95 passes | {data} | {_percent(gate_passes(questions, rows, sets))} |"
    for kind, questions, rows in (("any", 20, 1), ("any", 50, 1), ("any", 50, 3), ("0 or 1", 60, 1)):
        data = f"5 equal systems, {questions} questions × {rows}, {kind} values"
        wrong = false_letters(kind, 5, questions, rows, sets)
        yield f"| Holm finds a difference | {data} | {_percent(wrong)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000, help="data sets per line (default 2000)")
    for line in tables(parser.parse_args().sets):
        print(line, flush=True)


if __name__ == "__main__":
    main()
