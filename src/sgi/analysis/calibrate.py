"""Fits a calibration on the labelled rows of a run, and evaluates it out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.analysis.labels import yes_no_labels
from sgi.analysis.score_origin import origin_of
from sgi.engine.calibration_file import (
    CHANCE,
    FORMAT,
    CalibrationFile,
    Discrimination,
    LengthBin,
    Quality,
    Rate,
    Target,
)
from sgi.engine.run_recorder import require_texts
from sgi.engine.stored_spec import stored_definitions
from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric as named_metric
from sgi.metrics.definitions import Definitions
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.calibration import brier, expected_calibration_error, grouped_folds, out_of_fold_probabilities
from sgi.stats.conformal import conformal_threshold, length_thresholds, one_row_per_cluster, stratum_of
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.probability_maps import fit_isotonic, fit_platt
from sgi.stats.ranking import auroc
from sgi.store.stored_batches import stored_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.scored_run import MetricColumn, ScoredRun
    from sgi.stats.conformal import LengthThresholds
    from sgi.stats.probability_maps import IsotonicMap, PlattMap
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Rows = NDArray[np.bool_]
    Folds = Sequence[NDArray[np.int64]]

MIN_ROWS = 200
"""Least number of labelled rows with a value."""

MIN_QUESTIONS = 100
"""Least number of questions of these rows.

