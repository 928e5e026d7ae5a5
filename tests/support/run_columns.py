"""Columns of a run made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.views.columns import RunColumns
from support.scored_runs import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.scored_run import MetricColumn


def columns_of(
    *given: MetricColumn,
    labels: Sequence[int] | None = None,
    metadata: Sequence[dict[str, Any]] | None = None,
    clusters: Sequence[int] | None = None,
) -> RunColumns:
    """The rows of a run with these metrics; labels are unknown and metadata empty unless given."""
    made = run(*given, clusters=clusters)
    n = len(made.ids)
    codes = np.full(n, -1, dtype=np.int8) if labels is None else np.array(labels, dtype=np.int8)
    return RunColumns(made, codes, tuple(metadata or [{}] * n), {})
