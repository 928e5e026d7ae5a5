"""Percentiles, gates on p95, pass rates, variance components, and the tests and ranks of systems."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats
from simulations.harness import (
    ENDS,
    Coverage,
    clusters_of,
    correlated,
    coverage,
    one_large_cluster,
    percent,
    section,
)

from sgi.analysis.gate.gate import gate
from sgi.analysis.groups import group_by
from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.systems import systems_of_runs
from sgi.engine.run import Run
from sgi.kernel.metric_column import MetricColumn
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import holm, paired_differences
from sgi.stats.pass_rates import pass_at_k, pass_hat_k
from sgi.stats.percentiles import percentile
from sgi.stats.variance_components import variance_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulations.harness import Codes, Floats

LEVEL = 0.05
SHARED = 0.6
"""Share of the variance of log latencies between the questions."""

GROUPS, TINY = 20, 1e-9
GROUPED = (
    (12, 0.1, ()),
    (12, 0.8, ()),
    (40, 0.8, ()),
    (40, 0.95, ()),
    (40, 0.8, (0.95, 0.95, 0.7, 0.7, 0.7)),
    (100, 0.8, (0.95, 0.95, 0.7, 0.7, 0.7)),
)
"""Rows of each group, mean of most groups, and of the others: these do not move the mean of all rows."""

RANKED = (
    (0.6, 0.6, 0.6, 0.6, 0.6),
    (0.8, 0.6, 0.6, 0.4, 0.4),
    (0.65, 0.63, 0.61, 0.59, 0.57),
    (0.9, 0.7, 0.5, 0.3, 0.1),
)
"""True means of five systems."""

SOURCES = ("question", "answer", "judge")


def true_percentile(share: float) -> float:
    """Return the percentile of lognormal latencies with the median 1."""
    return math.exp(float(stats.norm.ppf(share)))


def percentile_coverage(
    share: float, codes: Codes, sets: int, *, seed: tuple[int, ...], shared: float = SHARED
) -> Coverage:
    """Simulate the interval of a percentile of latencies; ``codes`` are the questions of the rows."""
    generator = np.random.default_rng((0, *seed))
    drawn = (np.exp(correlated(generator, codes, shared)) for _ in range(sets))
    return coverage((percentile(values, share, clusters=codes) for values in drawn), true_percentile(share))


def gate_passes(questions: int, rows: int, sets: int, *, excess: float = 1.0) -> float:
    """Return how often a gate on p95 passes a run whose true p95 is ``excess`` times its limit."""
    generator = np.random.default_rng((1, questions, rows))
    clusters = clusters_of(questions, rows)
    ids, codes = tuple(map(str, range(len(clusters)))), np.zeros(len(clusters), dtype=np.int8)
    limit = true_percentile(0.95) / excess
    passed = 0
    for _ in range(sets):
        values = np.exp(correlated(generator, clusters, SHARED))
        column = MetricColumn("latency", values, codes, 0.0, None, higher_is_better=False)
        run = Run.of("run", ids, [column], clusters)
        passed += gate(run, f"latency.p95 <= {limit!r}").passed
    return passed / sets


def false_letters(kind: str, systems: int, questions: int, rows: int, sets: int) -> float:
    """Return how often Holm's tests find any difference between equal systems."""
    generator = np.random.default_rng((2, questions, rows))
    first, second = np.array([*combinations(range(systems), 2)]).T
    clusters = clusters_of(questions, rows)
    wrong = 0
    for _ in range(sets):
        if kind == "0 or 1":
            chance = generator.beta(2, 1, questions)[clusters, None]
            values = (generator.random((len(clusters), systems)) < chance).astype(np.float64)
        else:
            shared = generator.normal(0.5, 0.15, (questions, 1)) + generator.normal(
                0, 0.07, (questions, systems)
            )
            values = np.clip(shared[clusters] + generator.normal(0, 0.07, (len(clusters), systems)), 0, 1)
        ranges = [1.0] * len(first)
        tests = paired_differences(values[:, first], values[:, second], clusters, ranges=ranges)
        wrong += any(p is not None and p < LEVEL for p in holm([one.p for one in tests]))
    return wrong / sets