With 100 questions with grounded answers, the true false positive rate of a threshold for 5 % follows
Beta(5, 96): it is 2 to 10 % in 19 of 20 calibrations. With fewer questions it varies too much.
"""

MapKind = Literal["platt", "isotonic"]
"""Kind of the map from scores to probabilities: a logistic curve, or isotonic regression."""

_NO_DEFINITIONS = Definitions()

_FITS: Mapping[MapKind, Callable[..., PlattMap | IsotonicMap]] = {
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """The rows of a run with a label and a value.

    Higher values are better; ``truth`` is true for grounded rows; rows with the same question have the same
    cluster. ``left_out`` is the number of labelled rows without a value.
    """

    values: NDArray[np.float64]
    truth: Rows
    lengths: NDArray[np.int64]
    clusters: NDArray[np.int64]
    left_out: int = 0

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


def calibrate(
    database: Database,
    record: RunRecord,
    metric: str,
    target: Target,
    *,
    label: str = "label",
    bins: int = 4,
    kind: MapKind = "platt",
    define: Definitions = _NO_DEFINITIONS,
) -> CalibrationFile:
    """Fit thresholds and a probability map of a metric on the labelled rows of a run.

    The guarantee is for grounded answers to questions like those of the run, one answer for each question: on
    average over such runs, at most the target share of these answers is flagged (scores below the threshold),
    overall and within each group of similar length. If a question has several grounded answers, a fixed seed
    selects one; the map is fitted on all rows.

    Args:
        database: the database of the run.
        record: the run, finished.
        metric: one of its metrics.
        target: the guaranteed error rate.
        label: the column of labels, in which yes or 1 means grounded.
        bins: largest number of groups of similar length (strata), each with its own threshold.
        kind: the kind of map from scores to probabilities.
        define: definitions that the metric uses, if the run does not store them.

    Raises:
        UsageError: the run is not finished, lacks the metric, or does not record its origin; there are too
            few labelled rows or questions, or only one label; or the metric ranks in reverse.
        DataError: a label cannot be read.
    """
    if bins < 1:
        raise UsageError(f"`bins` must be 1 or more, not {bins}.")
    if kind not in get_args(MapKind):
        raise UsageError(f"`kind` must be {' or '.join(get_args(MapKind))}, not {kind!r}.")
    if not record.finished:
        message = f"The run {record.label} is not finished: {record.scored:,} of {record.rows:,} rows."
        raise UsageError(message, hint=f"Resume it first: sgi run --resume {record.id}.")
    require_texts(record, "A calibration (its thresholds depend on the length of the response)")
    run, labels = yes_no_labels(database, record, label)
    column = run.metric(metric)
    definitions = _definitions_of(column, stored_definitions(record).with_others(define))
    origin = origin_of(record, column, definitions.metrics)
    lengths = (len(text) for stored in stored_batches(database, record) for text in stored.batch.response)
    rows = _calibration_data(record, run, column, labels, np.fromiter(lengths, dtype=np.int64), label)
    fitted = _fit(record, column, origin, rows, target, label=label, bins=bins, kind=kind)
    return fitted.model_copy(update={"define": definitions})


def _definitions_of(column: MetricColumn, known: Definitions) -> Definitions:
    """Return the definitions that a metric uses; raises UsageError if they are not known."""
    if "definition=" not in column.metric:
        return Definitions()
    try:
        return Definitions.used_by([named_metric(column.metric, known.metrics)])
    except UsageError as error:
        hint = "Name the file that defines it with `define`."
        raise UsageError(f"{column.name} cannot be calibrated: {error.message}", hint=hint) from error


def _calibration_data(
    record: RunRecord,
    run: ScoredRun,
    column: MetricColumn,
    labels: tuple[float | str | None, ...],
    lengths: NDArray[np.int64],
    label: str,
) -> CalibrationData:
    known = np.array([value is not None for value in labels], dtype=np.bool_)
    used = known & column.ok
    truth = np.array([value == 1 for value in labels], dtype=np.bool_)[used]
    questions = len(np.unique(run.clusters[used]))
    without = int(known.sum()) - len(truth)
    if len(truth) < MIN_ROWS or questions < MIN_QUESTIONS:
        message = f"{record.label} has {len(truth):,} rows with a label in {label!r} and a value of"
        gaps = f" ({without:,} more have no value)" if without else ""
        least = f"At least {MIN_ROWS} rows of {MIN_QUESTIONS} questions are required"
        notes = " ".join(["", *run.clustering.notes(len(run.ids))])
        hint = f"{least}: label more rows.{notes}"
        raise UsageError(f"{message} {column.metric}{gaps}, of {questions:,} questions.", hint=hint)
    if truth.all() or not truth.any():
        only = "grounded" if truth.all() else "not grounded"
        message = f"All {len(truth):,} labelled rows of {record.label} are {only} by {label!r}."
        raise UsageError(message, hint="Label rows of both kinds, at least some dozens of each.")
    sign = 1.0 if column.higher_is_better else -1.0
    return CalibrationData(sign * column.values[used], truth, lengths[used], run.clusters[used], without)


def _fit(
    record: RunRecord,
    column: MetricColumn,
    origin: MetricProvenance,
    rows: CalibrationData,
    target: Target,
    *,
    label: str,
    bins: int,
    kind: MapKind,
) -> CalibrationFile:
    sign = 1.0 if column.higher_is_better else -1.0
    grounded = rows.one_per_question & rows.truth
    strata = length_thresholds(rows.values[grounded], rows.lengths[grounded], target.value, bins=bins)
    try:
        folds = grouped_folds(rows.truth, rows.clusters)
    except ValueError as error:
        hint = "Label rows of both kinds for several questions."
        raise UsageError(f"{record.label} cannot be calibrated: {error}", hint=hint) from error
    ranking = _discrimination(record, column, rows, label)
    flagged = flagged_out_of_fold(rows, target, folds, bins=bins)
    quality, base_rate = (_quality(rows, folds, method) for method in (kind, "base rate"))
    return CalibrationFile(
        format=FORMAT,
        metric=column.metric,
        version=column.version,
        higher_is_better=column.higher_is_better,
        encoders=origin.models,
        judge=origin.judge or None,
        prompts=origin.prompts,
        run=record.id,
        dataset=record.dataset,
        label=label,
        rows=len(rows.truth),
        positives=int(rows.truth.sum()),
        negatives=int((~rows.truth).sum()),
        cluster=record.cluster,
        clusters=len(np.unique(rows.clusters)),
        left_out=rows.left_out,
        ranking=ranking,
        target=target,
        threshold=_native_threshold(conformal_threshold(rows.values[grounded], target.value), sign),
        bins=_bins(rows, strata, flagged, sign),
        map=_FITS[kind](rows.values, rows.truth),
        quality=quality,
        base_rate=base_rate,
        false_positives=_rate(rows, flagged, rows.truth),
        recall=_rate(rows, flagged, ~rows.truth),
    )


def _discrimination(
    record: RunRecord, column: MetricColumn, rows: CalibrationData, label: str
) -> Discrimination:
    """Measure how well the metric ranks; raise UsageError if it ranks in reverse."""
    area = auroc(rows.values, rows.truth)
    interval = interval_or_none(auroc_interval(rows.values, rows.truth, rows.clusters))
    assert area is not None  # noqa: S101 - rows of both labels are there
    if interval is not None and interval.high < CHANCE:
        better = "higher" if column.higher_is_better else "lower"
        shown = f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}"
        message = f"{column.metric} ranks the labelled rows of {record.label} in reverse: {shown},"
        hint = (
            f"Calibrate another metric. If yes in {label!r} means not grounded, use a column as `label` in"
            " which yes means grounded."
        )
        raise UsageError(f"{message} but {better} values should mean grounded.", hint=hint)
    return Discrimination(auroc=area, interval=interval)


def flagged_out_of_fold(rows: CalibrationData, target: Target, folds: Folds, *, bins: int = 4) -> Rows:
    """Flag each row by thresholds that were fitted without the rows of its question.

    The thresholds of a fold are fitted on fewer rows than the final ones, so they may flag slightly less.
    ``folds`` are row numbers; each question is in one fold. ``bins`` is the largest number of strata.
    """
    flagged = np.zeros(len(rows.truth), dtype=np.bool_)
    for fold in folds:
        others = rows.one_per_question & rows.truth
        others[fold] = False
        thresholds = length_thresholds(rows.values[others], rows.lengths[others], target.value, bins=bins)
        flagged[fold] = rows.values[fold] < thresholds.of(rows.lengths[fold])
    return flagged


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


def _quality(
    rows: CalibrationData, folds: Folds, method: Literal["platt", "isotonic", "base rate"]
) -> Quality:
    probabilities = out_of_fold_probabilities(
        rows.values, rows.truth, rows.clusters, method=method, folds=folds
    )
    return Quality(
        brier=brier(probabilities, rows.truth).score,
        ece_width=expected_calibration_error(probabilities, rows.truth, binning="width"),
        ece_mass=expected_calibration_error(probabilities, rows.truth, binning="mass"),
    )
