"""Imports exported runs; their summaries are computed again from their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.stored_judgements import judged_metric
from sgi.engine.accumulator import Accumulator, ClusterAccumulator
from sgi.engine.calibration_file import read_calibration
from sgi.engine.cascade import DETECTOR, Cascade, CascadeSummary
from sgi.engine.routing import Router
from sgi.engine.run import summary_of_columns
from sgi.engine.score import BatchScores
from sgi.engine.stored_runs import read_run
from sgi.engine.summarise import (
    calibration_check,
    cascade_summary,
    class_keys,
    in_order,
    metric_summary,
    summarise,
    with_range,
)
from sgi.kernel.errors import StoreError, UsageError
from sgi.kernel.metric_column import STATUSES
from sgi.kernel.parsing import validate
from sgi.kernel.registry import metric as named_metric
from sgi.store.stored_batches import stored_batches
from sgi.store.transfer import ImportResult, import_

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sgi.engine.calibration_check import CalibrationCheck
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def import_runs(database: Database, path: str | Path) -> ImportResult:
    """Import the runs of an exported file into a database; see `sgi.store.transfer.import_`.

    Raises:
        StoreError: the file is damaged, or the database cannot be written; nothing is changed.
        SchemaVersionError: the file has another schema version.
    """
    return import_(database, path, recompute=recompute_summary)


def recompute_summary(database: Database, record: RunRecord) -> dict[str, Any] | None:
    """Compute the summary of a run from its rows; None if the run has no summary yet.

    Raises:
        StoreError: rows are missing.
    """
    cascade = None if record.summary is None else record.summary.get("cascade")
    has_summary = record.finished and (record.summary is not None or record.damage.startswith("summary"))
    if "service" in record.spec:
        return summary_of_columns(read_run(database, record)).to_dict() if has_summary else None
    accumulator = _read(database, record)
    if not has_summary:
        return None
    run = read_run(database, record)
    labels = np.array(accumulator.labels, dtype=np.int8)
    precisions = None if record.no_texts else np.array(accumulator.precisions, dtype=np.float64)
    metrics = (
        replace(
            metric_summary(with_range(column), run.clusters, labels, precisions),
            classes=_classes(accumulator, column.metric),
            review=accumulator.review(column.metric, column.version),
        )
        for column in run.metrics.values()
    )
    summary = summarise(accumulator, (), record.signature)
    return replace(
        summary,
        metrics=tuple(metrics),
        baselines=() if record.no_texts else summary.baselines,  # a placeholder has no length
        calibration=None if record.no_texts else _calibration(record, accumulator),
        cascade=None if cascade is None else _cascade(cascade, accumulator),
    ).to_dict()


def _read(database: Database, record: RunRecord) -> Accumulator:
    """Read all rows of a run; fail if one is missing."""
    categories, end = class_keys(record.metrics), 0
    accumulator = Accumulator(categories, clusters=ClusterAccumulator(record.cluster), router=_router(record))
    for stored in stored_batches(database, record):
        scores, rows = stored.scores, len(stored.batch)
        if stored.start < end or {*scores} != {*record.metrics}:
            raise StoreError(f"the rows from {stored.start} on do not have scores of every metric")
        if any(len(one) != rows or not {*one.status} <= {*STATUSES} for one in scores.values()):
            raise StoreError(f"scores of rows from {stored.start} on are missing")
        accumulator.add(
            stored.batch, BatchScores(scores, stored.truncated, stored.failures, windowed=stored.windowed)
        )
        end = stored.start + rows
    if len(accumulator) != record.scored or end > record.rows or (record.finished and end != record.rows):
        raise StoreError(
            f"it has {len(accumulator):,} scored rows instead of {record.scored:,} (of {record.rows:,})"
        )
    return accumulator


def _router(record: RunRecord) -> Router | None:
    """Return the router of a run with a cascade, if its metrics show which rows skipped the judge."""
    config = record.spec.get("cascade")
    if config is None or "rescored_from" in record.spec:
        return None
    metrics = [named_metric(name) for name in record.metrics if judged_metric(name) or name == DETECTOR]
    return Router.of(Cascade.model_validate(config), metrics)


def _classes(accumulator: Accumulator, metric: str) -> dict[str, int]:
    column = accumulator.columns.get(metric)
    return {} if column is None else in_order(metric, column.classes)


def _calibration(record: RunRecord, accumulator: Accumulator) -> CalibrationCheck | None:
    """Compare the rows with the calibration rows of the run; None without one that can be applied here."""
    if record.spec.get("calibration") is None:
        return None
    try:
        return calibration_check(accumulator, read_calibration(record.spec["calibration"]).metrics())
    except UsageError:
        return None


def _cascade(values: Mapping[str, Any], accumulator: Accumulator) -> CascadeSummary:
    """Compute the summary of the cascade from the rows; the old summary gives the number of calls."""
    old: CascadeSummary = validate(CascadeSummary, values)
    summary = cascade_summary(accumulator)
    if summary is None:
        return old
    saved = None if old.calls_per_row is None else round(summary.cleared * old.calls_per_row)
    return replace(summary, calls_per_row=old.calls_per_row, calls_saved=saved)
