"""The controls of a detector card: matched rows, subgroups, baselines, probabilities."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.analysis.agreement.report import Estimate
from sgi.analysis.card.card import Calibration, Matched, Shuffled, Subgroup
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.calibration import (
    brier,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.confounds import (
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.stats.auroc_difference import AurocDifference
    from sgi.stats.calibration import CalibrationMethod
    from sgi.stats.confounds import Baseline, PermutationControl, StratifiedAuroc
    from sgi.stats.ranking import Ranking

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

Direction = Literal["higher", "lower", "either"]
"""What a trivial score takes for grounded; ``either``: what ranks better on the rows at hand."""

ENOUGH_PAIRS = 50
"""With fewer pairs of equal value (and fewer than half of those there could be) bins take their place."""

FEWEST_PAIRS = 10
"""With fewer of equal value, or nearly so, pairs that differ more take their place, and the card says so."""

BALANCED = 0.05
"""Among matched rows the nuisance alone ranks no further from 0.5 than this, or they are not matched."""

LENGTH, OVERLAP = "length", "overlap"
"""Trivial scores of a card's own; no other has these names."""

LENGTH_WIDTHS = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0)
OVERLAP_WIDTHS = (0.0, 0.02, 0.05, 0.1)
FEWEST_VALUES, MOST_VALUES = 2, 12
"""A column with fewer or more distinct values makes no subgroups."""

