"""The controls of a detector card: matched rows, subgroups, trivial scores, probabilities."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.engine.agreement.report import Estimate
from sgi.engine.card.card import Calibration, Matched, Shuffled, Subgroup
from sgi.stats.calibration import (
    brier,
    expected_calibration_error,
    folds_of,
    out_of_fold,
    reliability,
)
from sgi.stats.confounds import (
    baseline,
    matched_rows,
    permutation_control,
    stratified_auroc,
    trivial_baselines,
)
from sgi.stats.intervals import mean_interval
from sgi.stats.leads import auroc_lead
from sgi.stats.ranking import (
    average_precision,
    average_precision_interval,
    bootstrap_interval,
    fpr_at_recall,
    ranking,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.stats.calibration import CalibrationMethod
    from sgi.stats.confounds import Baseline, Permuted, Stratified
    from sgi.stats.leads import Lead
    from sgi.stats.ranking import Ranking

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

Direction = Literal["higher", "lower", "either"]
"""What a trivial score takes for grounded; ``either``: what ranks better on the rows at hand."""

ENOUGH_PAIRS = 50
"""With fewer pairs of equal value (and fewer than half of those there could be) bins take their place."""

LENGTH_WIDTHS = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0)
OVERLAP_WIDTHS = (0.0, 0.02, 0.05, 0.1)
FEWEST_VALUES, MOST_VALUES = 2, 12
"""A column with fewer or more distinct values makes no subgroups."""

RECALL = 0.95
_LOWER = {"shorter", "lower"}
_STRATA = 10
_TERCILES = ("short", "medium", "long")


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores with labels, and how intervals are made of them.

    Attributes:
        scores: higher = grounded, finite, shape (n,).
        grounded: the labels, shape (n,).
        clusters: what belongs together, whole numbers, shape (n,).
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
        return ranking(
            column[known], self.grounded[known], self.clusters[known], draws=self.draws, seed=self.seed
        )

    def lead(self, others: Floats) -> Lead | None:
        """By how much the score's AUROC is above that of another, over rows that have both."""
        return auroc_lead(self.scores, others, self.grounded, self.clusters, draws=self.draws, seed=self.seed)

    def shuffled(self, scores: Floats | str) -> Shuffled:
        """How the scores with contexts of other questions rank; or the reason why there are none."""
        if isinstance(scores, str):
            return Shuffled(None, reason=scores)
        found = self.ranking(scores)
        if found is None:
            return Shuffled(None, reason="with contexts shuffled, a class has no scores left")
        return Shuffled(found, self.lead(scores))

    def average_precision(self) -> Estimate:
        """Of finding the ungrounded, which have the lowest scores."""
        scores, sought = -self.scores, ~self.grounded
        found = average_precision_interval(scores, sought, self.clusters, seed=self.seed)
        return Estimate(float(average_precision(scores, sought) or np.nan), found, len(scores))

    def false_positive_rate(self) -> Estimate:
        """The share of the grounded that is flagged where 95 % of the ungrounded are."""
        scores, sought = -self.scores, ~self.grounded
        found = bootstrap_interval(_flagged, scores, sought, self.clusters, draws=self.draws, seed=self.seed)
        rate = _flagged(scores, sought, None)
        return Estimate(np.nan if rate is None else rate, found, len(scores))

    def permuted(self) -> Permuted | None:
        """AUROC where labels are shuffled."""
        return permutation_control(self.scores, self.grounded, self.clusters, seed=self.seed)

    def stratified(self, values: Floats) -> Stratified | None:
        """AUROC within tenths of a nuisance; rows without it are left out."""
        rows = np.flatnonzero(~np.isnan(values))
        part, column = self.take(rows), values[rows]
        if not len(rows):
            return None
        edges = np.unique(np.quantile(column, np.arange(1, _STRATA) / _STRATA))
        strata = np.searchsorted(edges, column, side="right")
        return stratified_auroc(
            part.scores, part.grounded, strata, part.clusters, draws=self.draws, seed=self.seed
        )


def _flagged(scores: Floats, labels: NDArray[np.bool_], weights: Floats | None) -> float | None:
    return fpr_at_recall(scores, labels, RECALL, weights)


