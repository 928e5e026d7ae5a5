"""Fit a calibration on the labelled rows of a run, and measure it on rows it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.analysis.labels import read_labels
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
from sgi.kernel.errors import UsageError
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.calibration import brier, expected_calibration_error, grouped_folds, out_of_fold_probabilities
from sgi.stats.conformal import conformal_threshold, length_thresholds, one_row_per_cluster, stratum_of
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.probability_maps import fit_isotonic, fit_platt
from sgi.stats.ranking import auroc
from sgi.store.scored_runs import grouped_run
from sgi.store.stored_batches import stored_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.scored import MetricColumn, ScoredRun
    from sgi.stats.conformal import LengthThresholds
    from sgi.stats.probability_maps import IsotonicMap, PlattMap
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Rows = NDArray[np.bool_]
    Folds = Sequence[NDArray[np.int64]]

FEWEST_ROWS = 200
"""Labelled rows with a value, below which nothing is fitted."""

FEWEST_QUESTIONS = 100
"""Distinct questions of such rows, below which nothing is fitted.

Data with a right and a wrong answer to each question has 100 of them in 200 rows. It is questions that the
promise is made of: with 100 grounded ones, a threshold for 5 % flags in truth a share that is distributed
as Beta(5, 96) from one calibration to the next, 2 to 10 % in 19 of 20; with fewer the promise is an average
over calibrations that are far apart.
"""

MapKind = Literal["platt", "isotonic"]
"""What becomes of scores: a logistic curve, or a rising line through points."""

_FITS: Mapping[MapKind, Callable[..., PlattMap | IsotonicMap]] = {
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """The rows of a run that have a label and a value.

    Attributes:
        values: of which higher is better, float64, shape (n,).
        truth: whether the row is grounded, shape (n,).
        lengths: of the responses, in characters, shape (n,).
        clusters: rows with the same question share a number, shape (n,).
        left_out: labelled rows without a value.
    """

    values: NDArray[np.float64]
    truth: Rows
    lengths: NDArray[np.int64]
    clusters: NDArray[np.int64]
    left_out: int = 0

    @cached_property
    def drawn(self) -> Rows:
        """One grounded and one ungrounded row of each question that has such, shape (n,).

        Thresholds are made of these and measured on them: whatever many rows of one question have in common
        counts once. The draw takes no notice of scores.
        """
        found = np.zeros(len(self.truth), dtype=np.bool_)
        for rows in (np.flatnonzero(self.truth), np.flatnonzero(~self.truth)):
            found[rows[one_row_per_cluster(self.clusters[rows])]] = True
        return found


def calibrate(
    database: Database,
    record: RunRecord,
    metric: str,
    target: Target,
    *,
    label: str = "label",
    bins: int = 4,
    kind: MapKind = "platt",
) -> CalibrationFile:
    """Thresholds and a probability map of a metric, from a run's labelled rows.

    What is promised holds for grounded answers to questions like those of the run, one answer a question: on
    average over such runs and such questions, the share of these answers that is flagged is the target at
    most, overall and within each stratum of length. Where a question has several grounded answers, one is
    drawn by a fixed seed; the map is fitted on all rows.

    Args:
        database: where the run is.
        record: the run, finished.
        metric: one of its metrics.
        target: what the thresholds promise.
        label: the column of its data that says whether a response is grounded: yes or no, 1 or 0.
        bins: strata of length at most.
        kind: of the map.

    Raises:
        UsageError: the run is not finished or lacks the metric, or has it in another version; its labels are
            no yes or no; fewer than 200 labelled rows have a value, or they are of fewer than 100 questions,
            or all have one label, or all of one label are of one question; the metric ranks the ungrounded
            rows over the grounded ones; or the run does not tell what made its scores.
        DataError: a label cannot be read.
    """
    if bins < 1:
        raise UsageError(f"--bins is 1 or more, not {bins}.")
    if kind not in get_args(MapKind):
        raise UsageError(f"Unknown map {kind!r}.", hint=f"It is {' or '.join(get_args(MapKind))}.")
    if not record.finished:
        message = f"The run {record.label} is not finished: {record.scored:,} of {record.rows:,} rows."
        raise UsageError(message, hint=f"Go on with it first: sgi run --resume {record.id}.")
    require_texts(record, "A calibration, whose thresholds depend on the length of the response,")
    run, said = _truth(database, record, label)
    column = run.metric(metric)
    origin = origin_of(record, column)
    rows = _labelled(record, run, column, said, _lengths(database, record), label)
    return _fitted(record, column, origin, rows, target, label=label, bins=bins, kind=kind)


def _truth(
    database: Database, record: RunRecord, label: str
) -> tuple[ScoredRun, tuple[float | str | None, ...]]:
    run, values, _ = grouped_run(database, record, label, {})
    labels = read_labels(label, values, run.ids)
    if labels.kind != "yes or no":
        hint = "Wanted is yes or no, true or false, 1 or 0; name another column with --label."
        raise UsageError(f"The labels in {label!r} of {record.label} are {labels.kind}.", hint=hint)
    return run, labels.values


def _lengths(database: Database, record: RunRecord) -> NDArray[np.int64]:
    """The characters of each response, in the order of the rows."""
    found = (len(text) for stored in stored_batches(database, record) for text in stored.batch.response)
    return np.fromiter(found, dtype=np.int64)


def _labelled(
    record: RunRecord,
    run: ScoredRun,
    column: MetricColumn,
    said: tuple[float | str | None, ...],
    lengths: NDArray[np.int64],
    label: str,
) -> LabelledScores:
    known = np.array([value is not None for value in said], dtype=np.bool_)
    used = known & column.ok
    truth = np.array([value == 1 for value in said], dtype=np.bool_)[used]
    questions = len(np.unique(run.clusters[used]))
    if len(truth) < FEWEST_ROWS or questions < FEWEST_QUESTIONS:
        without = int(known.sum()) - len(truth)
        message = f"{record.label} has {len(truth):,} rows with a label in {label!r} and a value of"
        gaps = f" ({without:,} more have no value)" if without else ""
        least = f"{FEWEST_ROWS} rows of {FEWEST_QUESTIONS} questions are the least"
        notes = " ".join(["", *run.clustering.notes(len(run.ids))])
        hint = f"{least} that say anything of rare mistakes: label more.{notes}"
        raise UsageError(f"{message} {column.metric}{gaps}, of {questions:,} questions.", hint=hint)
    if truth.all() or not truth.any():
        only = "grounded" if truth.all() else "not grounded"
        message = f"All {len(truth):,} labelled rows of {record.label} are {only} by {label!r}."
        raise UsageError(message, hint="Rows of both kinds are needed, some dozens of each.")
    sign = 1.0 if column.higher_is_better else -1.0
    return LabelledScores(
        sign * column.values[used],
        truth,
        lengths[used],
        run.clusters[used],
        int(known.sum()) - len(truth),
    )


def _fitted(
    record: RunRecord,
    column: MetricColumn,
    origin: MetricProvenance,
    rows: LabelledScores,
    target: Target,
    *,
    label: str,
    bins: int,
    kind: MapKind,
) -> CalibrationFile:
    sign = 1.0 if column.higher_is_better else -1.0
    grounded = rows.drawn & rows.truth
    strata = length_thresholds(rows.values[grounded], rows.lengths[grounded], target.value, bins=bins)
    folds = _folds(record, rows)
    found = _discrimination(record, column, rows, label)
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
        ranking=found,
        target=target,
        threshold=_own(conformal_threshold(rows.values[grounded], target.value), sign),
        bins=_bins(rows, strata, flagged, sign),
        map=_FITS[kind](rows.values, rows.truth),
        quality=quality,
        base_rate=base_rate,
        false_positives=_rate(rows, flagged, rows.truth),
        recall=_rate(rows, flagged, ~rows.truth),
    )


def _folds(record: RunRecord, rows: LabelledScores) -> Folds:
    try:
        return grouped_folds(rows.truth, rows.clusters)
    except ValueError as error:  # what cannot be dealt is known by dealing; nothing else is tried here
        hint = "Rows of both kinds are needed, for several questions each."
        raise UsageError(f"{record.label} cannot be calibrated: {error}", hint=hint) from error


def _discrimination(
    record: RunRecord, column: MetricColumn, rows: LabelledScores, label: str
) -> Discrimination:
    """How well the metric ranks; one that ranks the wrong way would flag the answers it should let pass."""
    area = auroc(rows.values, rows.truth)
    interval = interval_or_none(auroc_interval(rows.values, rows.truth, rows.clusters))
    assert area is not None  # noqa: S101 - rows of both labels are there
    if interval is not None and interval.high < CHANCE:
        better = "higher" if column.higher_is_better else "lower"
        shown = f"AUROC {area:.3f}, 95 % interval {interval.low:.3f} to {interval.high:.3f}"
        message = f"{column.metric} ranks the labelled rows of {record.label} the wrong way: {shown},"
        hint = (
            f"Calibrate another metric; if a yes in {label!r} means not grounded, name a column with --label"
            " in which it means grounded."
        )
        raise UsageError(f"{message} where {better} values should mean grounded.", hint=hint)
    return Discrimination(auroc=area, interval=interval)


def flagged_out_of_fold(rows: LabelledScores, target: Target, folds: Folds, *, bins: int = 4) -> Rows:
    """Which rows are flagged by thresholds that were made without them and their question.

    Each fold's thresholds stand on fewer rows than the final ones, so they promise the same and, where rows
    are few, flag a little less.

    Args:
        rows: of which those drawn make the thresholds.
        target: what these promise.
        folds: the rows of each, whole questions.
        bins: strata of length at most.
    """
    flagged = np.zeros(len(rows.truth), dtype=np.bool_)
    for fold in folds:
        others = rows.drawn & rows.truth
        others[fold] = False
        made = length_thresholds(rows.values[others], rows.lengths[others], target.value, bins=bins)
        flagged[fold] = rows.values[fold] < made.of(rows.lengths[fold])
    return flagged


def _bins(
    rows: LabelledScores, strata: LengthThresholds, flagged: Rows, sign: float
) -> tuple[LengthBin, ...]:
    places = stratum_of(rows.lengths, strata.edges)
    edges = [0, *map(int, strata.edges), None]
    return tuple(
        LengthBin(
            at_least=edges[place] or 0,
            below=edges[place + 1],
            threshold=_own(threshold, sign),
            questions=strata.rows[place],
            false_positives=_rate(rows, flagged, rows.truth & (places == place)),
            recall=_rate(rows, flagged, ~rows.truth & (places == place)),
        )
        for place, threshold in enumerate(strata.thresholds)
    )


def _own(threshold: float, sign: float) -> float | None:
    """A threshold on the metric's own scale."""
    return sign * threshold if np.isfinite(threshold) else None


def _rate(rows: LabelledScores, flagged: Rows, which: Rows) -> Rate:
    values = flagged[which & rows.drawn].astype(np.float64)
    share = float(values.mean()) if len(values) else None
    found = mean_interval(values, low=0.0, high=1.0)
    return Rate(value=share, questions=len(values), interval=interval_or_none(found))


def _quality(
    rows: LabelledScores, folds: Folds, method: Literal["platt", "isotonic", "base rate"]
) -> Quality:
    found = out_of_fold_probabilities(rows.values, rows.truth, rows.clusters, method=method, folds=folds)
    return Quality(
        brier=brier(found, rows.truth).score,
        ece_width=expected_calibration_error(found, rows.truth, binning="width"),
        ece_mass=expected_calibration_error(found, rows.truth, binning="mass"),
    )
