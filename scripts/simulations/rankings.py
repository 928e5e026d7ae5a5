"""Intervals of AUROC, of the difference of two AUROCs, of Cohen's kappa and of a mean corrected by labels.

Scores are binormal, and two answers to the same question share half of their variance.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
from simulations.harness import ENDS, Coverage, clusters_of, correlated, coverage, section

from sgi.stats.agreement import cohen_kappa
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.prediction_powered import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from simulations.harness import Codes, Floats

    Labels = NDArray[np.bool_]

Design = Literal["one", "one or two", "pairs", "same label"]
DESIGNS: dict[Design, tuple[int, ...]] = {
    "one": (1,),
    "one or two": (1, 2),
    "pairs": (2,),
    "same label": (2,),
}
"""Answers of each question: with independent labels, or one of each label, or with the same label."""

SHARED = 0.5
QUESTIONS = (5, 12, 30, 100, 400)
AREAS = (0.5, 0.76, 0.9, 0.96, 0.99)
SHARES = (0.5, 0.3, 0.1)
PAIRS_OF_AREAS = ((0.5, 0.5), (0.76, 0.76), (0.96, 0.96), (0.99, 0.99), (0.9, 0.76), (0.99, 0.9))
JUDGES = ((0.1, 0.3), (0.05, 0.5), (0.02, 0.02))
"""Shares of good answers that the judge rejects, and of bad answers that it accepts."""


def _labels(generator: np.random.Generator, design: Design, clusters: Codes, share: float) -> Labels:
    """Draw the label of each row; ``share`` of them are positive, or half in pairs."""
    if design == "pairs":
        return np.asarray(np.arange(len(clusters)) % 2 == 0)
    if design == "same label":
        return np.asarray((generator.random(clusters[-1] + 1) < share)[clusters])
    return np.asarray(generator.random(len(clusters)) < share)


def _binormal(labels: Labels, noise: Floats, area: float) -> Floats:
    """Return binormal scores with this AUROC for independent rows."""
    return np.asarray(np.sqrt(2) * NormalDist().inv_cdf(area) * labels + noise)


def area_coverage(design: Design, questions: int, share: float, area: float, sets: int) -> Coverage:
    """Simulate the coverage of `auroc_interval`."""
    generator = np.random.default_rng((1, questions, int(1000 * share), int(1000 * area)))
    clusters = clusters_of(questions, DESIGNS[design])

    def interval() -> object:
        labels = _labels(generator, design, clusters, share)
        noise = correlated(generator, clusters, SHARED)
        return auroc_interval(_binormal(labels, noise, area), labels, clusters)

    return coverage((interval() for _ in range(sets)), area)


def difference_coverage(
    design: Design, questions: int, share: float, areas: tuple[float, float], sets: int
) -> Coverage:
    """Simulate the coverage of `auroc_difference`; the noise of the scores has the correlation 0.5."""
    generator = np.random.default_rng((2, questions, int(1000 * share), int(1000 * sum(areas))))
    clusters = clusters_of(questions, DESIGNS[design])

    def interval() -> object:
        labels, common = _labels(generator, design, clusters, share), correlated(generator, clusters, SHARED)
        noises = (np.sqrt(0.5) * (common + correlated(generator, clusters, SHARED)) for _ in areas)
        scores = [_binormal(labels, noise, area) for noise, area in zip(noises, areas, strict=True)]
        difference = auroc_difference(*scores, labels, clusters)
        return None if difference is None else difference.interval

    return coverage((interval() for _ in range(sets)), areas[0] - areas[1])


def kappa_coverage(n: int, share: float, kappa: float, sets: int) -> Coverage:
    """Simulate the coverage of `cohen_kappa` for two raters with the same share of yes."""
    generator = np.random.default_rng((3, n, int(1000 * share), int(1000 * kappa)))
    disagreement = share * (1 - share) * (1 - kappa)
    cells = [share - disagreement, disagreement, disagreement, 1 - share - disagreement]
    ratings = (generator.choice(4, size=n, p=cells) for _ in range(sets))
    return coverage((cohen_kappa(each < 2, each % 2 == 0).interval for each in ratings), kappa)


def corrected_coverage(
    labelled: int, share: float, judge: tuple[float, float], sets: int
) -> tuple[Coverage, float]:
    """Simulate the coverage of `prediction_powered_mean` over 1,000 rows, and its bias."""
    generator = np.random.default_rng((4, labelled, int(1000 * share), int(1000 * judge[0])))
    values, intervals = [], []
    for _ in range(sets):
        truth = generator.random(1000) < share
        verdicts = np.where(generator.random(1000) < np.where(truth, *judge), ~truth, truth)
        known = np.where(np.arange(1000) < labelled, truth, np.nan)
        mean = prediction_powered_mean(known, verdicts, bounds=(0.0, 1.0))
        if mean is not None:
            values.append(mean.value)
            intervals.append(mean.interval)
    return coverage(intervals, share), float(np.mean(values) - share)


def _shares(design: Design) -> tuple[float, ...]:
    return (0.5,) if design == "pairs" else SHARES


def tables(sets: int) -> Iterator[str]:
    """Yield all tables."""
    areas = (
        [design, str(n), f"{share:g}", f"{area:g}", *area_coverage(design, n, share, area, sets).cells()]
        for design in DESIGNS
        for n in QUESTIONS
        for share in _shares(design)
        for area in AREAS
    )
    columns = ("answers per question", "questions", "share positive")
    yield section("AUROC", (*columns, "AUROC", *ENDS), areas)
    both: tuple[Design, Design] = ("one or two", "pairs")
    differences = (
        [design, str(n), f"{share:g}", f"{pair}", *difference_coverage(design, n, share, pair, sets).cells()]
        for design in both
        for n in QUESTIONS[1:]
        for share in _shares(design)[::2]
        for pair in PAIRS_OF_AREAS
    )
    yield section("Difference of two AUROCs", (*columns, "AUROCs", *ENDS), differences)
    raters = (
        [str(n), f"{share:g}", f"{kappa:g}", *kappa_coverage(n, share, kappa, sets).cells()]
        for n in (12, 20, 50, 100)
        for share in (0.5, 0.9)
        for kappa in (0.0, 0.4, 0.8)
    )
    yield section("Cohen's kappa", ("rows", "share of yes", "kappa", *ENDS), raters)
    corrected = (
        [str(labelled), f"{share:g}", f"{judge}", *result.cells(), f"{bias:+.3f}"]
        for labelled in (12, 20, 50, 100, 200)
        for share in (0.5, 0.7, 0.9, 0.95, 0.98)
        for judge in JUDGES
        for result, bias in [corrected_coverage(labelled, share, judge, sets)]
    )
    columns = ("labels", "share good", "missed and passed")
    yield section("The mean of 1,000 rows corrected by labels", (*columns, *ENDS, "bias"), corrected)