@dataclass(frozen=True, eq=False)
class TrivialScores:
    """What could rank without looking at meaning, over the rows of a card.

    Attributes:
        lengths: characters of each response; None where they were not given.
        overlaps: share of each response's words found in its contexts; None likewise.
        others: by name, values and direction.
    """

    lengths: Floats | None
    overlaps: Floats | None
    others: Mapping[str, tuple[Floats, Direction]]

    def ranked(self, data: LabelledScores) -> tuple[Baseline, ...]:
        """Those that rank at all, length first."""
        found = trivial_baselines(
            data.grounded,
            lengths=self.lengths,
            overlaps=self.overlaps,
            clusters=data.clusters,
            draws=data.draws,
            seed=data.seed,
        )
        others = (_baseline(name, *given, data) for name, given in self.others.items())
        return (*found, *(one for one in others if one is not None))

    def of(self, found: Baseline) -> Floats:
        """The values of one that was ranked, turned so that higher ones are taken for grounded."""
        named = {"length": self.lengths, "overlap": self.overlaps}.get(found.name)
        values = self.others[found.name][0] if named is None else named
        return -values if found.direction in _LOWER else values

    def leads(self, data: LabelledScores, ranked: Iterable[Baseline]) -> dict[str, Lead]:
        """By how much the score's AUROC is above theirs."""
        made = {one.name: data.lead(self.of(one)) for one in ranked}
        return {name: lead for name, lead in made.items() if lead is not None}

    def take(self, rows: Rows) -> TrivialScores:
        """These rows alone."""
        return TrivialScores(
            None if self.lengths is None else self.lengths[rows],
            None if self.overlaps is None else self.overlaps[rows],
            {name: (values[rows], direction) for name, (values, direction) in self.others.items()},
        )


def _baseline(name: str, values: Floats, direction: Direction, data: LabelledScores) -> Baseline | None:
    return baseline(
        name,
        values,
        data.grounded,
        data.clusters,
        direction=direction,
        draws=data.draws,
        seed=data.seed,
    )


def matched(
    data: LabelledScores,
    values: Floats | None,
    widths: Sequence[float],
    trivial: TrivialScores,
    ranked: Sequence[Baseline],
    shuffled: Floats | str,
) -> Matched | None:
    """The ranking of rows among which a nuisance is equal in both classes, or nearly so.

    Args:
        data: the scores.
        values: the nuisance; rows where it is NaN are left out.
        widths: of bins; the first that gives enough pairs is taken, else the last.
        trivial: what else could rank.
        ranked: as it ranks on all rows, which says in which direction.
        shuffled: the scores with contexts of other questions, or why there are none.
    """
    if values is None:
        return None
    known = np.flatnonzero(~np.isnan(values))
    grounded = data.grounded[known]
    enough = min(ENOUGH_PAIRS, min(grounded.sum(), (~grounded).sum()) // 2)
    kept = np.zeros(0, dtype=np.int64)
    for width in widths:
        kept = known[matched_rows(values[known], grounded, width=width, seed=data.seed)]
        if len(kept) >= 2 * enough:
            break
    part = data.take(kept)
    found = part.ranking()
    if found is None:
        return None
    there = trivial.take(kept)
    again = tuple(
        replace(one, ranking=ranking)
        for one in ranked
        if (ranking := part.ranking(there.of(one))) is not None
    )
    other = part.shuffled(shuffled if isinstance(shuffled, str) else shuffled[kept])
    return Matched(width, len(kept) // 2, found, again, there.leads(part, again), other)


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


def calibrated(data: LabelledScores) -> tuple[tuple[Calibration, ...], str]:
    """How far probabilities made of the scores can be believed, out of fold; or why none could be made."""
    try:
        # Dealt once, since every map is judged on the same folds.
        dealt = folds_of(data.grounded, data.clusters, seed=data.seed)
        constant = _probabilities(data, "base rate", dealt)
        maps = [
            _calibration(data, name, _probabilities(data, name, dealt).round(2), constant) for name in _MAPS
        ]
    except ValueError as error:
        return (), str(error)
    return (*maps, _calibration(data, "base rate", constant, None)), ""


_MAPS: tuple[CalibrationMethod, ...] = ("platt", "isotonic")


def _probabilities(data: LabelledScores, method: CalibrationMethod, dealt: Sequence[Rows]) -> Floats:
    return out_of_fold(data.scores, data.grounded, method=method, folds=dealt)


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
    interval = mean_interval(gains, data.clusters, draws=data.draws, seed=data.seed, shares=False)
    return Estimate(float(gains.mean()), interval, len(gains))
