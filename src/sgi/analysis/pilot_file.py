"""Reads the pilot of a plan: a stored run, or a file of results with columns for the metric and labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.labels import read_labels, yes_no_labels
from sgi.engine.run import Run
from sgi.engine.stored_runs import read_run
from sgi.io.files import SUFFIXES, check_readable, file_rows, require_rows, suffix
from sgi.kernel.clusters import (
    BY_CONTEXTS,
    BY_QUESTION,
    Clustering,
    cluster_number,
    is_column,
    unknown_column,
)
from sgi.kernel.errors import DataError
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.registry import BUILT_IN, metric_class
from sgi.store.human_labels import default_label
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    Row = Mapping[str, Any]


def read_pilot(
    name: str, metric: str, label: str | None = None, cluster: str | None = None, db: str | None = None
) -> tuple[Run, list[Any]]:
    """Read a stored run or a file of results, and its labels.

    Args:
        name: a file of rows, or the name or id of a run.
        metric: the metric of a file.
        label: the column of labels; empty for the default one, None for no labels.
        cluster: which rows belong together; None for the rule of the run, or for questions.
        db: the database of a run.

    Raises:
        UnknownNameError: there is no such run or column.
        DataError: the file or a label cannot be read.
    """
    path = Path(name)
    if suffix(path) in SUFFIXES and path.is_file():
        column = "label" if label == "" else label
        run, values = pilot_file(path, metric, column, cluster)
        return run, [] if column is None else [*read_labels(column, values, run.ids).values]
    with open_runs(db, name, cluster=cluster) as (database, (record,)):
        if label is None:
            return read_run(database, record), []
        run, known = yes_no_labels(database, record, label or default_label(database, record))
        return run, [*known]


def pilot_file(
    path: Path, metric: str, label: str | None = None, cluster: str | None = None
) -> tuple[Run, list[Any]]:
    """Read a column of numbers as a metric, and a column of labels (None without one).

    A metric is the column of its name, or ``scores.NAME.value`` as `sgi run -o` writes it. A metric that is
    not installed has the range 0 to 1 if all its values are 0 or 1, otherwise none. Rows with the same
    question are one cluster, or those with the same value of the column ``cluster`` (or as its rule says).

    Raises:
        DataError: the file cannot be read, or a value is not a number.
        UnknownNameError: there is no such column.
    """
    check_readable(path)
    rows: list[Row] = []
    for row in require_rows(file_rows(path, None), str(path)):
        if isinstance(row.values, DataError):
            raise row.values
        rows.append(dict(row.values))
    by = cluster or BY_QUESTION
    present = {column for row in rows for column in row}
    if (is_column(by) or by == BY_CONTEXTS) and by not in present:
        raise unknown_column(path.name, by, present)
    names = [str(row.get("id") or number) for number, row in enumerate(rows, 1)]
    clusters = [
        cluster_number(
            by, place, question=str(row.get("question") or ""), contexts=_contexts(row), metadata=row
        )
        for place, row in enumerate(rows)
    ]
    values = [_value(row, metric, path) for row in rows]
    if not np.isfinite(values).any():
        raise unknown_column(path.name, metric, present)
    columns = [_metric(metric, values)]
    run = Run.of(path.name, names, columns, np.array(clusters), clustering=Clustering(by))
    if label is not None and label not in present:
        raise unknown_column(path.name, label, present)
    return run, [None if label is None else row.get(label) for row in rows]


def _metric(name: str, values: list[float]) -> MetricColumn:
    column = MetricColumn(name, np.array(values), np.zeros(len(values), dtype=np.int8))
    if column.name in BUILT_IN:
        spec = metric_class(column.name).spec
        return MetricColumn(
            name, column.values, column.codes, spec.low, spec.high, spec.higher_is_better, spec.version,
            unit=spec.unit,
        )  # fmt: skip
    binary = bool(np.isin(column.values[column.ok], (0.0, 1.0)).all())
    return MetricColumn(name, column.values, column.codes, *((0.0, 1.0) if binary else (None, None)))


def _contexts(row: Row) -> list[str]:
    """Return the passages of a row as texts; a text is one passage."""
    contexts = row.get("contexts") or []
    return [str(passage) for passage in (contexts if isinstance(contexts, list) else [contexts])]


def _value(row: Row, name: str, path: Path) -> float:
    """Return a number of a row, NaN without one."""
    value = row.get(name)
    if value is None and isinstance(scores := row.get("scores"), dict):
        value = (scores.get(name) or {}).get("value")
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"the value {str(value)[:40]!r} is not a number"
        raise DataError(message, file=str(path), field=name, hint="Name a column of numbers.") from None