RECALL = 0.95
_LOWER = {"shorter", "lower"}
_STRATA = 10
_CHANCE = 0.5
_ERROR = 0.05
_TERCILES = ("short", "medium", "long")


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores with labels and clusters, and the settings of the bootstrap.

    Attributes:
        scores: higher = grounded, finite, shape (n,).
        grounded: the labels, shape (n,).
        clusters: rows with the same number are dependent, shape (n,).
        draws: of every bootstrap.
        seed: of everything random.
    """

    scores: Floats
    grounded: NDArray[np.bool_]
    clusters: Rows
    draws: int
    seed: int

    def take(self, rows: Rows) -> LabelledScores:
        """These rows alone."""
        return LabelledScores(
            self.scores[rows], self.grounded[rows], self.clusters[rows], self.draws, self.seed
        )

    def ranking(self, scores: Floats | None = None) -> Ranking | None:
        """AUROC of the scores, or of others over the same rows; rows where these are NaN are left out."""
        column = self.scores if scores is None else scores
        known = ~np.isnan(column)
        return ranking(column[known], self.grounded[known], self.clusters[known])

    def difference(self, others: Floats, *, comparisons: int = 1) -> AurocDifference | None:
        """The score's AUROC minus that of another, over rows that have both.

        The interval is at 1 − 0.05/m where m comparisons are made at once (Bonferroni).
        """
        level = 1 - _ERROR / comparisons
        return auroc_difference(self.scores, others, self.grounded, self.clusters, level=level)

    def shuffled(self, scores: Floats | str) -> Shuffled:
        """How the scores with contexts of other questions rank; or the reason why there are none."""
        if isinstance(scores, str):
            return Shuffled(None, reason=scores)
        found = self.ranking(scores)
        if found is None:
            return Shuffled(None, reason="with contexts shuffled, a class has no scores left")
        return Shuffled(found, self.difference(scores))

    def average_precision(self) -> Estimate:
        """Of finding the ungrounded, which have the lowest scores."""
        scores, sought = -self.scores, ~self.grounded
        found = average_precision_interval(scores, sought, self.clusters, seed=self.seed)
        return Estimate(float(average_precision(scores, sought) or np.nan), found, len(scores))

    def false_positive_rate(self) -> Estimate:
        """The share of the grounded that is flagged where 95 % of the ungrounded are."""
        scores, sought = -self.scores, ~self.grounded
        found = bootstrap_interval(
            _false_positive_rate, scores, sought, self.clusters, draws=self.draws, seed=self.seed
        )
        rate = _false_positive_rate(scores, sought, None)
        return Estimate(np.nan if rate is None else rate, found, len(scores))

    def permuted(self) -> PermutationControl | str:
        """AUROC where labels are shuffled; or why they cannot be."""
        if not self._movable():
            return "no two groups of rows have one size and different labels"
        found = permutation_control(self.scores, self.grounded, self.clusters, seed=self.seed)
        return "a class has no rows" if found is None else found

    def _movable(self) -> bool:
        """Whether some label can change its place: within its cluster, or with a cluster of the same size."""
        codes = np.unique(self.clusters, return_inverse=True)[1]
        sizes = np.bincount(codes)
        grounded = np.bincount(codes, weights=self.grounded)
        mixed = (grounded > 0) & (grounded < sizes)
        alike = len(np.unique(np.stack([sizes, grounded]), axis=1).T)
        return bool(mixed.any()) or alike > len(np.unique(sizes))

    def stratified(self, values: Floats, scores: Floats | None = None) -> StratifiedAuroc | None:
        """AUROC of the scores, or of others, within tenths of a nuisance; rows without it are left out."""
        rows = np.flatnonzero(~np.isnan(values))
        part, column = self.take(rows), values[rows]
        if not len(rows):
            return None
        edges = np.unique(np.quantile(column, np.arange(1, _STRATA) / _STRATA))
        strata = np.searchsorted(edges, column, side="right")
        ranked = part.scores if scores is None else scores[rows]
        return stratified_auroc(ranked, part.grounded, strata, part.clusters)

    def within(self, groups: Rows, scores: Floats | None = None) -> StratifiedAuroc | None:
        """AUROC of the scores, or of others, within groups; rows where these are NaN are left out."""
        column = self.scores if scores is None else scores
        known = ~np.isnan(column)
        return stratified_auroc(column[known], self.grounded[known], groups[known], self.clusters[known])


def _false_positive_rate(scores: Floats, labels: NDArray[np.bool_], weights: Floats | None) -> float | None:
    return fpr_at_recall(scores, labels, RECALL, weights)


@dataclass(frozen=True, eq=False)
class Baselines:
    """Trivial scores, which could rank without looking at meaning, over the rows of a card.

    Attributes:
        lengths: characters of each response; None where they were not given.
        overlaps: share of each response's words found in its contexts; None likewise.
        others: by name, values and direction.
    """

    lengths: Floats | None
    overlaps: Floats | None
    others: Mapping[str, tuple[Floats, Direction]]

    def ranked(self, data: LabelledScores) -> tuple[Competitor, ...]:
        """Those that rank at all, length first."""
        labels, clusters = data.grounded, data.clusters
        found = trivial_baselines(labels, lengths=self.lengths, overlaps=self.overlaps, clusters=clusters)
        own = {LENGTH: self.lengths, OVERLAP: self.overlaps}
        competitors = [Competitor.of(one, values) for one in found if (values := own[one.name]) is not None]
        for name, (values, direction) in self.others.items():
            made = baseline(name, values, labels, clusters, direction=direction)
            competitors += [] if made is None else [Competitor.of(made, values)]
        return tuple(competitors)


@dataclass(frozen=True, eq=False)
class Competitor:
    """A trivial score that the score of the card is compared with.

    Attributes:
        baseline: how it ranks over the rows of the card.
        values: turned so that higher ones are taken for grounded, NaN where there is none, shape (n,).
    """

    baseline: Baseline
    values: Floats

    @classmethod
    def of(cls, found: Baseline, values: Floats) -> Competitor:
        """Of values as they were given."""
        return cls(found, -values if found.direction in _LOWER else values)

    def within(self, data: LabelledScores, rows: Rows) -> Competitor | None:
        """Over these rows alone, in the direction of all rows; None where it ranks nothing there."""
        values = self.values[rows]
        found = data.take(rows).ranking(values)
        return None if found is None else Competitor(replace(self.baseline, ranking=found), values)


def differences_from(data: LabelledScores, competitors: Sequence[Competitor]) -> dict[str, AurocDifference]:
    """The score's AUROC minus theirs, by name; the intervals hold together at 95 %."""
    count = len(competitors)
    made = {one.baseline.name: data.difference(one.values, comparisons=count) for one in competitors}
    return {name: found for name, found in made.items() if found is not None}


