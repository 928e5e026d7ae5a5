"""Scored runs with chosen values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.scored_run import STATUSES, MetricColumn, ScoredRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.sample import Sample

OK, FAILED = 0, len(STATUSES) - 1


def column(
    metric: str,
    values: Sequence[float],
    *,
    low: float | None = 0.0,
    high: float | None = 1.0,
    higher_is_better: bool = True,
) -> MetricColumn:
    """The column of version 1 of a metric; NaN has the status failed."""
    array = np.array(values, dtype=np.float64)
    codes = np.where(np.isnan(array), FAILED, OK).astype(np.int8)
    return MetricColumn(metric, array, codes, low, high, higher_is_better, version=1)


def run(
    *columns: MetricColumn,
    name: str = "last",
    ids: Sequence[str] | None = None,
    clusters: Sequence[int] | None = None,
    rows: int | None = None,
) -> ScoredRun:
    """A run of these columns; by default the ids are 0, 1, 2 … and each row is its own cluster."""
    n = len(columns[0].values) if columns else 0
    return ScoredRun(
        name=name,
        rows=n if rows is None else rows,
        ids=tuple(ids if ids is not None else map(str, range(n))),
        clusters=np.arange(n) if clusters is None else np.array(clusters, dtype=np.int64),
        metrics={column.metric: column for column in columns},
        signature=f"signature of {name}",
    )


def run_of(samples: Sequence[Sample], *columns: MetricColumn) -> ScoredRun:
    """A run with these samples and columns; the rows of a question are one cluster."""
    questions = [sample.question for sample in samples]
    return ScoredRun(
        name="last",
        rows=len(samples),
        ids=tuple(sample.id for sample in samples),
        clusters=np.array([questions.index(question) for question in questions], dtype=np.int64),
        metrics={column.metric: column for column in columns},
        samples=lambda rows: [samples[row] for row in rows],
    )
