"""Controls of a detector card: matched rows, baselines, probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.analysis.agreement.report import Estimate
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.calibration import (
    brier,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.confounds import (
    CONTENT_PRECISION,
    baseline,
    matched_rows,
    permutation_control,
    stratified_auroc,
    trivial_baselines,
)
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.rank_resampling import average_precision_interval, bootstrap_interval
from sgi.stats.ranking import auroc, average_precision, fpr_at_recall, ranking
from sgi_lab.card.card import Calibration, MatchedControl, ShuffledControl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.calibration import CalibrationMethod
    from sgi.stats.confounds import Baseline, PermutationControl, StratifiedAuroc
    from sgi.stats.ranking import Ranking

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

Direction = Literal["higher", "lower", "either"]
"""Values of a baseline that count as grounded; ``either`` takes the direction that ranks better."""

ENOUGH_PAIRS = 50
"""Number of pairs at which no wider bins are tried (or half of the possible pairs, if that is less)."""

MIN_PAIRS = 10
"""Least number of balanced pairs; with fewer, unbalanced pairs are used and the card says so."""

MAX_IMBALANCE = 0.05
"""Matched rows are balanced if the AUROC of the matched variable alone is at most this far from 0.5."""

LENGTH = "length"
"""Name of the baseline of the length of the response."""

LENGTH_WIDTHS = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0)
PRECISION_WIDTHS = (0.0, 0.02, 0.05, 0.1)
RECALL = 0.95
_LOWER = {"shorter", "lower"}
_DECILES = np.arange(1, 10) / 10
_CHANCE = 0.5
_ERROR = 0.05
_MAPS: tuple[CalibrationMethod, ...] = ("platt", "isotonic")


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores with labels and clusters, and the settings of the bootstrap.

    Scores are finite, and higher for grounded rows. Rows with the same cluster are dependent.
    """

    scores: Floats
    grounded: NDArray[np.bool_]
    clusters: Rows
    draws: int
    seed: int

    def take(self, rows: Rows) -> LabelledScores:
        """Return a copy with the scores, labels and clusters of only some rows."""
        scores, grounded, clusters = self.scores[rows], self.grounded[rows], self.clusters[rows]
        return replace(self, scores=scores, grounded=grounded, clusters=clusters)

    def ranking(self, scores: Floats | None = None) -> Ranking | None:
        """Return the AUROC of the scores, or of ``scores`` over the rows where these are not NaN."""
        column = self.scores if scores is None else scores
        known = ~np.isnan(column)
        return ranking(column[known], self.grounded[known], self.clusters[known])

    def difference(self, others: Floats, *, comparisons: int = 1) -> AurocDifference | None:
        """Return the AUROC of the scores minus the AUROC of ``others``, over rows that have both.

        The interval is at 1 − 0.05/m for m comparisons (Bonferroni).
        """
        level = 1 - _ERROR / comparisons
        return auroc_difference(self.scores, others, self.grounded, self.clusters, level=level)

    def shuffled_control(self, scores: Floats | str) -> ShuffledControl:
        """Return the AUROC of scores with contexts of other questions, or the reason why there is none."""
        if isinstance(scores, str):
            return ShuffledControl(None, reason=scores)
        result = self.ranking(scores)
        if result is None:
            return ShuffledControl(None, reason="with shuffled contexts, a class has no scores left")
        return ShuffledControl(result, self.difference(scores))

    def average_precision(self) -> Estimate:
        """Return the average precision of finding the ungrounded answers, which have the lowest scores."""
        scores, ungrounded = -self.scores, ~self.grounded
        interval = average_precision_interval(scores, ungrounded, self.clusters, seed=self.seed)
        return Estimate(float(average_precision(scores, ungrounded) or np.nan), interval, len(scores))

    def false_positive_rate(self) -> Estimate:
        """Return the share of grounded answers flagged where 95 % of the ungrounded answers are flagged."""
        scores, ungrounded = -self.scores, ~self.grounded
        interval = bootstrap_interval(
            _false_positive_rate, scores, ungrounded, self.clusters, draws=self.draws, seed=self.seed
        )
        rate = _false_positive_rate(scores, ungrounded, None)
        return Estimate(np.nan if rate is None else rate, interval, len(scores))

    def permutation_control(self) -> PermutationControl | str:
        """Return the AUROC with permuted labels, or the reason why they cannot be permuted."""
        if not self._can_permute():
            return "no two groups of rows have one size and different labels"
        control = permutation_control(self.scores, self.grounded, self.clusters, seed=self.seed)
        return "a class has no rows" if control is None else control

    def _can_permute(self) -> bool:
        """Return whether labels can move within a cluster, or to another cluster of the same size."""
        codes = np.unique(self.clusters, return_inverse=True)[1]
        sizes = np.bincount(codes)
        grounded = np.bincount(codes, weights=self.grounded)
        mixed = (grounded > 0) & (grounded < sizes)
        kinds = len(np.unique(np.stack([sizes, grounded]), axis=1).T)
        return bool(mixed.any()) or kinds > len(np.unique(sizes))

    def auroc_within_deciles(self, values: Floats, scores: Floats | None = None) -> StratifiedAuroc | None:
        """Return the AUROC as `auroc_within` does, within deciles of ``values``, for rows with a value."""
        rows = np.flatnonzero(~np.isnan(values))
        if not len(rows):
            return None
        strata = np.searchsorted(np.unique(np.quantile(values[rows], _DECILES)), values[rows], side="right")
        return self.take(rows).auroc_within(strata, None if scores is None else scores[rows])

    def auroc_within(self, groups: Rows, scores: Floats | None = None) -> StratifiedAuroc | None:
        """Return the AUROC within groups, of the scores or of ``scores``; NaN rows are omitted."""
        column = self.scores if scores is None else scores
        known = ~np.isnan(column)
        return stratified_auroc(column[known], self.grounded[known], groups[known], self.clusters[known])