def match_by(
    data: LabelledScores,
    values: Floats | None,
    widths: Sequence[float],
    competitors: Sequence[Competitor],
    shuffled: Floats | str,
) -> Matched | None:
    """The ranking of rows among which a nuisance is equal in both classes, or nearly so.

    Args:
        data: the scores.
        values: the nuisance; rows where it is NaN are left out.
        widths: of bins, the narrowest first.
        competitors: what else ranks the rows.
        shuffled: the scores with other contexts, NaN where there is none; or why there are none.

    Returns:
        None without values, or where no two rows match.
    """
    if values is None:
        return None
    width, kept = _matched_rows(data, values, widths)
    part = data.take(kept)
    found = part.ranking()
    if found is None:
        return None
    again = [made for one in competitors if (made := one.within(data, kept)) is not None]
    baselines = tuple(one.baseline for one in again)
    other = part.shuffled(shuffled if isinstance(shuffled, str) else shuffled[kept])
    return Matched(width, len(kept) // 2, found, baselines, differences_from(part, again), other)


def _matched_rows(data: LabelledScores, values: Floats, widths: Sequence[float]) -> tuple[float, Rows]:
    """The narrowest bins with enough pairs; of those within which the nuisance still ranks, none.

    Where no bins are both, fewer pairs are preferred to worse ones: those of the widest bins that are still
    good, if they are ten or more; else those among which the nuisance ranks the least.
    """
    known = np.flatnonzero(~np.isnan(values))
    column, grounded = values[known], data.grounded[known]
    most = min(grounded.sum(), (~grounded).sum())
    enough, few = (min(pairs, most // 2) for pairs in (ENOUGH_PAIRS, FEWEST_PAIRS))
    good, poor = (0.0, known[:0]), (0.0, known[:0])
    least = np.inf
    for width in widths:
        rows = matched_rows(column, grounded, width=width, seed=data.seed)
        area = auroc(column[rows], grounded[rows])
        if area is None:
            continue
        apart = abs(area - _CHANCE)
        if apart <= BALANCED:
            good = max((good, (width, known[rows])), key=lambda one: len(one[1]))
            if len(good[1]) >= 2 * enough:
                return good
        elif len(rows) >= 2 * few and apart < least:
            poor, least = (width, known[rows]), apart
    return good if len(good[1]) >= 2 * few or not len(poor[1]) else poor


def subgroups_of(
    data: LabelledScores, columns: Mapping[str, Sequence[Any]], lengths: Floats | None
) -> tuple[Subgroup, ...]:
    """The rows by each value of the columns that have 2 to 12 of them, and by thirds of length.

    Columns of lists or mappings make no subgroups.
    """
    grouped = {name: value_names(values) for name, values in columns.items()}
    found = [
        _subgroup(data, column, value, np.array(names) == value)
        for column, names in grouped.items()
        if names is not None and FEWEST_VALUES <= len(set(names)) <= MOST_VALUES
        for value in dict.fromkeys(names)
    ]
    thirds = () if lengths is None else _thirds(lengths)
    return (*found, *(_subgroup(data, "length", name, rows) for name, rows in thirds))


def value_names(values: Sequence[Any]) -> list[str] | None:
    """Values of a column as they are printed; None where one of them is a list or a mapping.

    >>> value_names(["gpt", None, 2, True]), value_names([["a"]])
    (['gpt', '(none)', '2', 'true'], None)
    """
    if any(isinstance(value, (list, tuple, dict)) for value in values):
        return None
    return [
        "(none)" if v is None else v if isinstance(v, str) else json.dumps(v, default=str) for v in values
    ]


def _thirds(lengths: Floats) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    known = lengths[~np.isnan(lengths)]
    if not len(known):
        return
    low, high = np.quantile(known, [1 / 3, 2 / 3])
    for name, rows in zip(
        _TERCILES, (lengths <= low, (lengths > low) & (lengths <= high), lengths > high), strict=True
    ):
        if rows.any():
            yield f"{name} ({lengths[rows].min():g} to {lengths[rows].max():g})", rows


def _subgroup(data: LabelledScores, column: str, value: str, rows: NDArray[np.bool_]) -> Subgroup:
    part = data.take(np.flatnonzero(rows))
    return Subgroup(column, value, len(part.scores), float(part.grounded.mean()), part.ranking())


def fit_probabilities(data: LabelledScores) -> tuple[tuple[Calibration, ...], str]:
    """How far probabilities made of the scores can be believed, out of fold; or why none could be made."""
    try:
        # Dealt once, since every map is judged on the same folds.
        dealt = grouped_folds(data.grounded, data.clusters, seed=data.seed)
        constant = _probabilities(data, "base rate", dealt)
        maps = [
            _calibration(data, name, _probabilities(data, name, dealt).round(2), constant) for name in _MAPS
        ]
    except ValueError as error:
        return (), str(error)
    return (*maps, _calibration(data, "base rate", constant, None)), ""


_MAPS: tuple[CalibrationMethod, ...] = ("platt", "isotonic")


def _probabilities(data: LabelledScores, method: CalibrationMethod, dealt: Sequence[Rows]) -> Floats:
    return out_of_fold_probabilities(data.scores, data.grounded, method=method, folds=dealt)


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
    """How much less the squared error is than that of the constant forecast, row beside row."""
    gains = np.square(constant - data.grounded) - np.square(probabilities - data.grounded)
    found = mean_interval(gains, data.clusters, low=-1.0, high=1.0)
    return Estimate(float(gains.mean()), interval_or_none(found), len(gains))
