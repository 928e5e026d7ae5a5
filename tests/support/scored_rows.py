"""Rows of a run with chosen values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.views.headline import ScoredRows
from support.scored_runs import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.metric_column import MetricColumn


def columns_of(
    *metrics: MetricColumn,
    labels: Sequence[int] | None = None,
    metadata: Sequence[dict[str, Any]] | None = None,
    clusters: Sequence[int] | None = None,
) -> ScoredRows:
    """Columns of a run with these metrics; by default without labels and metadata."""
    made = run(*metrics, clusters=clusters)
    n = len(made.ids)
    codes = np.full(n, -1, dtype=np.int8) if labels is None else np.array(labels, dtype=np.int8)
    return ScoredRows(made, codes, tuple(metadata or [{}] * n), {})