def _false_positive_rate(scores: Floats, labels: NDArray[np.bool_], weights: Floats | None) -> float | None:
    return fpr_at_recall(scores, labels, RECALL, weights)


@dataclass(frozen=True, eq=False)
class Baselines:
    """Trivial scores of the rows of a card, which do not depend on the meaning of the texts.

    ``lengths`` and ``precisions`` are None if unknown; ``others`` are values and direction by name.
    """

    lengths: Floats | None
    precisions: Floats | None
    others: Mapping[str, tuple[Floats, Direction]]

    def competitors(self, data: LabelledScores) -> tuple[Competitor, ...]:
        """Return the baselines that have an AUROC, length first."""
        labels, clusters = data.grounded, data.clusters
        own = {LENGTH: self.lengths, CONTENT_PRECISION: self.precisions}
        result = [
            Competitor.of(trivial, values)
            for trivial in trivial_baselines(
                labels, lengths=self.lengths, precisions=self.precisions, clusters=clusters
            )
            if (values := own[trivial.name]) is not None
        ]
        for name, (values, direction) in self.others.items():
            other = baseline(name, values, labels, clusters, direction=direction)
            result += [] if other is None else [Competitor.of(other, values)]
        return tuple(result)


@dataclass(frozen=True, eq=False)
class Competitor:
    """A trivial score that the score of the card is compared with.

    Its values are higher for grounded rows, NaN if unknown, shape (n,).
    """

    baseline: Baseline
    values: Floats

    @classmethod
    def of(cls, baseline: Baseline, values: Floats) -> Competitor:
        """Create a competitor from a baseline, with the sign of its values changed if lower is grounded."""
        return cls(baseline, -values if baseline.direction in _LOWER else values)

    def over(self, data: LabelledScores, rows: Rows) -> Competitor | None:
        """Return the competitor over a subset of the rows; None if it has no AUROC there."""
        values = self.values[rows]
        result = data.take(rows).ranking(values)
        return None if result is None else Competitor(replace(self.baseline, ranking=result), values)


def differences_from(data: LabelledScores, competitors: Sequence[Competitor]) -> dict[str, AurocDifference]:
    """Return the AUROC of the score minus each competitor's AUROC; the intervals hold together at 95 %."""
    count = len(competitors)
    differences = {
        competitor.baseline.name: data.difference(competitor.values, comparisons=count)
        for competitor in competitors
    }
    return {name: difference for name, difference in differences.items() if difference is not None}


