"""Fit a calibration on the labelled rows of a run, and measure it on rows it was not fitted on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sgi.engine.agreement.labels import read_labels
from sgi.engine.calibration.file import (
    FORMAT,
    CalibrationFile,
    LengthBin,
    Quality,
    Rate,
    Target,
)
from sgi.kernel.errors import UsageError
from sgi.kernel.judging import JudgedMetric, prompts_digest
from sgi.kernel.registry import metric as named_metric
from sgi.stats.calibration import brier, expected_calibration_error, folds_of, out_of_fold
from sgi.stats.conformal import conformal_threshold, length_thresholds, stratum_of
from sgi.stats.intervals import mean_interval
from sgi.stats.probability_maps import fit_isotonic, fit_platt
from sgi.store.run_rows import grouped_run, stored_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.scored import MetricColumn, ScoredRun
    from sgi.stats.conformal import LengthThresholds
    from sgi.stats.probability_maps import IsotonicMap, PlattMap
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord

    Rows = NDArray[np.bool_]

FEWEST_ROWS = 200
"""Labelled rows with a value, below which nothing is fitted."""

MapKind = Literal["platt", "isotonic"]
"""What becomes of scores: a logistic curve, or a rising line through points."""

_FITS: Mapping[MapKind, Callable[..., PlattMap | IsotonicMap]] = {
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}
_SIGNATURE = re.compile(r"sgi:\d+\|emb:(.*)\|judge:(.*)\|n:\d+\|v:[^|]*")


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


@dataclass(frozen=True)
class _Origin:
    """What made the scores: encoders, judge, prompts; as the calibration's file has them."""

    encoders: tuple[str, ...]
    judge: str | None
    prompts: str


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
            no yes or no; fewer than 200 labelled rows have a value, or all have one label; or the run does
            not tell what made its scores.
        DataError: a label cannot be read.
    """
    if bins < 1:
        raise UsageError(f"--bins is 1 or more, not {bins}.")
    if kind not in get_args(MapKind):
        raise UsageError(f"Unknown map {kind!r}.", hint=f"It is {' or '.join(get_args(MapKind))}.")
    if not record.finished:
        message = f"The run {record.label} is not finished: {record.scored:,} of {record.rows:,} rows."
        raise UsageError(message, hint=f"Go on with it first: sgi run --resume {record.id}.")
    run, said = _truth(database, record, label)
    column = run.metric(metric)
    inner = _inner(record, column)
    origin = _origin(record, inner)
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


def _inner(record: RunRecord, column: MetricColumn) -> AnyMetric:
    """The metric of the column, as it is defined here; it must be the one that made the scores."""
    inner = named_metric(column.metric)
    if inner.spec.version != column.version:
        then = f"version {column.version}" if column.version else "a version that is not known"
        message = (
            f"{record.label} was scored with {then} of {column.metric}; here it is {inner.spec.version}."
        )
        raise UsageError(message, hint="Score the data again: sgi run.")
    return inner


def _origin(record: RunRecord, inner: AnyMetric) -> _Origin:
    """What made the metric's scores, as the run's signature tells."""
    found = _SIGNATURE.fullmatch(record.signature)
    if found is None:
        raise _untold(record, inner)
    fingerprints = [] if found[1] == "-" else found[1].split("+")
    by_name = {text.partition("@")[0]: text for text in fingerprints}
    names = inner.wanted_models((*by_name,)) if inner.embeds else ()
    if (inner.embeds and not names) or any("@" not in by_name.get(name, "") for name in names):
        raise _untold(record, inner)
    encoders = tuple(by_name[name] for name in names)
    if not isinstance(inner, JudgedMetric):
        return _Origin(encoders, None, "")
    judge, _, prompts = found[2].rpartition("@")
    if not judge:
        raise _untold(record, inner)
    _check_prompts(record, prompts)
    return _Origin(encoders, judge, prompts_digest([inner]))


def _check_prompts(record: RunRecord, then: str) -> None:
    """The prompts of the run are those of today; a rescored run asked nothing itself."""
    if "rescored_from" in record.spec:
        return
    now = prompts_digest([named_metric(name) for name in record.metrics])
    if then != now:
        message = f"What {record.label} asked its judge ({then}) is not what is asked now ({now})."
        raise UsageError(message, hint="Score the data again: sgi run.")


def _untold(record: RunRecord, inner: AnyMetric) -> UsageError:
    message = f"The run {record.label} does not tell what made its scores of {inner.canonical}"
    return UsageError(f"{message} ({record.signature or 'no signature'}).", hint="Score the data: sgi run.")


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
    if len(truth) < FEWEST_ROWS:
        without = int(known.sum()) - len(truth)
        message = f"{record.label} has {len(truth):,} rows with a label in {label!r} and a value of"
        gaps = f" ({without:,} more have no value)" if without else ""
        hint = f"{FEWEST_ROWS} are the least that say anything of rare mistakes: label more rows."
        raise UsageError(f"{message} {column.metric}{gaps}.", hint=hint)
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
    origin: _Origin,
    rows: LabelledScores,
    target: Target,
    *,
    label: str,
    bins: int,
    kind: MapKind,
) -> CalibrationFile:
    sign = 1.0 if column.higher_is_better else -1.0
    grounded = rows.values[rows.truth]
    strata = length_thresholds(grounded, rows.lengths[rows.truth], target.value, bins=bins)
    try:
        flagged = flagged_out_of_fold(rows, target, bins=bins)
        quality, base_rate = (_quality(rows, method) for method in (kind, "base rate"))
    except ValueError as error:
        hint = "Rows of both kinds are needed for several questions."
        raise UsageError(f"{record.label} cannot be calibrated: {error}", hint=hint) from error
    return CalibrationFile(
        format=FORMAT,
        metric=column.metric,
        version=column.version,
        higher_is_better=column.higher_is_better,
        encoders=origin.encoders,
        judge=origin.judge,
        prompts=origin.prompts,
        run=record.id,
        dataset=record.dataset,
        label=label,
        rows=len(rows.truth),
        positives=int(rows.truth.sum()),
        negatives=int((~rows.truth).sum()),
        clusters=len(np.unique(rows.clusters)),
        left_out=rows.left_out,
        target=target,
        threshold=_own(conformal_threshold(grounded, target.value), sign),
        bins=_bins(rows, strata, flagged, sign),
        map=_FITS[kind](rows.values, rows.truth),
        quality=quality,
        base_rate=base_rate,
        false_positives=_rate(rows, flagged, rows.truth),
        recall=_rate(rows, flagged, ~rows.truth),
    )


def flagged_out_of_fold(
    rows: LabelledScores, target: Target, *, bins: int = 4, folds: int = 5, seed: int = 0
) -> Rows:
    """Which rows are flagged by thresholds that were made without them and their question.

    Each fold's thresholds stand on fewer rows than the final ones, so they promise the same and, where rows
    are few, flag a little less.

    Raises:
        ValueError: a class stands in one question only.
    """
    flagged = np.zeros(len(rows.truth), dtype=np.bool_)
    for fold in folds_of(rows.truth, rows.clusters, folds=folds, seed=seed):
        others = rows.truth.copy()
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
            grounded=strata.rows[place],
            false_positives=_rate(rows, flagged, rows.truth & (places == place)),
            recall=_rate(rows, flagged, ~rows.truth & (places == place)),
        )
        for place, threshold in enumerate(strata.thresholds)
    )


def _own(threshold: float, sign: float) -> float | None:
    """A threshold on the metric's own scale."""
    return sign * threshold if np.isfinite(threshold) else None


def _rate(rows: LabelledScores, flagged: Rows, which: Rows) -> Rate:
    values = flagged[which].astype(np.float64)
    share = float(values.mean()) if len(values) else None
    return Rate(value=share, rows=len(values), interval=mean_interval(values, rows.clusters[which]))


def _quality(rows: LabelledScores, method: Literal["platt", "isotonic", "base rate"]) -> Quality:
    found = out_of_fold(rows.values, rows.truth, rows.clusters, method=method)
    return Quality(
        brier=brier(found, rows.truth).score,
        ece_width=expected_calibration_error(found, rows.truth, binning="width"),
        ece_mass=expected_calibration_error(found, rows.truth, binning="mass"),
    )