def values_with_mean(
    generator: np.random.Generator, kind: str, means: Floats, questions: int, shared: float
) -> Floats:
    """Draw values in [0, 1] with these true means, shape (questions, k); a row shares variance."""
    of_question = generator.normal(size=(questions, 1))
    own = generator.normal(size=(questions, len(means)))
    uniform = stats.norm.cdf(math.sqrt(shared) * of_question + math.sqrt(1 - shared) * own)
    return np.asarray(uniform < means if kind == "0 or 1" else uniform ** (1 / means - 1), dtype=np.float64)


def group_errors(
    kind: str, size: int, mean: float, others: Sequence[float], sets: int
) -> tuple[float, float]:
    """Return the mean share of false ones among the named groups, and the share of different ones named.

    The true mean of most groups is ``mean``; ``others`` are those of the different groups. A named group is
    false if its mean does not differ from that of the other rows in the stated direction.
    """
    generator = np.random.default_rng((7, size, len(others)))
    different = len(others)
    truth = np.repeat([*others, *[mean] * (GROUPS - different)], size)
    n, names = len(truth), [str(row // size) for row in range(len(truth))]
    ids, codes = tuple(map(str, range(n))), np.zeros(n, dtype=np.int8)
    gaps = truth[::size] - truth.mean()  # of one sign with those from the other rows
    false, found = 0.0, 0
    for _ in range(sets):
        values = values_with_mean(generator, kind, truth, 1, 0.0)[0]
        run = Run.of("run", ids, [MetricColumn("made", values, codes, 0.0, 1.0)])
        verdicts = [group.others[0].verdict for group in group_by(run, names)]
        named = [(place, word) for place, word in enumerate(verdicts) if word in {"better", "worse"}]
        right = sum(gaps[place] > TINY if word == "better" else gaps[place] < -TINY for place, word in named)
        false += 1 - right / len(named) if named else 0.0
        found += sum(place < different for place, _ in named)
    return false / sets, found / (sets * different) if different else math.nan


def rank_errors(kind: str, means: Sequence[float], questions: int, sets: int) -> tuple[float, float]:
    """Return how often any rank interval misses, and the mean number of ranks in an interval.

    Of equal systems, each has all ranks that they share: an interval is right if it contains all of them.
    """
    generator = np.random.default_rng((6, questions, len(set(means))))
    truth = np.array(means)
    codes, ids = np.zeros(questions, dtype=np.int8), tuple(map(str, range(questions)))
    wrong, width = 0, 0.0
    for _ in range(sets):
        values = values_with_mean(generator, kind, truth, questions, 0.5)
        runs = [
            Run.of(str(place), ids, [MetricColumn("made", of_system, codes, 0.0, 1.0)])
            for place, of_system in enumerate(values.T)
        ]
        scores = leaderboard(systems_of_runs(runs)).metrics[0].systems
        missed = False
        for score in scores:
            low, high = score.ranks or (1, len(means))
            mean = truth[int(score.system)]
            missed |= bool(low > 1 + (truth > mean).sum() or high < (truth >= mean).sum())
            width += high - low + 1
        wrong += missed
    return wrong / sets, width / (sets * len(means))


def pass_rates(
    formula: Callable[[int, int, int], float], answers: int, k: int, questions: int, sets: int
) -> tuple[float, Coverage]:
    """Return the mean error of pass@k or pass^k, and the coverage of its interval."""
    generator = np.random.default_rng((3, answers, k))
    # The chance of a question is from Beta(2, 1): E[p^k] = 2/(k + 2), and E[(1 − p)^k] = 2/((k + 1)(k + 2)).
    truth = 2 / (k + 2) if formula is pass_hat_k else 1 - 2 / ((k + 1) * (k + 2))
    passed = generator.binomial(answers, generator.beta(2, 1, (sets, questions)))
    values = np.vectorize(lambda count: formula(answers, int(count), k))(passed)
    made = (mean_interval(row, low=0.0, high=1.0) for row in values)
    return float(values.mean() - truth), coverage(made, truth)


def component_errors(truth: tuple[float, float, float], sets: int) -> list[tuple[float, Coverage]]:
    """Return, for each source, the mean error of the variance and the coverage of its share.

    There are 60 questions with 3 answers and 3 judgements of each.
    """
    generator = np.random.default_rng(4)
    questions, answers, judgements = clusters_of(60, 9), clusters_of(180, 3), np.arange(540)
    found = []
    for _ in range(sets):
        effects = (
            generator.normal(0, math.sqrt(variance), codes[-1] + 1)[codes]
            for variance, codes in zip(truth, (questions, answers, judgements), strict=True)
        )
        result = variance_components(sum(effects), questions, answers)
        found.append(result.components if result is not None else ())
    errors = []
    for of_source, variance in zip(zip(*found, strict=True), truth, strict=True):
        mean = float(np.mean([one.variance for one in of_source]))
        shares = coverage((one.interval for one in of_source), variance / sum(truth))
        errors.append((mean - variance, shares))
    return errors


def _coverages(sets: int) -> Iterator[list[str]]:
    for share in (0.5, 0.95):
        for questions, rows in ((20, 1), (50, 1), (200, 1), (1000, 1), (50, 8), (200, 3)):
            codes = clusters_of(questions, rows)
            cells = percentile_coverage(share, codes, sets, seed=(questions, rows)).cells()
            yield [f"p{100 * share:.0f} of lognormal latencies", f"{questions:,} questions × {rows}", *cells]
    yield from _dominated(sets)
    for name, formula in (("pass@k", pass_at_k), ("pass^k", pass_hat_k)):
        for k in (1, 3):
            bias, result = pass_rates(formula, 5, k, 50, sets)
            yield [f"{name}, k = {k} (mean error {bias:+.4f})", "50 questions × 5 answers", *result.cells()]
    for source, (bias, result) in zip(SOURCES, component_errors((1.0, 0.5, 0.5), sets), strict=True):
        name = f"share of the {source} in the variance (mean error {bias:+.4f})"
        yield [name, "60 questions × 3 answers × 3 judgements", *result.cells()]


def _dominated(sets: int) -> Iterator[list[str]]:
    """Simulate percentiles if one question has a large part of the rows, and the others one row each."""
    for share, questions, part in product((0.5, 0.95), (60, 200), (0.1, 0.2, 0.4, 0.6)):
        codes = one_large_cluster(questions, part)
        results = [
            percentile_coverage(share, codes, sets, seed=(questions, len(codes)), shared=shared)
            for shared in (SHARED, 0.9)
        ]
        # The worse of the two correlations, for each column.
        cells = Coverage(*(max(each) for each in zip(*results, strict=True))).cells()
        data = f"{questions} questions, one with {100 * part:.0f} % of the rows"
        yield [f"p{100 * share:.0f} of lognormal latencies", data, *cells]


def _decisions(sets: int) -> Iterator[list[str]]:
    for questions, rows in ((50, 1), (100, 1), (200, 1), (1000, 1), (200, 3)):
        data = f"true p95 at the limit, {questions:,} questions × {rows}"
        yield ["gate on p95 passes", data, percent(gate_passes(questions, rows, sets))]
    for kind, questions, rows in (("any", 20, 1), ("any", 50, 1), ("any", 50, 3), ("0 or 1", 60, 1)):
        data = f"5 equal systems, {questions} questions × {rows}, {kind} values"
        yield ["Holm finds a difference", data, percent(false_letters(kind, 5, questions, rows, sets))]
    for kind in ("0 or 1", "skewed"):
        for means in RANKED:
            for questions in (30, 100):
                wrong, width = rank_errors(kind, means, questions, sets)
                data = f"5 systems with the means {means}, {questions} questions, {kind} values"
                yield [f"a rank interval ({width:.1f} of 5 ranks on average)", data, percent(wrong)]
        for size, mean, others in GROUPED:
            wrong, found = group_errors(kind, size, mean, others, sets)
            data = f"20 groups of {size} rows, means {mean}, except {others or 'none'}, {kind} values"
            yield [f"groups called better or worse ({percent(found)} found)", data, percent(wrong)]


def tables(sets: int) -> Iterator[str]:
    """Yield both tables."""
    yield section("Intervals", ("interval", "data", *ENDS), _coverages(sets))
    yield section("Decisions", ("decision", "data", "wrong"), _decisions(sets))
