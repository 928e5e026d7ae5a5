"""Scored runs with chosen values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.run import Run
from sgi.kernel.metric_column import STATUSES, MetricColumn
from sgi.kernel.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

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
) -> Run:
    """A run of these columns; by default the ids are 0, 1, 2 … and each row is its own cluster."""
    n = len(columns[0].values) if columns else 0
    made = Run.of(
        name,
        map(str, range(n)) if ids is None else ids,
        columns,
        None if clusters is None else np.array(clusters, dtype=np.int64),
        signature=f"signature of {name}",
    )
    return made if rows is None else with_record(made, rows=rows, scored=rows)


def with_record(made: Run, **facts: Any) -> Run:
    """The run with other facts in its record."""
    return replace(made, record=replace(made.record, **facts))


def run_of(samples: Sequence[Sample], *columns: MetricColumn) -> Run:
    """A run with these samples and columns; the rows of a question are one cluster."""
    questions = [sample.question for sample in samples]
    clusters = np.array([questions.index(question) for question in questions], dtype=np.int64)
    return Run.of(
        "last",
        [sample.id for sample in samples],
        columns,
        clusters,
        samples=samples,
    )


def with_systems(
    names: Sequence[str],
    *columns: MetricColumn,
    questions: Sequence[str] | None = None,
    **metadata: Sequence[Any],
) -> Run:
    """A run whose rows name their system in the column ``model``."""
    n = len(names)
    questions = questions or [f"q{place}" for place in range(n)]
    samples = [
        Sample(
            id=str(place),
            question=questions[place],
            metadata={"model": names[place]} | {key: values[place] for key, values in metadata.items()},
        )
        for place in range(n)
    ]
    return run_of(samples, *columns)
