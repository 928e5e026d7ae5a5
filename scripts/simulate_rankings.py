"""Simulate the coverage of the intervals of AUROC and agreement coefficients.

    python scripts/simulate_rankings.py                # 300 data sets per row of a table, minutes
    python scripts/simulate_rankings.py --sets 3000    # a third of the standard error

Writes docs/results/ranking-intervals.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.reporting.table import Table
from sgi.stats.agreement import cohen_kappa
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.intervals import Interval
from sgi.stats.prediction_powered import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.bool_]
    Clusters = NDArray[np.int64]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "ranking-intervals.md"

Design = Literal["one", "one or two", "pairs", "same label"]
DESIGNS: dict[Design, str] = {
    "one": "one answer per question",
    "one or two": "one or two answers per question, with independent labels",
    "pairs": "one positive and one negative answer per question",
    "same label": "two answers per question, with the same label",
}
QUESTIONS = (5, 12, 30, 100, 400)
AREAS = (0.5, 0.76, 0.9, 0.96, 0.99)
SHARES = (0.5, 0.3, 0.1)
PAIRS_OF_AREAS = ((0.5, 0.5), (0.76, 0.76), (0.96, 0.96), (0.99, 0.99), (0.9, 0.76), (0.99, 0.9))
RATERS = tuple(
    (n, share, kappa) for n in (12, 20, 50, 100) for share in (0.5, 0.9) for kappa in (0.0, 0.4, 0.8)
)
LABELLED = (12, 20, 50, 100, 200)
JUDGES = ((0.1, 0.3), (0.05, 0.5), (0.02, 0.02))
MIN_INTERVALS = 30
"""With fewer intervals, the coverage is not printed."""


@dataclass(frozen=True)
class Coverage:
    """How often intervals cover the true value.

    Attributes:
        sets: number of simulated data sets.
        above: number of intervals above the true value.
        below: number of intervals below the true value.
        none: number of data sets without an interval.
    """

    sets: int
    above: int
    below: int
    none: int

    @classmethod
    def of(cls, intervals: Iterable[Interval | None], truth: float) -> Coverage:
        """Count the intervals that miss the true value."""
        every = list(intervals)
        known = [one for one in every if one is not None]
        return cls(
            len(every),
            sum(one.low > truth for one in known),
            sum(one.high < truth for one in known),
            len(every) - len(known),
        )

    @property
    def covered(self) -> float:
        """Share of the intervals that cover the true value; NaN with too few intervals."""
        count = self.sets - self.none
        return 1 - (self.above + self.below) / count if count >= MIN_INTERVALS else float("nan")

    def cells(self) -> list[str]:
        """Format coverage, both one-sided misses and the share without an interval, in percent."""
        count = self.sets - self.none
        none = f"{100 * self.none / self.sets:.0f}"
        if count < MIN_INTERVALS:
            return ["–", "–", "–", none]
        missed = [f"{100 * side / count:.1f}" for side in (self.above, self.below)]
        return [f"{100 * self.covered:.1f}", *missed, none]


def clusters_of(design: Design, questions: int) -> Clusters:
    """Return the question of each row."""
    sizes = {"one": [1], "one or two": [1, 2]}.get(design, [2])
    return np.repeat(np.arange(questions), np.resize(sizes, questions))


def labels_of(generator: np.random.Generator, design: Design, clusters: Clusters, share: float) -> Labels:
    """Draw the label of each row; ``share`` of them are positive, or half in pairs."""
    if design == "pairs":
        return np.asarray(np.arange(len(clusters)) % 2 == 0)
    if design == "same label":
        return np.asarray((generator.random(clusters[-1] + 1) < share)[clusters])
    return np.asarray(generator.random(len(clusters)) < share)


def noise(generator: np.random.Generator, clusters: Clusters) -> Floats:
    """Draw standard normal noise; rows of the same question share half of the variance."""
    shared, own = generator.normal(size=clusters[-1] + 1)[clusters], generator.normal(size=len(clusters))
    return np.asarray(np.sqrt(0.5) * (shared + own))


def binormal_scores(labels: Labels, noise: Floats, area: float) -> Floats:
    """Return binormal scores with this AUROC for independent rows."""
    return np.asarray(np.sqrt(2) * NormalDist().inv_cdf(area) * labels + noise)


def area_coverage(design: Design, questions: int, share: float, area: float, sets: int) -> Coverage:
    """Simulate the coverage of `auroc_interval`."""
    generator = np.random.default_rng((1, questions, int(1000 * share), int(1000 * area)))
    clusters = clusters_of(design, questions)

    def simulate() -> Interval | None:
        labels = labels_of(generator, design, clusters, share)
        interval = auroc_interval(binormal_scores(labels, noise(generator, clusters), area), labels, clusters)
        return interval if isinstance(interval, Interval) else None

    return Coverage.of((simulate() for _ in range(sets)), area)


def difference_coverage(
    design: Design,
    questions: int,
    share: float,
    areas: tuple[float, float],
    sets: int,
    *,
    shared: float = 0.5,
) -> Coverage:
    """Simulate the coverage of `auroc_difference` for scores with correlated noise (``shared``)."""
    generator = np.random.default_rng((2, questions, int(1000 * share), int(1000 * sum(areas))))
    clusters = clusters_of(design, questions)

    def simulate() -> Interval | None:
        labels, common = labels_of(generator, design, clusters, share), noise(generator, clusters)
        first, second = (
            binormal_scores(
                labels, np.sqrt(shared) * common + np.sqrt(1 - shared) * noise(generator, clusters), area
            )
            for area in areas
        )
        difference = auroc_difference(first, second, labels, clusters)
        return None if difference is None else difference.interval

    return Coverage.of((simulate() for _ in range(sets)), areas[0] - areas[1])


def kappa_coverage(n: int, share: float, kappa: float, sets: int) -> Coverage:
    """Simulate the coverage of `cohen_kappa` for two raters with the same share of yes."""
    generator = np.random.default_rng((3, n, int(1000 * share), int(1000 * kappa)))
    disagreement = share * (1 - share) * (1 - kappa)
    cells = [share - disagreement, disagreement, disagreement, 1 - share - disagreement]
    ratings = (generator.choice(4, size=n, p=cells) for _ in range(sets))
    return Coverage.of((cohen_kappa(each < 2, each % 2 == 0).interval for each in ratings), kappa)  # noqa: PLR2004


def corrected_coverage(
    labelled: int, share: float, judge: tuple[float, float], sets: int
) -> tuple[Coverage, float, float]:
    """Simulate the coverage of `prediction_powered_mean` over 1,000 rows, its bias and mean width."""
    generator = np.random.default_rng((4, labelled, int(1000 * share), int(1000 * judge[0])))
    values, intervals = [], []
    for _ in range(sets):
        truth = generator.random(1000) < share
        verdicts = np.where(generator.random(1000) < np.where(truth, judge[0], judge[1]), ~truth, truth)
        known = np.where(np.arange(1000) < labelled, truth, np.nan)
        mean = prediction_powered_mean(known, verdicts, bounds=(0.0, 1.0))
        if mean is not None:
            values.append(mean.value)
            intervals.append(mean.interval)
    width = np.mean([one.high - one.low for one in intervals if one is not None])
    return Coverage.of(intervals, share), float(np.mean(values) - share), float(width)


def _shares(design: Design) -> tuple[float, ...]:
    return (0.5,) if design == "pairs" else SHARES


_MISSES = ("covered, %", "lower limit too high, %", "upper limit too low, %", "no interval, %")


def _areas(sets: int) -> Iterator[str]:
    yield "## AUROC"
    for design, words in DESIGNS.items():
        yield f"### {words[0].upper()}{words[1:]}"
        rows = [
            (
                f"{questions}",
                f"{share:g}",
                f"{area:g}",
                *area_coverage(design, questions, share, area, sets).cells(),
            )
            for questions in QUESTIONS
            for share in _shares(design)
            for area in AREAS
        ]
        yield _table(("questions", "share positive", "AUROC", *_MISSES), rows)


def _differences(sets: int) -> Iterator[str]:
    yield "## Difference of two AUROCs"
    yield (
        "The noise of the two scores has the correlation 0.5. Where the two AUROCs are equal, 100 minus the"
        " coverage is the type I error."
    )
    rows = [
        (
            *(words, f"{questions}", f"{share:g}", f"{areas[0]:g} and {areas[1]:g}"),
            *difference_coverage(design, questions, share, areas, sets).cells(),
        )
        for design, words in DESIGNS.items()
        if design in {"one or two", "pairs"}
        for questions in QUESTIONS[1:]
        for share in _shares(design)[::2]
        for areas in PAIRS_OF_AREAS
    ]
    yield _table(("design", "questions", "share positive", "AUROCs", *_MISSES), rows)


def _raters(sets: int) -> Iterator[str]:
    yield "## Cohen's kappa of two raters with the ratings yes and no"
    rows = [
        (f"{n}", f"{share:g}", f"{k:g}", *kappa_coverage(n, share, k, sets).cells()) for n, share, k in RATERS
    ]
    yield _table(("rows", "share of yes", "kappa", *_MISSES), rows)


def _corrected(sets: int) -> Iterator[str]:
    yield "## The mean corrected by labels"
    yield (
        "1,000 rows, some of them labelled. *Missed and passed*: the shares of good answers that the judge"
        " rejects, and of bad answers that it accepts."
    )
    rows = []
    for labelled in LABELLED:
        for share in (0.5, 0.7, 0.9, 0.95, 0.98):
            for judge in JUDGES:
                result, bias, width = corrected_coverage(labelled, share, judge, sets)
                rates = f"{judge[0]:g} and {judge[1]:g}"
                rows.append(
                    (f"{labelled}", f"{share:g}", rates, *result.cells(), f"{bias:+.3f}", f"{width:.3f}")
                )
    yield _table(("labels", "share good", "missed and passed", *_MISSES, "bias", "width"), rows)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return Table(columns, rows).markdown()


def page(sets: int) -> str:
    """Return the results as Markdown."""
    error = 100 * np.sqrt(0.05 * 0.95 / sets)
    parts = [
        "# Coverage of the intervals of AUROC and agreement",
        (
            f"`python scripts/simulate_rankings.py --sets {sets}` writes this page. Each row has {sets:,}"
            f" simulated data sets, so a coverage of 95 % has a standard error of {error:.1f} points. The"
            " level of the intervals is 95 %. Scores are binormal, and two answers to the same question share"
            " half of their variance. A row without numbers has fewer than 30 intervals, because the rarer"
            " class occurs in fewer than five questions."
            " [Decision 0023](../decisions/0023-intervals-of-auroc-and-agreement.md)"
            " explains the methods."
        ),
    ]
    for part in (_areas, _differences, _raters, _corrected):
        parts += part(sets)
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sets", type=int, default=300, help="data sets per row of a table")
    PAGE.write_text(page(options.parse_args().sets), encoding="utf-8")


if __name__ == "__main__":
    main()
