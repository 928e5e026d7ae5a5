"""Rows of a run as columns, read once for all views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.stored_runs import whole_run
from sgi.engine.summarise import class_keys, with_range
from sgi.kernel.short_text import short_repr
from sgi.store.row_query import group_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The scored rows of a run; labels are 1, 0, or −1 if unknown. Rows can share a metadata mapping."""

    run: Run
    labels: NDArray[np.int8]
    metadata: tuple[Mapping[str, JsonValue], ...]
    classes: Mapping[str, Sequence[str | None]]

    __repr__ = short_repr

    @property
    def metrics(self) -> tuple[MetricColumn, ...]:
        """The metrics of the run, in the requested order, each with its range if known."""
        return tuple(map(with_range, self.run.metrics.values()))


def scored_rows(database: Database, record: RunRecord) -> ScoredRows:
    """Read the scored rows of a run."""
    run, labels, metadata, classes = whole_run(database, record, class_keys(record.metrics))
    codes = np.fromiter((-1 if label is None else label for label in labels), np.int8, len(labels))
    named = {metric: list(map(group_name, values)) for metric, values in classes.items()}
    return ScoredRows(run, codes, tuple(metadata), named)
