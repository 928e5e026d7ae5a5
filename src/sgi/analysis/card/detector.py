"""The detector card of any array of scores."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from sgi.analysis.card.card import DetectorCard
from sgi.analysis.card.controls import (
    LENGTH,
    LENGTH_WIDTHS,
    OVERLAP,
    OVERLAP_WIDTHS,
    Baselines,
    Direction,
    LabelledScores,
    differences_from,
    fit_probabilities,
    match_by,
    subgroups_of,
)
from sgi.analysis.card.verdicts import notes, warnings
from sgi.analysis.card.within_groups import within_groups
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.analysis.card.controls import Competitor
    from sgi.stats.ranking import Ranking

    Floats = NDArray[np.float64]

_NOTHING: Mapping[str, Any] = {}


def detector_card(
    name: str,
    scores: ArrayLike,
    labels: Sequence[Any] | NDArray[Any],
    *,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    lengths: ArrayLike | None = None,
    overlaps: ArrayLike | None = None,
    baselines: Mapping[str, tuple[ArrayLike, Direction]] = _NOTHING,
    subgroups: Mapping[str, Sequence[Any]] = _NOTHING,
    columns: Mapping[str, Sequence[Any]] | None = None,
    shuffled: ArrayLike | str | None = None,
    higher_is_better: bool = True,
    dropped: Mapping[str, int] = _NOTHING,
    draws: int = 1000,
    seed: int = 0,
    signature: str = "",
) -> DetectorCard:
    """Compare any detector's scores with labels, and with trivial scores that could rank as well.

    Length and overlap are printed as they rank, and then kept from ranking, or nearly so: over rows matched
    by length (of equal length in characters, or within bins where there are fewer than 50 such pairs, as long
    as length alone ranks near 0.5 among them), within tenths of length, and over rows matched by overlap;
    what length or overlap alone rank over the same rows stands beside it. Rows without a label or a finite
    score take no part, and are counted.

    Args:
        name: of the detector.
        scores: shape (n,); NaN where there is none.
        labels: true or false (or 1 and 0; true = grounded), shape (n,); None or NaN where there is none.
        clusters: what belongs together (say, the same question), shape (n,); None if nothing does. A row
            whose own is None or NaN belongs to no other.
        lengths: of the responses in characters, 0 or more, shape (n,); NaN where there is none.
        overlaps: share of each response's words found in its contexts, in [0, 1], shape (n,); NaN likewise.
        baselines: further trivial scores by name: values, and whether ``higher`` or ``lower`` ones are taken
            for grounded, or ``either``, whichever ranks better. None is called ``length`` or ``overlap``.
        subgroups: columns by name, shape (n,) each; those with 2 to 12 distinct values are shown.
        columns: columns by name, shape (n,) each; the score is also compared within the groups of those with
            2 to 30 distinct values. The subgroups' columns if None.
        shuffled: the scores of the same detector where every answer got the contexts of another question,
            shape (n,); or a text that says why there are none.
        higher_is_better: whether higher scores are taken for grounded.
        dropped: rows that were left out before, by reason.
        draws: number of bootstrap draws, 1 or more.
        seed: random seed, 0 or more; equal input gives equal bits.
        signature: identifies what made the scores; printed at the end.

    Raises:
        UsageError: a column is not one value for each score, a label is neither true nor false, or the rows
            that remain have one label only; a length, an overlap, draws or seed are out of their range; or a
            baseline has a taken name or no such direction.

    Source: clusters as in Miller (2024), arXiv:2411.00640; the choice of controls is ours.

    >>> generator = np.random.default_rng(0)
    >>> labels = generator.random(400) < 0.5
    >>> made = detector_card("noise", generator.normal(size=400), labels, draws=200)
    >>> made.rows, made.notes[0].startswith("Near chance on these rows")
    (400, True)
    """
    _require_numbers(draws=draws, seed=seed)
    _require_baselines(baselines)
    given = _Given.of(scores, labels, clusters)
    data = given.labelled(higher_is_better=higher_is_better, draws=draws, seed=seed)
    ranking = _ranking(name, data)
    trivial = Baselines(
        None if lengths is None else given.within("lengths", lengths, sys.float_info.max),
        None if overlaps is None else given.within("overlaps", overlaps, 1.0),
        {key: (given.numbers(key, values), side) for key, (values, side) in baselines.items()},
    )
    grouped = {key: given.values(key, values) for key, values in subgroups.items()}
    compared = grouped if columns is None else {key: given.values(key, one) for key, one in columns.items()}
    others = given.shuffled(shuffled, higher_is_better=higher_is_better)
    ranked = trivial.ranked(data)
    maps, uncalibrated = fit_probabilities(data)
    permuted = data.permuted()
    card = DetectorCard(
        name=name,
        higher_is_better=higher_is_better,
        rows=len(data.scores),
        grounded=int(data.grounded.sum()),
        ungrounded=int((~data.grounded).sum()),
        clusters=len(np.unique(data.clusters)),
        dropped=dict(Counter(dropped) + given.dropped()),
        ranking=ranking,
        average_precision=data.average_precision(),
        false_positive_rate=data.false_positive_rate(),
        length_matched=match_by(data, trivial.lengths, LENGTH_WIDTHS, ranked, others),
        length_stratified=None if trivial.lengths is None else data.stratified(trivial.lengths),
        overlap_matched=match_by(data, trivial.overlaps, OVERLAP_WIDTHS, ranked, others),
        length_within=_length_within(data, trivial.lengths, ranked),
        baselines=tuple(one.baseline for one in ranked),
        differences=differences_from(data, ranked),
        permuted=None if isinstance(permuted, str) else permuted,
        shuffled=data.shuffled(others),
        subgroups=subgroups_of(data, grouped, trivial.lengths),
        within=within_groups(data, compared, ranked),
        calibration=maps,
        uncalibrated=uncalibrated,
        unpermuted=permuted if isinstance(permuted, str) else "",
        draws=draws,
        seed=seed,
        signature=signature,
    )
    return replace(card, notes=tuple(notes(card)), warnings=tuple(warnings(card)))


def _length_within(
    data: LabelledScores, lengths: Floats | None, ranked: Sequence[Competitor]
) -> Ranking | None:
    """What length alone ranks within tenths of itself."""
    turned = next((one.values for one in ranked if one.baseline.name == LENGTH), None)
    found = None if lengths is None or turned is None else data.stratified(lengths, turned)
    return None if found is None else found.ranking


def _ranking(name: str, data: LabelledScores) -> Ranking:
    found = data.ranking()
    if found is not None:
        return found
    rows = len(data.scores)
    which = "grounded" if data.grounded.any() else "not grounded"
    told = f"all {rows} rows with both are {which}" if rows else "no row has both"
    hint = "A detector card needs labelled rows of both kinds."
    raise UsageError(f"Nothing can be ranked by {name}: of label and score, {told}.", hint=hint)


@dataclass(frozen=True, eq=False)
class _Given:
    """The columns as they were given, and which rows of them take part."""

    scores: Floats
    truth: Floats
    clusters: NDArray[np.int64]

    @classmethod
    def of(cls, scores: ArrayLike, labels: Any, clusters: Any) -> Self:
        column = _numbers("scores", scores)
        if column.ndim != 1:
            raise UsageError(f"Scores are one number a row, not of shape {column.shape}.")
        truth = _truth(labels)
        _require_rows("labels", len(truth), len(column))
        if clusters is None:
            return cls(column, truth, np.arange(len(column)))
        return cls(column, truth, _codes(clusters, len(column)))

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """The rows with a label and a finite score."""
        return np.flatnonzero(np.isfinite(self.scores) & ~np.isnan(self.truth))

    def dropped(self) -> Counter[str]:
        """The others, by reason; one without a label is not looked at further."""
        labelled = self.scores[~np.isnan(self.truth)]
        return Counter(
            {
                "no label": int(np.isnan(self.truth).sum()),
                "no score": int(np.isnan(labelled).sum()),
                "an infinite score": int(np.isinf(labelled).sum()),
            }
        )

    def labelled(self, *, higher_is_better: bool, draws: int, seed: int) -> LabelledScores:
        """The rows that take part, with higher scores for grounded."""
        scores = self.scores[self.used]
        return LabelledScores(
            scores if higher_is_better else -scores,
            self.truth[self.used] == 1,
            self.clusters[self.used],
            draws,
            seed,
        )

    def numbers(self, name: str, values: ArrayLike) -> Floats:
        """A column of numbers, the rows that take part."""
        column = _numbers(name, values)
        _require_rows(name, column.size if column.ndim == 1 else -1, len(self.scores))
        return column[self.used]

    def within(self, name: str, values: ArrayLike, high: float) -> Floats:
        """The same, of numbers from 0 to a highest, or NaN."""
        column = self.numbers(name, values)
        strange = column[(column < 0) | (column > high)]
        if len(strange):
            wanted = "between 0 and 1" if high == 1 else "0 or more, and finite"
            raise UsageError(f"The column {name} holds {strange[0]:g}; each is {wanted}, or NaN.")
        return column

    def values(self, name: str, values: Any) -> list[Any]:
        """A column of anything, the rows that take part."""
        column = _as_list(name, values)
        _require_rows(name, len(column), len(self.scores))
        return [column[row] for row in self.used]

    def shuffled(self, scores: ArrayLike | str | None, *, higher_is_better: bool) -> Floats | str:
        """The scores with other contexts, higher for grounded, NaN where there is none; or why not."""
        if scores is None or isinstance(scores, str):
            return scores or "scores with shuffled contexts were not given"
        column = self.numbers("shuffled", scores)
        return np.where(np.isfinite(column), column if higher_is_better else -column, np.nan)


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        hint = "Give one number for each row, NaN where there is none."
        raise UsageError(f"The column {name} holds something that is no number.", hint=hint) from None


def _truth(labels: Any) -> Floats:
    """1 and 0, NaN where there is no label."""
    given = [math.nan if label is None else label for label in _as_list("labels", labels)]
    column = _numbers("labels", given)
    if column.ndim != 1 or not (np.isnan(column) | (column == 0) | (column == 1)).all():
        hint = "Give True where the answer is grounded, False where it is not, None where that is not known."
        raise UsageError("A label is neither true nor false.", hint=hint)
    return column


def _codes(clusters: Any, rows: int) -> NDArray[np.int64]:
    """A number for each distinct cluster; rows of unknown cluster have one each."""
    named = _as_list("clusters", clusters)
    _require_rows("clusters", len(named), rows)
    numbers: dict[Any, int] = {}
    try:
        keys = [(True, row) if _unknown(value) else (False, value) for row, value in enumerate(named)]
        codes = [numbers.setdefault(key, len(numbers)) for key in keys]
    except (TypeError, ValueError):
        hint = "Give one number or one text for each row, the same for rows that belong together."
        raise UsageError("A cluster is a list or the like, not one value.", hint=hint) from None
    return np.array(codes, dtype=np.int64)


def _unknown(value: Any) -> bool:
    return value is None or bool(value != value)  # noqa: PLR0124 - NaN of any type differs from itself


def _as_list(name: str, values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or isinstance(values, np.ndarray):
        raise UsageError(f"The column {name} is one value.", hint="Give a list, one value for each score.")
    return list(values)


def _require_numbers(*, draws: object, seed: object) -> None:
    for name, found, least in (("draws", draws, 1), ("seed", seed, 0)):
        if not isinstance(found, (int, np.integer)) or found < least:
            raise UsageError(f"{name} is a whole number, {least} or more, not {found!r}.")


def _require_baselines(given: Mapping[str, tuple[ArrayLike, Direction]]) -> None:
    for name, (_, direction) in given.items():
        if name in {LENGTH, OVERLAP}:
            hint = f"Give its values as {name}s, or another name."
            raise UsageError(f"A baseline cannot be called {name!r}: the card has its own.", hint=hint)
        if direction not in get_args(Direction):
            hint = f"It is one of {', '.join(get_args(Direction))}."
            raise UsageError(f"The baseline {name!r} has the direction {direction!r}.", hint=hint)


def _require_rows(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        shown = found if found >= 0 else "several columns"
        hint = "Give one value for each score."
        raise UsageError(f"There are {wanted} scores, but {name} has {shown}.", hint=hint)
