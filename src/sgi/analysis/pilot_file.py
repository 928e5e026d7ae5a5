"""Reads a file of results as a run: one column of values for each metric, and labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.io.files import check_readable, file_rows, require_rows
from sgi.kernel.clusters import BY_QUESTION, Clustering, cluster_number, list_columns
from sgi.kernel.errors import DataError, UnknownNameError
from sgi.kernel.registry import BUILT_IN, metric_class
from sgi.kernel.scored_run import MetricColumn, ScoredRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Row = Mapping[str, Any]


def pilot_file(
    path: Path, metrics: Sequence[str], label: str | None = None, cluster: str | None = None
) -> tuple[ScoredRun, list[Any]]:
    """Read columns of numbers as metrics, and a column of labels (None without one).

    A metric is the column of its name, or ``scores.NAME.value`` as `sgi run -o` writes it. A metric that is
    not installed has the range 0 to 1 if all its values are 0 or 1, otherwise none. Rows with the same
    question are one cluster, or those with the same value of the column ``cluster``.

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
    names = [str(row.get("id") or number) for number, row in enumerate(rows, 1)]
    clusters = [
        cluster_number(by, place, question=str(row.get("question") or ""), metadata=row)
        for place, row in enumerate(rows)
    ]
    columns = {name: _metric(name, [_value(row, name, path) for row in rows], path, rows) for name in metrics}
    run = ScoredRun(
        path.name, len(rows), tuple(names), np.array(clusters), columns, clustering=Clustering(by)
    )
    if label is not None and not any(label in row for row in rows):
        raise _unknown(path, label, rows)
    return run, [None if label is None else row.get(label) for row in rows]


def _metric(name: str, values: list[float], path: Path, rows: list[Row]) -> MetricColumn:
    if not np.isfinite(values).any():
        raise _unknown(path, name, rows)
    column = MetricColumn(name, np.array(values), np.zeros(len(values), dtype=np.int8))
    if column.name in BUILT_IN:
        spec = metric_class(column.name).spec
        return MetricColumn(
            name, column.values, column.codes, spec.low, spec.high, spec.higher_is_better, spec.version,
            unit=spec.unit,
        )  # fmt: skip
    binary = bool(np.isin(column.values[column.ok], (0.0, 1.0)).all())
    return MetricColumn(name, column.values, column.codes, *((0.0, 1.0) if binary else (None, None)))


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


def _unknown(path: Path, name: str, rows: list[Row]) -> UnknownNameError:
    columns = dict.fromkeys(column for row in rows for column in row)
    return UnknownNameError(f"column of {path.name}", name, (), hint=list_columns(columns))
