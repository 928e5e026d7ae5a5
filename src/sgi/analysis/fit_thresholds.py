"""Fits conformal thresholds on labelled rows, and measures them out of fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.calibration_parts import LengthBin, Rate, Thresholds
from sgi.stats.conformal import conformal_threshold, length_thresholds, one_row_per_cluster, stratum_of
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.engine.calibration_parts import Target
    from sgi.stats.conformal import LengthThresholds

    Rows = NDArray[np.bool_]
    Folds = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """The rows of a run with a label and a value.

    Higher values are better; ``truth`` is true for grounded rows; rows with the same question have the same
    cluster. ``precisions`` are content-word precisions, NaN without one. ``undefined_clusters`` and
    ``undefined_lengths`` are the clusters and lengths of the labelled rows without a value.
    """

    values: NDArray[np.float64]
    truth: Rows
    lengths: NDArray[np.int64]
    clusters: NDArray[np.int64]
    precisions: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    undefined_clusters: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    undefined_lengths: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def one_per_question(self) -> Rows:
        """Mask of at most one grounded and one ungrounded row of each question, shape (n,).

        Thresholds are fitted and evaluated on these rows, so that each question counts once. The choice does
        not depend on scores.
        """
        mask = np.zeros(len(self.truth), dtype=np.bool_)
        for rows in (np.flatnonzero(self.truth), np.flatnonzero(~self.truth)):
            mask[rows[one_row_per_cluster(self.clusters[rows])]] = True
        return mask


def fit_thresholds(
    rows: CalibrationData, target: Target, folds: Folds, *, bins: int, sign: float
) -> Thresholds:
    """Fit the thresholds of a target on one grounded row of each question.

    Args:
        rows: labelled rows; higher values are better.
        target: the share of grounded answers that may be flagged.
        folds: row numbers of each fold, each question in one.
        bins: the largest number of strata of length.
        sign: −1 if lower values of the metric are better, otherwise 1.
    """
    grounded = rows.one_per_question & rows.truth
    strata = _strata(rows, grounded, target, bins)
    overall = conformal_threshold(rows.values[grounded], target.value, confidence=target.confidence)
    flagged = flagged_out_of_fold(rows, target, folds, bins=bins)
    return Thresholds(
        target=target,
        threshold=_native_threshold(overall, sign),
        bins=_bins(rows, strata, flagged, sign),
        false_positives=_rate(rows, flagged, rows.truth),
        recall=_rate(rows, flagged, ~rows.truth),
    )


def flagged_out_of_fold(rows: CalibrationData, target: Target, folds: Folds, *, bins: int = 4) -> Rows:
    """Flag each row by thresholds that were fitted without the rows of its question.

    The thresholds of a fold are fitted on fewer rows than the final ones, so they may flag slightly less.
    ``folds`` are row numbers; each question is in one fold. ``bins`` is the largest number of strata.
    """
    flagged = np.zeros(len(rows.truth), dtype=np.bool_)
    for fold in folds:
        others = rows.one_per_question & rows.truth
        others[fold] = False
        thresholds = _strata(rows, others, target, bins)
        flagged[fold] = rows.values[fold] < thresholds.of(rows.lengths[fold])
    return flagged


def _strata(rows: CalibrationData, grounded: Rows, target: Target, bins: int) -> LengthThresholds:
    return length_thresholds(
        rows.values[grounded],
        rows.lengths[grounded],
        target.value,
        bins=bins,
        confidence=target.confidence,
    )


def _bins(
    rows: CalibrationData, strata: LengthThresholds, flagged: Rows, sign: float
) -> tuple[LengthBin, ...]:
    strata_of_rows = stratum_of(rows.lengths, strata.edges)
    edges = [0, *map(int, strata.edges), None]
    return tuple(
        LengthBin(
            at_least=edges[index] or 0,
            below=edges[index + 1],
            threshold=_native_threshold(threshold, sign),
            questions=strata.rows[index],
            false_positives=_rate(rows, flagged, rows.truth & (strata_of_rows == index)),
            recall=_rate(rows, flagged, ~rows.truth & (strata_of_rows == index)),
        )
        for index, threshold in enumerate(strata.thresholds)
    )


def _native_threshold(threshold: float, sign: float) -> float | None:
    return sign * threshold if np.isfinite(threshold) else None


def _rate(rows: CalibrationData, flagged: Rows, mask: Rows) -> Rate:
    values = flagged[mask & rows.one_per_question].astype(np.float64)
    share = float(values.mean()) if len(values) else None
    interval = interval_or_none(mean_interval(values, low=0.0, high=1.0))
    return Rate(value=share, questions=len(values), interval=interval)
