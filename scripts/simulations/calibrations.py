"""Calibrations with few labels: intervals of probabilities, and the check of a run.

Scores are standard normal, and the log odds that a row is grounded are intercept + slope·score + bend·score².
With a floor, scores are twice a t variable with 2 degrees of freedom (heavy tails), and at least this share
of the rows is grounded at any score. Rows of one question have an intraclass correlation of 0.5, in their
scores and in the normal variables behind their labels. Data sets with fewer rows of a label than `sgi
calibrate` needs are drawn again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from scipy import stats
from simulations.harness import clusters_of, correlated, percent, section

from sgi.analysis.calibrate import MIN_OF_LABEL
from sgi.engine.calibration_check import LEVEL
from sgi.metrics.grounding.grounding_model import sigmoid
from sgi.stats.conformal import conformal_threshold, length_thresholds, one_row_per_cluster, stratum_of
from sgi.stats.logistic_map import fit_logistic
from sgi.stats.prediction_powered import prediction_powered_mean
from sgi.stats.two_samples import UNLIKELY, compare_labelled, compare_samples
from sgi.store.label_consensus import drawn_order, drawn_probabilities, uncertainty_chances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from simulations.harness import Codes, Floats

PLACES = (-1.6, -0.7, 0.0, 0.7, 1.6)
HEAVY_PLACES = (-8.0, -4.0, -2.0, 0.0, 2.0)
SHARED = 0.5
SIZES = ((30, 100), (30, 300), (200, 300))
"""Labelled rows and rows of a run, each of a question of its own."""

LENGTHS = (4.0, 0.6)
"""Mean and standard deviation of the logarithm of the length of a response."""

RUNS = {
    "like the calibration": (0.0, 0.0, 0.0),
    "scores lower by 0.5 standard deviations": (-0.5, 0.0, 0.0),
    "scores lower by 1 standard deviation": (-1.0, 0.0, 0.0),
    "30 % of the rows without a value": (0.0, 0.3, 0.0),
    "lengths twice as long": (0.0, 0.0, float(np.log(2))),
}
"""The shift of the scores of a run, the share of rows without a value, and the shift of the log lengths."""


class Case(NamedTuple):
    """A population (the logistic map is wrong if ``bend`` is not 0), and the rows of each question."""

    questions: int
    rows: int
    intercept: float
    slope: float
    bend: float = 0.0
    floor: float = 0.0

    @property
    def places(self) -> Floats:
        """Scores at which the interval is compared with the true probability."""
        return np.array(HEAVY_PLACES if self.floor else PLACES)

    def probability(self, scores: Floats) -> Floats:
        """Return the true probability of the scores."""
        odds = self.intercept + self.slope * scores + self.bend * scores**2
        return self.floor + (1 - self.floor) * sigmoid(odds)

    def draw(self, generator: np.random.Generator) -> tuple[Floats, NDArray[np.bool_], Codes]:
        """Draw scores, labels and the question of each row."""
        codes = clusters_of(self.questions, self.rows)
        while True:
            scores, latent = (correlated(generator, codes, SHARED) for _ in range(2))
            if self.floor:
                scores = 2 * stats.t.ppf(stats.norm.cdf(scores), 2)
            labels = stats.norm.cdf(latent) < self.probability(scores)
            if min(labels.sum(), (~labels).sum()) >= MIN_OF_LABEL:
                return scores, labels, codes


CASES = (
    *(Case(30, 1, 0.0, slope) for slope in (0.0, 0.3, 1.0, 2.0, 4.0, 8.0)),
    *(Case(30, 1, intercept, 1.5) for intercept in (-1.0, 1.0)),
    *(Case(questions, rows, 0.0, 1.5) for questions, rows in ((15, 2), (15, 4), (30, 2), (100, 1), (100, 3))),
    *(Case(questions, 1, 0.0, 1.5, bend) for questions, bend in ((400, 0.0), (30, 0.3), (400, 0.3))),
    *(Case(questions, 1, 0.0, 1.0, floor=0.03) for questions in (30, 100, 300)),
)


class Misses(NamedTuple):
    """How often each end of an interval is wrong at each place, and how often the check warns."""

    above: Floats
    below: Floats
    width: float
    warned: float


def misses(case: Case, sets: int) -> Misses:
    """Compare the intervals of a case with the true probability."""
    generator, places = np.random.default_rng(0), case.places
    truth = case.probability(places)
    fitted = [fit_logistic(*case.draw(generator)) for _ in range(sets)]
    lows, highs = np.array([one.interval(places) for one in fitted]).transpose(1, 0, 2)
    return Misses(
        (truth < lows).mean(axis=0),
        (truth > highs).mean(axis=0),
        float((highs - lows).mean()),
        sum(not one.fits for one in fitted) / sets,
    )


def differs(labelled: int, rows: int, run: tuple[float, float, float], sets: int) -> float:
    """Return how often a run is said to differ from its calibration, by its scores or its lengths."""
    generator = np.random.default_rng(0)
    shift, undefined, longer = run

    def warned() -> bool:
        values = generator.normal(shift, 1.0, rows)
        values[generator.random(rows) < undefined] = -np.inf
        lengths = generator.lognormal(LENGTHS[0] + longer, LENGTHS[1], rows)
        tests = (
            compare_samples(generator.normal(size=labelled), values),
            compare_samples(generator.lognormal(*LENGTHS, labelled), lengths),
        )
        return any(test.p <= LEVEL / 2 for test in tests)

    return sum(warned() for _ in range(sets)) / sets


GRADES = {"high": ((2.0, 1.2), (-1.0, 1.2)), "low": ((0.3, 1.5), (-1.5, 1.2))}
"""Mean and standard deviation of the log odds of the score, of right and of wrong answers."""

RIGHT = 0.6
POPULATION = 2000
FEW, MANY = 30, 300


class Selection(NamedTuple):
    """What labels of a run give, by how their rows were chosen.

    Attributes:
        error: mean absolute error of the probabilities of all rows, with few labels.
        flagged: share of the right rows that a threshold for 5 % flags, with many labels.
        noticed: share of the runs with many labels in which the check of the labelled rows warns.
        covered: share of the intervals of the corrected mean, with few labels, that contain the true share.
        width: their mean width.
    """

    error: float
    flagged: float
    noticed: float
    covered: float
    width: float


Way = Literal["at random", "nearest to the middle", "drawn by uncertainty"]


def _labelled_order(way: Way, odds: Floats, generator: np.random.Generator) -> tuple[Codes, Floats | None]:
    """Return the order in which rows are labelled, and the probability of a row among the first ``FEW``."""
    if way == "at random":
        return generator.permutation(POPULATION), None
    if way == "nearest to the middle":
        return np.argsort(np.abs(odds)), None
    chances = uncertainty_chances(odds, 0.0)
    ids = [str(number) for number in generator.integers(2**62, size=POPULATION)]
    order, keys = drawn_order(ids, chances)
    return order, drawn_probabilities(keys, chances, np.isin(np.arange(POPULATION), order[:FEW]))


def selection(grades: tuple[tuple[float, float], tuple[float, float]], sets: int, way: Way) -> Selection:
    """Label some rows of a run, and compare what the labels give with the truth."""
    generator = np.random.default_rng(0)
    errors, flagged, noticed, covered, widths = [], [], [], [], []
    while len(errors) < sets:
        labels = generator.random(POPULATION) < RIGHT
        odds = generator.normal(*np.where(labels, *np.array(grades)[:, :, None]))
        order, chances = _labelled_order(way, odds, generator)
        known = np.full(POPULATION, np.nan)
        known[order[:FEW]] = labels[order[:FEW]]
        mean = prediction_powered_mean(known, sigmoid(odds), probabilities=chances, bounds=(0.0, 1.0))
        if mean is not None and mean.interval is not None:
            covered.append(mean.interval.low <= RIGHT <= mean.interval.high)
            widths.append(mean.interval.high - mean.interval.low)
        few, many = order[:FEW], order[:MANY]
        if min(labels[few].sum(), (~labels[few]).sum()) < MIN_OF_LABEL:
            continue
        densities = [stats.norm.pdf(odds, *grade) for grade in grades]
        truth = RIGHT * densities[0] / (RIGHT * densities[0] + (1 - RIGHT) * densities[1])
        errors.append(np.abs(fit_logistic(odds[few], labels[few]).probability(odds) - truth).mean())
        threshold = conformal_threshold(odds[many][labels[many]], 0.05)
        flagged.append((odds[labels] < threshold).mean())
        test = compare_labelled(odds, np.isin(np.arange(POPULATION), many), np.arange(POPULATION))
        noticed.append(test is not None and test.p <= UNLIKELY)
    columns = (errors, flagged, noticed, covered, widths)
    return Selection(*(float(np.mean(column)) for column in columns))


RATE = 0.05
CONFIDENCE = 0.95
EVALUATED = 100_000
"""Questions on which the thresholds of all calibrations are evaluated."""


class Flagged(NamedTuple):
    """What the thresholds of many calibrations flag of the right answers to new questions.

    Attributes:
        mean: the mean share of questions, one answer each.
        above: share of the calibrations that flag more than ``RATE`` of the questions.
        above_in_a_range: share of the calibrations that do so in any range of length.
        rows: the mean share of rows.
    """

    mean: float
    above: float
    above_in_a_range: float
    rows: float


class Answers(NamedTuple):
    """Right answers: score, length and question of each row."""

    scores: Floats
    lengths: Floats
    codes: Codes

    @classmethod
    def draw(cls, generator: np.random.Generator, questions: int, *, unequal: bool) -> Answers:
        """Draw questions with one answer, or 30 % of them with five answers and lower scores.

        Scores also fall with the length of an answer.
        """
        many = generator.random(questions) < (0.3 if unequal else 0.0)
        codes = np.repeat(np.arange(questions), np.where(many, 5, 1))
        lengths = generator.lognormal(*LENGTHS, len(codes))
        scores = correlated(generator, codes, SHARED) - 2 * many[codes] - 0.5 * np.log(lengths)
        return cls(scores, lengths, codes)


def thresholds_flag(
    questions: int, bins: int, confidence: float | None, sets: int, *, unequal: bool
) -> Flagged:
    """Fit thresholds on one right answer of each question, and compare them with new questions."""
    generator = np.random.default_rng(0)
    new = Answers.draw(generator, EVALUATED, unequal=unequal)
    weights = 1 / np.bincount(new.codes)[new.codes]
    found = []
    for _ in range(sets):
        drawn = Answers.draw(generator, questions, unequal=unequal)
        rows = one_row_per_cluster(drawn.codes)
        fitted = length_thresholds(
            drawn.scores[rows], drawn.lengths[rows], RATE, bins=bins, confidence=confidence
        )
        flags = new.scores < fitted.of(new.lengths)
        ranges = stratum_of(new.lengths, fitted.edges)
        of_ranges = np.bincount(ranges, weights * flags) / np.bincount(ranges, weights)
        share = float(np.average(flags, weights=weights))
        found.append((share, share > RATE, (of_ranges > RATE).any(), flags.mean()))
    return Flagged(*np.mean(found, axis=0).tolist())


def _thresholds(sets: int) -> Iterator[list[str]]:
    for questions, bins, unequal in ((100, 1, False), (400, 4, False), (400, 1, True)):
        for confidence in (None, CONFIDENCE):
            cells = thresholds_flag(questions, bins, confidence, sets, unequal=unequal)
            answers = "1 or 5 answers each" if unequal else "1 answer each"
            promise = "on average" if confidence is None else percent(confidence)
            yield [f"{questions}, {answers}", str(bins), promise, *map(percent, cells)]


def _selections(sets: int) -> Iterator[list[str]]:
    for name, grades in GRADES.items():
        for way in get_args(Way):
            found = selection(grades, sets, way)
            shares = map(percent, (found.flagged, found.noticed, found.covered))
            yield [name, way, f"{found.error:.3f}", *shares, f"{found.width:.3f}"]


def _coverages(sets: int) -> Iterator[list[str]]:
    for case in CASES:
        above, below, width, warned = misses(case, sets)
        population = f"{case.intercept:g}, {case.slope:g}, {case.bend:g}, {case.floor:g}"
        shares = [*(1 - above - below), max(above.max(), below.max()), warned]
        yield [f"{case.questions} × {case.rows}", population, *map(percent, shares), f"{width:.2f}"]


def tables(sets: int) -> Iterator[str]:
    """Yield the tables."""
    places = [f"at {place:g} ({heavy:g})" for place, heavy in zip(PLACES, HEAVY_PLACES, strict=True)]
    ends = ("largest error of an end", "the check warns", "mean width")
    columns = ("questions × rows", "intercept, slope, bend, floor", *places, *ends)
    yield section("Coverage of the interval of a probability", columns, _coverages(sets))
    sizes = [f"{labelled} labelled, {rows} rows" for labelled, rows in SIZES]
    rows = ([name, *(percent(differs(*size, run, sets)) for size in SIZES)] for name, run in RUNS.items())
    yield section("A run is said to differ from its calibration", ("run", *sizes), rows)
    columns = ("questions", "ranges of length", "confidence", "mean share flagged")
    above = ("calibrations above 5 %", "above 5 % in a range", "mean share of rows")
    yield section("A threshold for 5 % of the right answers", (*columns, *above), _thresholds(sets))
    columns = (
        "scores",
        "labelled rows",
        "mean error, 30 labels",
        "right rows flagged for 5 %",
        "noticed",
        "corrected mean covered, 30 labels",
        "mean width",
    )
    yield section("How the labelled rows were chosen", columns, _selections(max(sets // 4, 1)))