def match_by(
    data: LabelledScores,
    values: Floats | None,
    widths: Sequence[float],
    competitors: Sequence[Competitor],
    shuffled: Floats | str,
) -> MatchedControl | None:
    """Return the AUROC over rows matched by ``values``, without NaN rows; None if no two rows match.

    ``widths`` of bins ascend. ``shuffled`` are scores with contexts of other questions, or the reason why
    there are none.
    """
    if values is None:
        return None
    width, rows = _matched_rows(data, values, widths)
    part = data.take(rows)
    result = part.ranking()
    if result is None:
        return None
    others = [other for competitor in competitors if (other := competitor.over(data, rows)) is not None]
    control = part.shuffled_control(shuffled if isinstance(shuffled, str) else shuffled[rows])
    baselines = tuple(other.baseline for other in others)
    return MatchedControl(width, len(rows) // 2, result, baselines, differences_from(part, others), control)


def _matched_rows(data: LabelledScores, values: Floats, widths: Sequence[float]) -> tuple[float, Rows]:
    """Return the width of the bins, and the rows matched within them.

    It takes the narrowest balanced bins with enough pairs. If there are none, it takes the balanced bins with
    most pairs, if these are at least `MIN_PAIRS`, otherwise the bins that are closest to balanced.
    """
    known = np.flatnonzero(~np.isnan(values))
    column, grounded = values[known], data.grounded[known]
    most = min(grounded.sum(), (~grounded).sum())
    enough, few = (min(pairs, most // 2) for pairs in (ENOUGH_PAIRS, MIN_PAIRS))
    balanced, unbalanced = (0.0, known[:0]), (0.0, known[:0])
    least = np.inf
    for width in widths:
        rows = matched_rows(column, grounded, width=width, seed=data.seed)
        area = auroc(column[rows], grounded[rows])
        if area is None:
            continue
        imbalance = abs(area - _CHANCE)
        if imbalance <= MAX_IMBALANCE:
            balanced = max((balanced, (width, known[rows])), key=lambda match: len(match[1]))
            if len(balanced[1]) >= 2 * enough:
                return balanced
        elif len(rows) >= 2 * few and imbalance < least:
            unbalanced, least = (width, known[rows]), imbalance
    return balanced if len(balanced[1]) >= 2 * few or not len(unbalanced[1]) else unbalanced


def fit_probabilities(data: LabelledScores) -> tuple[tuple[Calibration, ...], str]:
    """Return the quality of each map's out-of-fold probabilities, and why there is none (or "")."""
    try:
        folds = grouped_folds(data.grounded, data.clusters, seed=data.seed)  # the same for all maps
        constant, *maps = (
            out_of_fold_probabilities(data.scores, data.grounded, method=method, folds=folds)
            for method in ("base rate", *_MAPS)
        )
    except ValueError as error:
        return (), str(error)
    pairs = zip(_MAPS, maps, strict=True)
    return (
        *(_calibration(data, name, probabilities.round(2), constant) for name, probabilities in pairs),
        _calibration(data, "base rate", constant, None),
    ), ""


def _calibration(
    data: LabelledScores, method: str, probabilities: Floats, constant: Floats | None
) -> Calibration:
    truth = data.grounded
    return Calibration(
        method=method,
        error_of_width=expected_calibration_error(probabilities, truth),
        error_of_mass=expected_calibration_error(probabilities, truth, binning="mass"),
        brier=brier(probabilities, truth),
        gain=None if constant is None else _gain(data, probabilities, constant),
        reliability=reliability(probabilities, truth, binning="mass"),
    )


def _gain(data: LabelledScores, probabilities: Floats, constant: Floats) -> Estimate:
    """Return the mean squared error of the constant forecast minus the error of the probabilities."""
    gains = np.square(constant - data.grounded) - np.square(probabilities - data.grounded)
    interval = mean_interval(gains, data.clusters, low=-1.0, high=1.0)
    return Estimate(float(gains.mean()), interval_or_none(interval), len(gains))
