"""Duels by a simulated judge that prefers the response shown first and the longer one.

The judge's log odds for the first of two responses are θ + β·order + γ·doublings of its length + u. θ is the
difference of the systems, u a normal effect of the question. A part of the replies are ties. The results are
those of `criterion_duel`, from single replies as `duel` stores them.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from simulations.harness import ENDS, coverage, percent, section

from sgi.analysis.duel.duel import outcome_of
from sgi.analysis.duel.duel_criteria import MAX_AA_QUESTIONS
from sgi.analysis.duel.duel_estimates import criterion_duel, with_adjusted_p
from sgi.analysis.duel.duel_result import DuelRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulations.harness import Floats

    from sgi.analysis.duel.duel_result import CriterionDuel

CHARACTERS = 1500
"""Median length of the responses of a system with the length 1."""
EQUAL = 0.5
LEVEL = 0.05
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


class Judge(NamedTuple):
    """A simulated judge.

    Attributes:
        first: how often it prefers the first of two equal responses, with ties as ½.
        slope: log odds for each doubling of the length.
        questions: standard deviation of the log odds between questions.
        ties: share of ties.
        levels_off: whether the effect of the length levels off: 1.5·tanh(x/1.5) instead of x.
    """

    first: float = 0.63
    slope: float = 1.0
    questions: float = 0.5
    ties: float = 0.15
    levels_off: bool = False

    def rate(self, odds: float, spread: float) -> float:
        """Return the expected preference, with ties as ½, at log odds with this deviation."""
        chance = float(_WEIGHTS @ (1 / (1 + np.exp(-odds - spread * _NODES)))) / float(_WEIGHTS.sum())
        return self.ties / 2 + (1 - self.ties) * chance

    def odds(self, rate: float, spread: float) -> float:
        """Return the log odds with this expected preference."""
        return float(brentq(lambda odds: self.rate(odds, spread) - rate, -30, 30))


class Data(NamedTuple):
    """The compared systems.

    Attributes:
        rates: the true win rate of each system against the last one, at equal length.
        lengths: how long the responses of each system are.
        questions: number of questions.
        spread: standard deviation of the doublings between two responses to a question.
        two_answers: whether each system has two answers to a question.
    """

    rates: tuple[float, ...] = (EQUAL, EQUAL)
    lengths: tuple[float, ...] = (1.0, 1.0)
    questions: int = 100
    spread: float = 0.6
    two_answers: bool = False


BETTER = ("response_1", "response_2", "tie")


def draw(judge: Judge, data: Data, generator: np.random.Generator) -> list[DuelRow]:
    """Return the rows of one duel with its A/A test."""
    n, systems = data.questions, len(data.rates)
    strengths = [judge.odds(rate, judge.questions) for rate in data.rates]
    lead = judge.odds(judge.first, 0.0)
    shape = (2, n, systems)  # two answers of each system
    quality = np.array(strengths) + generator.normal(0, judge.questions / math.sqrt(2), shape)
    sizes = np.log2(data.lengths) + generator.normal(0, data.spread / math.sqrt(2), shape)
    characters = np.maximum(np.round(CHARACTERS * 2**sizes), 1)
    tested = np.linspace(0, n - 1, min(MAX_AA_QUESTIONS, n)).round().astype(int)
    other = int(data.two_answers)
    aa = [(q, turn % systems, 0, turn % systems, other) for turn, q in enumerate(tested.tolist())]
    pairs = [(q, i, 0, j, 0) for q in range(n) for i, j in combinations(range(systems), 2)]
    q, i, one, j, two = np.array(aa + pairs).T
    doublings = np.log2(characters[one, q, i] / characters[two, q, j])
    longer = 1.5 * np.tanh(doublings / 1.5) if judge.levels_off else doublings
    odds = quality[one, q, i] - quality[two, q, j] + judge.slope * longer
    choices = np.stack([_choices(judge, lead + sign * odds, generator) for sign in (1, -1)])
    lengths = np.stack([characters[one, q, i], characters[two, q, j]]).astype(int)
    return [
        _row(*columns, (first, second), same=first == second and answer == other)
        for *columns, first, second, answer, other in zip(
            q.tolist(), choices.T.tolist(), lengths.T.tolist(), i, j, one, two, strict=True
        )
    ]


def _choices(judge: Judge, odds: Floats, generator: np.random.Generator) -> Floats:
    """Return the choices as places in `BETTER`."""
    second = generator.random(len(odds)) > 1 / (1 + np.exp(-odds))
    return np.where(generator.random(len(odds)) < judge.ties, 2, second)


def _row(
    question: int, choices: list[int], lengths: list[int], systems: tuple[int, int], *, same: bool
) -> DuelRow:
    one, two = (f"system {number}" for number in systems)
    better = tuple(BETTER[choice] for choice in choices[: 1 if same else 2])
    outcome = outcome_of(better[0], better[-1])
    return DuelRow("", str(question), question, one, two, outcome, better, same=same, lengths=tuple(lengths))


def results(judge: Judge, data: Data, sets: int) -> list[CriterionDuel]:
    """Return the results of simulated duels."""
    generator = np.random.default_rng(data.questions)
    names = [f"system {number}" for number in range(len(data.rates))]
    return [
        criterion_duel("simulated", names, draw(judge, data, generator), with_aa=True) for _ in range(sets)
    ]


def excludes(interval: object, value: float) -> bool:
    """Return whether there is an interval without the value."""
    return interval is not None and not interval.low <= value <= interval.high


AA = (
    ("one text with itself", Judge(), Data(questions=30)),
    ("one text with itself", Judge(), Data()),
    ("one text with itself, the first system 1.5 times as long", Judge(), Data(lengths=(1.5, 1.0))),
    ("the same, the first system wins 65 %", Judge(), Data((0.65, EQUAL), (1.5, 1.0))),
    ("the same, questions with a deviation of 1.0", Judge(questions=1.0), Data((0.65, EQUAL), (1.5, 1.0))),
    ("two answers", Judge(), Data(two_answers=True)),
    (
        "two answers, the first system wins 65 % and is 1.5 times as long",
        Judge(),
        Data((0.65, EQUAL), (1.5, 1.0), two_answers=True),
    ),
)


def _aa(sets: int) -> Iterator[list[str]]:
    for name, judge, data in AA:
        found = [one.aa for one in results(judge, data, sets)]
        raw = np.mean([one.shown_first for one in found]) - EQUAL
        after = np.array([one.after for one in found])
        covered = coverage([one.after_interval for one in found], 0.0).covered
        seen = np.mean([excludes(one.interval, EQUAL) for one in found])
        cells = [f"{100 * value:+.1f}" for value in (raw, after.mean())]
        yield [
            name,
            str(data.questions),
            *cells,
            f"{100 * after.std():.1f}",
            percent(covered),
            percent(float(seen)),
        ]


PAIRS = (
    *(("", Judge(), Data(lengths=(ratio, 1.0), questions=n)) for ratio in (1.0, 1.5) for n in (30, 100, 300)),
    *(("", Judge(), Data((0.65, EQUAL), (ratio, 1.0), n)) for ratio in (1.0, 1.5) for n in (30, 100, 300)),
    ("", Judge(), Data((0.9, EQUAL), questions=30)),
    ("", Judge(), Data((0.9, EQUAL), (1.5, 1.0), 100)),
    ("two answers", Judge(), Data(lengths=(1.5, 1.0), two_answers=True)),
    ("two answers", Judge(), Data((0.65, EQUAL), (1.5, 1.0), two_answers=True)),
    ("lengths deviate by 0.3 doublings", Judge(), Data(lengths=(1.5, 1.0), spread=0.3)),
    ("lengths deviate by 0.3 doublings", Judge(), Data((0.65, EQUAL), (1.5, 1.0), spread=0.3)),
    ("questions with a deviation of 1.0", Judge(questions=1.0), Data(lengths=(1.5, 1.0))),
    ("questions with a deviation of 1.0", Judge(questions=1.0), Data((0.65, EQUAL), (1.5, 1.0))),
    ("the effect of the length levels off", Judge(levels_off=True), Data(lengths=(1.5, 1.0))),
    ("95 % ties", Judge(0.51, ties=0.95), Data(lengths=(1.5, 1.0), questions=30)),
)


def _pairs(sets: int) -> Iterator[list[str]]:
    for name, judge, data in PAIRS:
        found = [one.pairs[0] for one in results(judge, data, sets)]
        raw = [excludes(one.interval, EQUAL) for one in found]
        adjusted = [one.p is not None and one.p < LEVEL for one in found]
        covered = coverage([one.at_equal_length_interval for one in found], data.rates[0])
        shares = [percent(float(np.mean(each))) for each in (raw, adjusted)]
        yield [
            percent(data.rates[0]),
            f"{data.lengths[0]:g}",
            str(data.questions),
            name,
            *shares,
            *covered.cells(),
        ]


RANKED = (
    Data((EQUAL,) * 3, (1.5, 1.0, 1.0), 30),
    Data((EQUAL,) * 3, (1.5, 1.0, 1.0), 100),
    Data((0.8, 0.65, EQUAL), (1.0, 1.5, 1.0), 30),
    Data((0.8, 0.65, EQUAL), (1.0, 1.5, 1.0), 100),
    Data((0.8, 0.7, 0.6, 0.55, EQUAL), (1.0, 1.5, 1.0, 1.5, 1.0), 30),
)
MANY = 20_000


def strength_errors(data: Data, sets: int) -> tuple[float, list[float], float]:
    """Return how often any pair differs (Holm), and how often strengths of the worst system err."""
    judge = Judge()
    (truth,) = results(judge, data._replace(questions=MANY), 1)
    found = results(judge, data, sets)
    ends, none = np.zeros(2), 0.0
    for system in truth.systems:
        own = [next(one for one in each.systems if one.system == system.system).interval for each in found]
        covered = coverage(own, system.strength)
        ends, none = np.fmax(ends, [covered.above, covered.below]), max(none, covered.none)
    pairs = [with_adjusted_p([one])[0].pairs for one in found]
    named = np.mean(
        [any(pair.adjusted_p is not None and pair.adjusted_p < LEVEL for pair in each) for each in pairs]
    )
    return float(named), ends.tolist(), none


def _strengths(sets: int) -> Iterator[list[str]]:
    for data in RANKED:
        named, ends, none = strength_errors(data, sets)
        rates = ", ".join(percent(rate) for rate in data.rates)
        lengths = ", ".join(f"{length:g}" for length in data.lengths)
        yield [rates, lengths, str(data.questions), *map(percent, (named, *ends, none))]


def tables(sets: int) -> Iterator[str]:
    """Yield the tables."""
    aa = ("raw, points", "corrected, points", "standard deviation", "covered", "raw interval excludes 50 %")
    yield section("A/A test", ("data", "questions", *aa), _aa(sets))
    pairs = ("win rate", "length", "questions", "data", "found, raw", "found at equal length", *ENDS)
    yield section("Win rates at equal length", pairs, _pairs(sets))
    strengths = ("win rates against the last", "lengths", "questions", "any pair found (Holm)", *ENDS[1:])
    yield section("Strengths, worst system", strengths, _strengths(sets))
