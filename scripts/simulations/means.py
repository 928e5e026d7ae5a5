"""Intervals of means, weighted means and paired differences, gates on a drop, and the detectable difference.

Values are drawn in clusters of one row or of 1 to 8 rows (intraclass correlation 0.3).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

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

from sgi.stats.intervals import effective_clusters
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import holm, paired_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simulations.harness import Codes, Floats

    Uniform = Callable[[Floats], Floats]
    """Values of rows as a function of a uniform variable."""
    Weights = Callable[[Floats, Floats], Floats]
    """Weights as a function of the uniform variable of the values and of an independent one."""

SHARED = 0.3
MAX_ROWS = 8
CLUSTERS = (5, 12, 30, 100, 400)
SHARED_LARGE = 0.9
"""Share of the variance between the clusters if one of them is large: then it matters most."""
PARTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8)
"""Parts of the rows that are in the largest cluster; the others have one row each."""
_WIDE = 1e3
"""Width of the scale for normal values, so that also few clusters have an interval."""
MAX_DROP = 0.02
"""Limit of the gate; the true drop is three times as large."""


class Population(NamedTuple):
    """A distribution of values.

    Attributes:
        name: its name in the tables.
        mean: the true mean.
        values: maps standard normal variables to values.
        low: the least possible value; None if there is none.
        high: the greatest possible value; None if there is none.
    """

    name: str
    mean: float
    values: Callable[[Floats], Floats]
    low: float | None = None
    high: float | None = None

    def draw(self, generator: np.random.Generator, clusters: int, rows: int) -> tuple[Floats, Codes]:
        """Draw values and their clusters, with 1 to ``rows`` rows each."""
        codes = clusters_of(clusters, generator.integers(1, rows + 1, size=clusters))
        return self.values(correlated(generator, codes, SHARED)), codes


def _uniform(z: Floats) -> Floats:
    return np.asarray(stats.norm.cdf(z))


def _inflated(mass: float) -> Population:
    name = f"{mass:.0%} at 1, others uniform"
    return Population(
        name, mass + (1 - mass) / 2, lambda z: np.minimum(1.0, _uniform(z) / (1 - mass)), 0.0, 1.0
    )


def _share(share: float) -> Population:
    return Population(f"0 or 1, share {share:g}", share, lambda z: (_uniform(z) < share) * 1.0, 0.0, 1.0)


def _changed(name: str, mean: float, values: Callable[[Floats], Floats]) -> Population:
    """Return a population of differences, as a function of uniform variables."""
    return Population(name, mean, lambda z: values(_uniform(z)), -1.0, 1.0)


def _lost_and_gained(lost: float, gained: float) -> Population:
    name = f"0/1: {lost:.0%} lost, {gained:.0%} gained"
    return _changed(name, gained - lost, lambda u: (u > 1 - gained) * 1.0 - (u < lost))


def _mostly_unchanged(changed: float) -> Population:
    name = f"{1 - changed:.0%} unchanged, others −1 to 0.5"
    return _changed(name, -changed / 4, lambda u: np.where(u < changed, 1.5 * u / changed - 1, 0.0))


NORMAL = Population("normal", 0.0, lambda z: z)
MEANS = (
    NORMAL,
    Population("t of 3 degrees of freedom", 0.0, lambda z: np.asarray(stats.t.ppf(_uniform(z), 3))),
    Population("lognormal", math.exp(0.5), np.exp),
    Population("beta(8, 1)", 8 / 9, lambda z: _uniform(z) ** (1 / 8), 0.0, 1.0),
    Population("normal, 0.4 ± 0.1, on [0, 1]", 0.4, lambda z: np.clip(0.4 + 0.1 * z, 0, 1), 0.0, 1.0),
    *map(_inflated, (0.05, 0.5, 0.92)),
    *map(_share, (0.5, 0.8, 0.95, 0.99)),
)
DIFFERENCES = (
    Population("normal, 0.02 ± 0.1", 0.02, lambda z: np.clip(0.02 + 0.1 * z, -1, 1), -1.0, 1.0),
    NORMAL,
    *(_lost_and_gained(*shares) for shares in ((0.06, 0.0), (0.02, 0.08), (0.1, 0.15))),
    _mostly_unchanged(0.1),
)
DROPS = (
    _changed("6% of rows fall by 1", -3 * MAX_DROP, lambda u: -1.0 * (u < 3 * MAX_DROP)),
    _changed("12% of rows fall by 0.5", -3 * MAX_DROP, lambda u: -0.5 * (u < 6 * MAX_DROP)),
)

SKEWED = ((30, 0.1, 0.5), (60, 0.05, 0.9), (100, 0.05, 0.9))
"""Questions, the share of large losses, and their size."""


def _normal(uniform: Floats) -> Floats:
    return np.asarray(stats.norm.ppf(uniform))


WEIGHTED_TRUTH = 2_000_000
WEIGHTED_VALUES: dict[str, Uniform] = {
    "uniform": lambda u: u,
    "beta(8, 1)": lambda u: u ** (1 / 8),
    "50% at 1, others uniform": lambda u: np.minimum(1.0, 2 * u),
    "0 or 1, share 0.8": lambda u: (u < 0.8) * 1.0,
    "0 or 1, share 0.95": lambda u: (u < 0.95) * 1.0,
}
WEIGHTS: dict[str, Weights] = {
    "lognormal, independent": lambda _, v: np.exp(_normal(v)),
    "lognormal, higher for good rows": lambda u, _: np.exp(_normal(u)),
    "lognormal, higher for bad rows": lambda u, _: np.exp(-_normal(u)),
    "10% of rows 20 times": lambda _, v: np.where(v < 0.1, 20.0, 1.0),
    "3% of rows 30 times": lambda _, v: np.where(v < 0.03, 30.0, 1.0),
}


def mean_coverage(population: Population, clusters: int, rows: int, sets: int) -> Coverage:
    """Simulate the coverage of `mean_interval`."""
    generator = np.random.default_rng((clusters, rows))
    drawn = (population.draw(generator, clusters, rows) for _ in range(sets))
    made = (mean_interval(*data, low=population.low, high=population.high) for data in drawn)
    return coverage(made, population.mean)


def weighted_coverage(values: Uniform, weights: Weights, rows: int, sets: int) -> tuple[Coverage, float]:
    """Simulate the coverage of `mean_interval` with weights, and the mean effective number of rows."""
    large = np.random.default_rng(0).random((2, WEIGHTED_TRUTH))
    truth = float(np.average(values(large[0]), weights=weights(*large)))
    generator = np.random.default_rng(rows)
    made, effective = [], 0.0
    for _ in range(sets):
        uniform = generator.random((2, rows))
        mass = weights(*uniform)
        made.append(mean_interval(values(uniform[0]), weights=mass, low=0, high=1))
        effective += effective_clusters(mass) / sets
    return coverage(made, truth), effective


def dominated_coverage(population: Population, clusters: int, part: float, sets: int) -> Coverage:
    """Simulate the coverage of `mean_interval` if one cluster has this part of the rows."""
    generator = np.random.default_rng((clusters, int(100 * part)))
    codes = one_large_cluster(clusters, part)
    drawn = (population.values(correlated(generator, codes, SHARED_LARGE)) for _ in range(sets))
    made = (mean_interval(each, codes, low=population.low, high=population.high) for each in drawn)
    return coverage(made, population.mean)


def difference_coverage(
    population: Population, clusters: int, rows: int, sets: int
) -> tuple[Coverage, float]:
    """Simulate the coverage of `paired_differences`, and how often a gate with ``MAX_DROP`` passes."""
    generator = np.random.default_rng((clusters, rows))
    ranges = None if population.high is None else [population.high]
    intervals = []
    for _ in range(sets):
        values, codes = population.draw(generator, clusters, rows)
        (difference,) = paired_differences(np.zeros(len(values)), values, codes, ranges=ranges)
        intervals.append(difference.interval)
    passed = sum(one is not None and one.low >= -MAX_DROP for one in intervals) / sets
    return coverage(intervals, population.mean), passed


def false_verdicts(questions: int, losses: float, loss: float, sets: int) -> float:
    """Simulate how often p is below 0.05 for many small gains and few large losses with a mean of 0."""
    generator = np.random.default_rng(questions)
    shape = (questions, sets)
    gaps = np.where(generator.random(shape) < losses, -loss, losses * loss / (1 - losses))
    gaps += generator.normal(0, 1e-4, shape)
    made = paired_differences(np.zeros(shape), gaps, ranges=[1.0] * sets)
    return float(np.mean([one.p is not None and one.p < 0.05 for one in made]))


def power(metrics: int, clusters: int, rows: int, sets: int) -> float:
    """Simulate the power of Holm's test for one true difference of the detectable size.

    The true difference is the root mean square of `PairedDifference.smallest` over 200 data sets, because its
    value for one data set is as uncertain as a standard error.
    """
    generator = np.random.default_rng((metrics, clusters))

    def compare(effect: float) -> tuple[float | None, float | None]:
        values, codes = NORMAL.draw(generator, clusters, rows)
        others = [correlated(generator, codes, SHARED) for _ in range(metrics - 1)]
        table = np.column_stack([values + effect, *others])
        differences = paired_differences(np.zeros_like(table), table, codes, ranges=[_WIDE] * metrics)
        return differences[0].smallest, holm([each.p for each in differences])[0]

    known = [smallest for smallest, _ in (compare(0.0) for _ in range(200)) if smallest]
    effect = math.sqrt(float(np.mean(np.square(known)))) if known else math.nan
    found = [p for _, p in (compare(effect) for _ in range(sets))]
    return float(np.mean([p is not None and p < 0.05 for p in found]))


def _covered(
    populations: Sequence[Population], simulate: Callable[[Population, int, int], Coverage]
) -> Iterator[list[str]]:
    for one in populations:
        for rows in (1, MAX_ROWS):
            for clusters in CLUSTERS:
                yield [one.name, str(rows), str(clusters), *simulate(one, clusters, rows).cells()]


def _dominated(sets: int) -> Iterator[list[str]]:
    for one in (MEANS[4], MEANS[3], MEANS[6], MEANS[9]):
        for clusters in (20, 60, 200):
            found = [dominated_coverage(one, clusters, part, sets) for part in PARTS]
            cells = [f"{percent(each.covered)} ({percent(max(each.above, each.below))})" for each in found]
            yield [one.name, str(clusters), *cells]


def tables(sets: int) -> Iterator[str]:
    """Yield all tables."""
    columns = ("values", "most rows of a cluster", "clusters", *ENDS)
    rows = _covered(MEANS, lambda one, clusters, rows: mean_coverage(one, clusters, rows, sets))
    yield section("Intervals of a mean", columns, rows)
    columns_of_weights = ("values", "weights", "rows", "effective rows", *ENDS)
    weighted = (
        [value, weight, str(rows), f"{effective:.0f}", *result.cells()]
        for value, values in WEIGHTED_VALUES.items()
        for weight, weights in WEIGHTS.items()
        for rows in (50, 200)
        for result, effective in [weighted_coverage(values, weights, rows, sets)]
    )
    yield section("Intervals of a weighted mean", columns_of_weights, weighted)
    columns = ("values, one large cluster", "clusters", *(f"{part:.0%} of the rows" for part in PARTS))
    yield section("Coverage (and the worse end) with one large cluster", columns, _dominated(sets))
    rows = _covered(
        DIFFERENCES, lambda one, clusters, rows: difference_coverage(one, clusters, rows, sets)[0]
    )
    columns = ("values", "most rows of a cluster", "clusters", *ENDS)
    yield section("Intervals of a paired difference", columns, rows)
    passed = (
        [one.name, str(questions), percent(difference_coverage(one, questions, 1, sets)[1])]
        for one in DROPS
        for questions in (5, 10, 30, 100, 300)
    )
    yield section("Gates with the limit 0.02 on a drop of 0.06", ("data", "questions", "passed"), passed)
    wrong = (
        [
            f"a loss of {loss} in {percent(losses)}",
            str(questions),
            percent(false_verdicts(questions, losses, loss, sets)),
        ]
        for questions, losses, loss in SKEWED
    )
    yield section("Verdicts on a mean difference of 0", ("data", "questions", "better or worse"), wrong)
    found = (
        [str(metrics), str(clusters), percent(power(metrics, clusters, 4, min(sets, 1000)))]
        for metrics in (1, 3, 10)
        for clusters in (12, 30, 100)
    )
    yield section("Power for the detectable difference", ("metrics", "clusters", "power"), found)
