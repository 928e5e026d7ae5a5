"""Makes the detector card of any array of scores.

Source: clusters as in Miller (2024), arXiv:2411.00640; the choice of controls is ours.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from sgi.kernel.errors import UsageError
from sgi.stats.confounds import CONTENT_PRECISION
from sgi_lab.card.card import DetectorCard
from sgi_lab.card.card_groups import subgroups_of, within_groups
from sgi_lab.card.card_verdicts import notes, warnings
from sgi_lab.card.controls import (
    LENGTH,
    LENGTH_WIDTHS,
    PRECISION_WIDTHS,
    Baselines,
    Direction,
    LabelledScores,
    differences_from,
    fit_probabilities,
    match_by,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from sgi.stats.ranking import Ranking
    from sgi_lab.card.controls import Competitor

    Floats = NDArray[np.float64]

_NOTHING: Mapping[str, Any] = {}
_OWN = {LENGTH: "lengths", CONTENT_PRECISION: "precisions"}


def detector_card(
    name: str,
    scores: ArrayLike,
    labels: Sequence[Any] | NDArray[Any],
    *,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    lengths: ArrayLike | None = None,
    precisions: ArrayLike | None = None,
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
    """Compare a detector's scores with labels, and with trivial scores that could rank as well.

    Length and content-word precision are baselines, and are controlled for by matching rows and by strata.
    Rows without a label or a finite score are left out and counted. A column has shape (n,), with None or NaN
    for unknown.

    Args:
        name: name of the detector.
        scores: column of numbers.
        labels: column of true (grounded) and false, or of 1 and 0.
        clusters: column; rows with the same value, such as the question, are dependent.
        lengths: column of the characters of the responses, at least 0.
        precisions: column of the share of each response's content words that its contexts have, in [0, 1].
        baselines: further trivial scores by name, with the direction that means grounded.
        subgroups: columns by name; those with 2 to 12 distinct values are shown.
        columns: columns by name, to compute AUROC within each of their 2 to 30 values; None: ``subgroups``.
        shuffled: column of scores with contexts of other questions, or the reason why there are none.
        higher_is_better: whether higher scores mean grounded.
        dropped: number of rows that were left out before, by reason.
        draws: number of bootstrap draws, at least 1.
        seed: random seed, at least 0.
        signature: provenance of the scores, for printing.

    Raises:
        UsageError: an argument has another shape, type or range, or all labels are the same.

    >>> generator = np.random.default_rng(0)
    >>> labels = generator.random(400) < 0.5
    >>> card = detector_card("noise", generator.normal(size=400), labels, draws=200)
    >>> card.rows, card.notes[0].startswith("Near chance on these rows")
    (400, True)
    """
    table = _Table.of(scores, labels, clusters)
    data = table.labelled_scores(higher_is_better=higher_is_better, draws=draws, seed=seed)
    trivial = table.baselines(lengths, precisions, baselines)
    other_scores = table.shuffled_scores(shuffled, higher_is_better=higher_is_better)
    groups = table.columns(subgroups)
    within = groups if columns is None else table.columns(columns)
    card = _card(name, data, trivial, other_scores, groups, within)
    left_out = dict(Counter(dropped) + table.drop_counts())
    card = replace(card, dropped=left_out, higher_is_better=higher_is_better, signature=signature)
    return replace(card, notes=tuple(notes(card)), warnings=tuple(warnings(card)))


def _card(
    name: str,
    data: LabelledScores,
    trivial: Baselines,
    shuffled: Floats | str,
    groups: Mapping[str, Sequence[Any]],
    within: Mapping[str, Sequence[Any]],
) -> DetectorCard:
    """Compute the numbers of the card, without notes and warnings."""
    ranking = _ranking(name, data)
    competitors = trivial.competitors(data)
    maps, uncalibrated = fit_probabilities(data)
    permuted = data.permutation_control()
    return DetectorCard(
        name=name,
        higher_is_better=True,
        rows=len(data.scores),
        grounded=int(data.grounded.sum()),
        ungrounded=int((~data.grounded).sum()),
        clusters=len(np.unique(data.clusters)),
        dropped={},
        ranking=ranking,
        average_precision=data.average_precision(),
        false_positive_rate=data.false_positive_rate(),
        length_matched=match_by(data, trivial.lengths, LENGTH_WIDTHS, competitors, shuffled),
        length_stratified=None if trivial.lengths is None else data.auroc_within_deciles(trivial.lengths),
        length_within=_length_within(data, trivial.lengths, competitors),
        precision_matched=match_by(data, trivial.precisions, PRECISION_WIDTHS, competitors, shuffled),
        baselines=tuple(competitor.baseline for competitor in competitors),
        differences=differences_from(data, competitors),
        permuted=None if isinstance(permuted, str) else permuted,
        shuffled=data.shuffled_control(shuffled),
        subgroups=subgroups_of(data, groups, trivial.lengths),
        within=within_groups(data, within, competitors),
        calibration=maps,
        uncalibrated=uncalibrated,
        unpermuted=permuted if isinstance(permuted, str) else "",
        draws=data.draws,
        seed=data.seed,
    )


def _length_within(
    data: LabelledScores, lengths: Floats | None, competitors: Sequence[Competitor]
) -> Ranking | None:
    values = next((other.values for other in competitors if other.baseline.name == LENGTH), None)
    result = None if lengths is None or values is None else data.auroc_within_deciles(lengths, values)
    return None if result is None else result.ranking


def _ranking(name: str, data: LabelledScores) -> Ranking:
    ranking = data.ranking()
    if ranking is not None:
        return ranking
    rows, label = len(data.scores), "grounded" if data.grounded.any() else "not grounded"
    state = (
        f"all {rows} rows with a label and a score are {label}" if rows else "no row has a label and a score"
    )
    hint = "A detector card needs rows of both labels."
    raise UsageError(f"{name} cannot be ranked: {state}.", hint=hint)


@dataclass(frozen=True, eq=False)
class _Table:
    """All rows of the input; columns of its methods have only the used rows."""

    scores: Floats
    truth: Floats
    clusters: NDArray[np.int64]

    @classmethod
    def of(cls, scores: ArrayLike, labels: Any, clusters: Any) -> Self:
        column = _number_column("scores", scores)
        if column.ndim != 1:
            raise UsageError(f"`scores` must have the shape (n,), not {column.shape}.")
        truth = _label_column(labels)
        _require_rows("labels", len(truth), len(column))
        codes = np.arange(len(column)) if clusters is None else _cluster_column(clusters, len(column))
        return cls(column, truth, codes)

    @cached_property
    def used_rows(self) -> NDArray[np.int64]:
        """Rows with a label and a finite score."""
        return np.flatnonzero(np.isfinite(self.scores) & ~np.isnan(self.truth))

    def drop_counts(self) -> Counter[str]:
        """Number of rows that are left out, by the first reason that applies."""
        labelled = self.scores[~np.isnan(self.truth)]
        return Counter(
            {
                "no label": int(np.isnan(self.truth).sum()),
                "no score": int(np.isnan(labelled).sum()),
                "an infinite score": int(np.isinf(labelled).sum()),
            }
        )

    def labelled_scores(self, *, higher_is_better: bool, draws: int, seed: int) -> LabelledScores:
        settings: dict[str, tuple[object, int]] = {"draws": (draws, 1), "seed": (seed, 0)}
        for name, (value, least) in settings.items():
            if not isinstance(value, (int, np.integer)) or value < least:
                raise UsageError(f"`{name}` must be a whole number of at least {least}, not {value!r}.")
        rows = self.used_rows
        scores = self.scores[rows] if higher_is_better else -self.scores[rows]
        return LabelledScores(scores, self.truth[rows] == 1, self.clusters[rows], draws, seed)

    def baselines(
        self,
        lengths: ArrayLike | None,
        precisions: ArrayLike | None,
        others: Mapping[str, tuple[ArrayLike, Direction]],
    ) -> Baselines:
        for name, (_, direction) in others.items():
            if name in _OWN:
                hint = f"Give its values as `{_OWN[name]}`, or use another name."
                raise UsageError(f"The name {name!r} of a baseline is reserved.", hint=hint)
            if direction not in get_args(Direction):
                hint = f"Use one of {', '.join(get_args(Direction))}."
                raise UsageError(f"The baseline {name!r} has the unknown direction {direction!r}.", hint=hint)
        return Baselines(
            None if lengths is None else self._numbers_up_to("lengths", lengths, sys.float_info.max),
            None if precisions is None else self._numbers_up_to("precisions", precisions, 1.0),
            {name: (self._numbers(name, values), side) for name, (values, side) in others.items()},
        )

    def columns(self, columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        lists = {name: _as_list(name, values) for name, values in columns.items()}
        for name, values in lists.items():
            _require_rows(name, len(values), len(self.scores))
        return {name: [values[row] for row in self.used_rows] for name, values in lists.items()}

    def shuffled_scores(self, scores: ArrayLike | str | None, *, higher_is_better: bool) -> Floats | str:
        """Return scores with shuffled contexts (higher = grounded, NaN if unknown), or why there are none."""
        if scores is None or isinstance(scores, str):
            return scores or "scores with shuffled contexts were not given"
        column = self._numbers("shuffled", scores)
        return np.where(np.isfinite(column), column if higher_is_better else -column, np.nan)

    def _numbers(self, name: str, values: ArrayLike) -> Floats:
        column = _number_column(name, values)
        _require_rows(name, column.size if column.ndim == 1 else -1, len(self.scores))
        return column[self.used_rows]

    def _numbers_up_to(self, name: str, values: ArrayLike, high: float) -> Floats:
        column = self._numbers(name, values)
        invalid = column[(column < 0) | (column > high)]
        if len(invalid):
            expected = "between 0 and 1" if high == 1 else "finite and at least 0"
            raise UsageError(f"A value of `{name}` must be {expected}, or NaN, not {invalid[0]:g}.")
        return column


def _number_column(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        hint = "Give one number for each row, NaN if it is unknown."
        raise UsageError(f"A value of `{name}` is not a number.", hint=hint) from None


def _label_column(labels: Any) -> Floats:
    """Return labels as 1 and 0, NaN for a row without a label."""
    column = _number_column(
        "labels", [math.nan if label is None else label for label in _as_list("labels", labels)]
    )
    if column.ndim != 1 or not (np.isnan(column) | (column == 0) | (column == 1)).all():
        hint = "Give True for grounded, False for not grounded, None if it is unknown."
        raise UsageError("A value of `labels` is neither true nor false.", hint=hint)
    return column


def _cluster_column(clusters: Any, rows: int) -> NDArray[np.int64]:
    """Return a number for each distinct cluster; each row without a cluster has its own."""
    values = _as_list("clusters", clusters)
    _require_rows("clusters", len(values), rows)
    numbers: dict[Any, int] = {}
    try:
        keys = [(True, row) if _is_unknown(value) else (False, value) for row, value in enumerate(values)]
        codes = [numbers.setdefault(key, len(numbers)) for key in keys]
    except (TypeError, ValueError):
        hint = "Give one number or text for each row, the same for dependent rows."
        raise UsageError("A value of `clusters` is a list or a mapping.", hint=hint) from None
    return np.array(codes, dtype=np.int64)


def _is_unknown(value: Any) -> bool:
    return value is None or bool(value != value)  # noqa: PLR0124 - NaN of any type differs from itself


def _as_list(name: str, values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    if isinstance(values, (str, bytes, np.ndarray)) or not isinstance(values, Iterable):
        raise UsageError(f"`{name}` must be a list.", hint="Give a list with one value for each score.")
    return list(values)


def _require_rows(name: str, count: int, rows: int) -> None:
    if count != rows:
        size = "several columns" if count < 0 else f"{count} values"
        hint = "Give one value for each score."
        raise UsageError(f"`{name}` has {size}, but there are {rows} scores.", hint=hint)
