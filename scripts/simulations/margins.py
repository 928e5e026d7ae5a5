"""How often "no worse" and "equal" are shown although the true difference is at the margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats
from simulations.harness import clusters_of, correlated, percent, section

from sgi.analysis.margin import margin_tests
from sgi.stats.paired_tests import paired_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulations.harness import Floats

MARGIN = 0.05
SHARED = 0.3


class Losses(NamedTuple):
    """Differences with the mean −0.05, from standard normal variables.

    Attributes:
        name: name in the table.
        values: maps standard normal variables to differences within [−1, 1].
        rows: rows of each cluster.
    """

    name: str
    values: Callable[[Floats], Floats]
    rows: int = 1


def _steps(*parts: tuple[float, float]) -> Callable[[Floats], Floats]:
    """Return a map to a few values; each part is the share of a value in the population, and the value."""
    shares, values = zip(*parts, strict=True)
    ends = stats.norm.ppf(np.cumsum(shares)[:-1])
    return lambda z: np.asarray(values)[np.searchsorted(ends, z)]


def _bounded(z: Floats) -> Floats:
    return np.clip(z, -1.0, 1.0)


POPULATIONS = (
    Losses("normal, deviation 0.2", lambda z: _bounded(0.2 * z - MARGIN)),
    Losses("normal, deviation 0.2, 3 rows", lambda z: _bounded(0.2 * z - MARGIN), rows=3),
    Losses("pass/fail, 10 % lost, 5 % gained", _steps((0.1, -1.0), (0.85, 0.0), (0.05, 1.0))),
    Losses("pass/fail, 5 % lost", _steps((0.05, -1.0), (0.95, 0.0))),
    Losses("pass/fail, 20 % lost, 15 % gained", _steps((0.2, -1.0), (0.65, 0.0), (0.15, 1.0))),
    Losses("many small gains, 10 % lose 0.8", _steps((0.1, -0.8), (0.9, 1 / 30))),
    Losses("many small losses, 5 % gain 0.9", _steps((0.95, -0.1), (0.05, 0.9))),
    Losses("exponential losses", lambda z: _bounded(0.15 - 0.2 * _exponential(z))),
)


def _exponential(z: Floats) -> Floats:
    return np.asarray(stats.expon.ppf(stats.norm.cdf(z)))


def shown(losses: Losses, questions: int, metrics: int, sets: int) -> tuple[float, float]:
    """Return how often a metric is shown to be no worse, and how often to be equal, of so many metrics."""
    generator = np.random.default_rng((questions, metrics))
    codes = clusters_of(questions, losses.rows)
    no_worse = equal = 0
    for _ in range(sets):
        gaps = np.column_stack([losses.values(correlated(generator, codes, SHARED)) for _ in range(metrics)])
        results = paired_differences(
            np.zeros_like(gaps), gaps, codes, ranges=[1.0] * metrics, margins=[MARGIN] * metrics
        )
        verdicts = {test.verdict for test in margin_tests(MARGIN, results, [True] * metrics)}
        equal += "equal, shown" in verdicts
        no_worse += bool(verdicts & {"equal, shown", "no worse, shown"})
    return no_worse / sets, equal / sets


def _rows(sets: int) -> Iterator[list[str]]:
    for losses in POPULATIONS:
        for questions in (30, 60, 100):
            rates = shown(losses, questions, 1, sets)
            yield [losses.name, str(questions), "1", *map(percent, rates)]
    for losses in POPULATIONS[:1]:
        yield [losses.name, "60", "4", *map(percent, shown(losses, 60, 4, sets))]


def tables(sets: int) -> Iterator[str]:
    """Yield the table of error rates."""
    columns = ("differences, mean −0.05", "questions", "metrics", "no worse than 0.05", "equal within 0.05")
    yield section("Shown although the difference is at the margin", columns, _rows(sets))
