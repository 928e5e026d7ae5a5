"""Power of the planned number of questions: the share of new samples that show what was planned.

Guesses are exact here. Pilots are small samples of a population whose value is known; the plan takes the
spread from them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats
from simulations.harness import clusters_of, correlated, percent, section

from sgi.stats import pilots
from sgi.stats.intervals import Interval
from sgi.stats.ranking import auroc
from sgi.stats.sample_size import Claim, Pilot, SampleSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simulations.harness import Codes, Floats

    Data = tuple[Floats, Floats]
    Draw = Callable[[Floats, np.random.Generator], Data]

SHARED = 0.3
"""Share of the variance between clusters of several rows."""
LARGE = 20_000
DEVIATION = 0.3
WIDE = 20.0
"""End of the scale of values that have no ends, so that also few of them have an interval."""
ACCURACY = 0.874


class Case(NamedTuple):
    """A population, what is planned for it, and its true value.

    Attributes:
        name: its name in the table.
        draw: draws two columns of rows of so many clusters from standard normal variables.
        pilot: makes a pilot of two columns and their clusters.
        claim: what the interval must show.
        value: the true value.
        guess: the pilot of a right guess; None if a guess cannot describe the population.
        rows: rows of each cluster.
    """

    name: str
    draw: Draw
    pilot: Callable[[Floats, Floats, Codes], Pilot]
    claim: Claim
    value: float
    guess: Pilot | None = None
    rows: int = 1

    def sample(self, generator: np.random.Generator, count: int) -> Pilot:
        """Draw a sample of so many clusters."""
        codes = clusters_of(count, self.rows)
        shared = SHARED if self.rows > 1 else 0.0
        return self.pilot(*self.draw(correlated(generator, codes, shared), generator), codes)

    def planned(self, generator: np.random.Generator, count: int) -> SampleSize:
        """Plan with a pilot of so many clusters; shift differences to the true value, as the plan does."""
        pilot = self.sample(generator, count)
        if self.pilot in {_difference, _binary_difference}:
            rows = np.arange(len(pilot.clusters))
            gaps = np.array([pilot.estimate(rows[[row]]) for row in rows])
            shifted = gaps + self.value - gaps.mean()
            width = (1.0 if self.pilot is _binary_difference else WIDE) + abs(self.value - gaps.mean())
            pilot = pilots.difference_pilot(np.zeros(len(gaps)), shifted, pilot.clusters, width=width)
        return SampleSize(pilot, self.claim, self.value)

    def is_shown(self, generator: np.random.Generator, count: int) -> bool:
        """Return whether a sample of so many clusters shows the claim."""
        drawn = self.sample(generator, count)
        rows = np.arange(len(drawn.clusters))
        interval = drawn.interval(rows, drawn.clusters, 0.95)
        reach = self.claim.reach(interval, self.value) if isinstance(interval, Interval) else math.inf
        return reach <= self.claim.margin(self.value)


def _uniform(z: Floats) -> Floats:
    return np.asarray(stats.norm.cdf(z))


def _below(z: Floats, share: float) -> Floats:
    """Return 1 for the lowest values, which are this share of the population, otherwise 0."""
    return (_uniform(z) < share).astype(np.float64)


def _no_second(values: Callable[[Floats], Floats]) -> Draw:
    return lambda z, _: (values(z), np.zeros(len(z)))


def _shares(share: float) -> Draw:
    return _no_second(lambda z: _below(z, share))


def _normal(mean: float) -> Draw:
    return _no_second(lambda z: mean + DEVIATION * z)


def _mean(values: Floats, _: Floats, codes: Codes) -> Pilot:
    return pilots.mean_pilot(values, codes, low=0.0, high=1.0)


def _unbounded(values: Floats, _: Floats, codes: Codes) -> Pilot:
    return pilots.mean_pilot(values, codes, low=-WIDE, high=WIDE)


def _difference(gaps: Floats, _: Floats, codes: Codes) -> Pilot:
    return pilots.difference_pilot(np.zeros(len(gaps)), gaps, codes, width=WIDE)


def _binary_difference(gaps: Floats, _: Floats, codes: Codes) -> Pilot:
    return pilots.difference_pilot(gaps < 0, gaps > 0, codes, width=1.0)


def _changed(changed: float, difference: float) -> Draw:
    lost, gained = (changed - difference) / 2, (changed + difference) / 2
    return _no_second(lambda z: 1 - _below(z, 1 - gained) - _below(z, lost))


def _scores(area: float, positives: float, grades: int | None) -> Draw:
    shift = float(stats.norm.ppf(area)) * math.sqrt(2)

    def draw(z: Floats, generator: np.random.Generator) -> Data:
        truth = (generator.random(len(z)) < positives).astype(np.float64)
        scores = z + shift * truth
        return np.asarray(scores if grades is None else np.round(np.clip(scores, 0, grades))), truth

    return draw


def _ratings(kappa: float, share: float) -> Draw:
    """Draw yes and no of two raters who both say yes to this share of the rows."""
    apart = share * (1 - share) * (1 - kappa)

    def draw(z: Floats, _: np.random.Generator) -> Data:
        # From the lowest values on: both yes, only the first, both no, only the second.
        return _below(z, share), _below(z, share - apart) + 1 - _below(z, 1 - apart)

    return draw


def _graded_area(area: float, positives: float) -> float:
    """Return the AUROC of the scores after rounding."""
    generator = np.random.default_rng(0)
    result = auroc(*_scores(area, positives, 2)(generator.normal(size=400_000), generator))
    assert result is not None
    return result


def _differences() -> Iterator[Case]:
    above, margin = Claim("above", 0.0), Claim("above", -0.05)
    guess = pilots.normal_difference_pilot(0.06, DEVIATION)
    yield Case("difference 0.06, normal", _normal(0.06), _difference, above, 0.06, guess)
    losses = _no_second(lambda z: np.asarray(0.06 + 0.2 * (1 - stats.expon.ppf(_uniform(z)))))
    yield Case("difference 0.06, exponential losses, 3 rows", losses, _difference, above, 0.06, rows=3)
    name, guess = "difference 0.06, pass/fail, 12 % change", pilots.changed_pilot(0.12, 0.06)
    yield Case(name, _changed(0.12, 0.06), _binary_difference, above, 0.06, guess)
    guess = pilots.normal_difference_pilot(0.0, DEVIATION)
    yield Case("no worse than 0.05, normal", _normal(0.0), _difference, margin, 0.0, guess)
    name, guess = "no worse than 0.05, pass/fail, 10 % change", pilots.changed_pilot(0.1, 0.0)
    yield Case(name, _changed(0.1, 0.0), _binary_difference, margin, 0.0, guess)


def _gates() -> Iterator[Case]:
    for share, limit in ((0.9, 0.8), (0.98, 0.95)):
        name, guess = f"gate, pass/fail, {share} > {limit}", pilots.share_pilot(share)
        yield Case(name, _shares(share), _mean, Claim("above", limit), share, guess)
    yield Case("gate, pass/fail, 0.9 > 0.8, 3 rows", _shares(0.9), _mean, Claim("above", 0.8), 0.9, rows=3)
    guess = pilots.normal_pilot(0.5, DEVIATION)
    yield Case("gate, normal, 0.5 > 0.4", _normal(0.5), _unbounded, Claim("above", 0.4), 0.5, guess)
    beta = _no_second(lambda z: np.asarray(stats.beta.ppf(_uniform(z), 8, 1)))
    yield Case("gate, beta(8, 1), 8/9 > 0.85", beta, _mean, Claim("above", 0.85), 8 / 9)


def _labels() -> Iterator[Case]:
    draw, guess = _scores(0.8, 0.3, None), pilots.normal_scores_pilot(0.8, 0.3)
    for name, claim in (("> 0.7", Claim("above", 0.7)), ("± 0.06", Claim("width", 0.06))):
        yield Case(f"AUROC 0.8 {name}, normal, 30 % yes", draw, pilots.auroc_pilot, claim, 0.8, guess)
    value, claim = _graded_area(0.8, 0.3), Claim("above", 0.65)
    name, draw = f"AUROC {value:.3f} > 0.65, three grades, 3 rows", _scores(0.8, 0.3, 2)
    yield Case(name, draw, pilots.auroc_pilot, claim, value, rows=3)
    for kappa, limit in ((0.7, 0.5), (0.9, 0.8)):
        name, guess = f"kappa {kappa} > {limit}, 30 % yes", pilots.kappa_shares_pilot(kappa, 0.3)
        claim = Claim("above", limit)
        yield Case(name, _ratings(kappa, 0.3), pilots.kappa_pilot, claim, kappa, guess)
    guess, claim = pilots.share_pilot(ACCURACY), Claim("above", 0.8)
    yield Case(f"accuracy {ACCURACY} > 0.8", _shares(ACCURACY), _mean, claim, ACCURACY, guess)


def cases() -> Iterator[Case]:
    """Yield the populations of the tables."""
    yield from _differences()
    yield from _gates()
    yield from _labels()


def _guessed(sets: int) -> Iterator[list[str]]:
    for place, case in enumerate(cases()):
        generator = np.random.default_rng((0, place))
        if case.guess is not None:
            count = SampleSize(case.guess, case.claim, case.value).needed()
            assert count is not None
            shown = sum(case.is_shown(generator, count) for _ in range(sets))
            yield [case.name, f"{count:,}", percent(shown / sets)]


def _piloted(sets: int) -> Iterator[list[str]]:
    for place, case in enumerate(cases()):
        generator = np.random.default_rng((1, place))
        truth = SampleSize(case.sample(generator, LARGE), case.claim, case.value).needed()
        assert truth is not None
        for clusters in (50, 200):
            counts, shown, inside = [], 0, 0
            for _ in range(sets):
                plan = case.planned(generator, clusters)
                count = plan.needed() if plan.is_reachable and not plan.pilot.is_constant else None
                if count is not None:
                    low, high = plan.spread_range(count)
                    counts.append(count)
                    shown += case.is_shown(generator, count)
                    inside += low <= truth <= high
            made = len(counts)
            yield [
                case.name, str(clusters), f"{truth:,}", f"{np.median(counts):,.0f}", percent(shown / made),
                percent(inside / made), percent(1 - made / sets),
            ]  # fmt: skip


def tables(sets: int) -> Iterator[str]:
    """Yield the tables of guesses and of pilots."""
    yield section("Power with a right guess", ("plan", "questions", "power"), _guessed(sets))
    columns = ("plan", "pilot", "questions needed", "planned (median)", "power", "range holds it", "no plan")
    yield section("Power with a pilot", columns, _piloted(sets))
