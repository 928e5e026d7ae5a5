"""The metrics of a run against known labels: ranking and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.calibration import expected_calibration_error, out_of_fold, reliability
from sgi.stats.ranking import auroc
from sgi.stats.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn
    from sgi.report.views.columns import RunColumns
    from sgi.stats.calibration import Reliability

_ROC_POINTS = 200
_FEWEST_OF_A_CLASS = 20
_FEWEST_CLUSTERS = 10


@dataclass(frozen=True)
class Labelled:
    """A metric against known labels.

    Attributes:
        metric: its canonical string.
        auroc: of the metric in its own direction, over the labelled rows with a value.
        roc: false and true positive rates from (0, 0) to (1, 1), thinned to what a screen can show.
        reliability: of a Platt map, fitted and told out of fold; None where too few rows are of a class.
        ece: its expected calibration error; None without it.
        rows: labelled rows with a value.
    """

    metric: str
    auroc: float | None
    roc: tuple[tuple[float, float], ...]
    reliability: Reliability | None
    ece: float | None
    rows: int


def labelled(columns: RunColumns) -> tuple[Labelled, ...]:
    """Each metric against the labels, where rows of both have values."""
    made = (_labelled(column, columns) for column in columns.metrics)
    return tuple(found for found in made if found is not None)


def _labelled(column: MetricColumn, columns: RunColumns) -> Labelled | None:
    rows = column.ok & (columns.labels >= 0)
    truth = columns.labels[rows] == 1
    if truth.all() or not truth.any():
        return None
    scores = column.values[rows] * (1.0 if column.higher_is_better else -1.0)
    bins, error = None, None
    clusters = columns.run.clusters[rows]
    if _enough(truth, clusters):
        forecast = out_of_fold(scores, truth, clusters)
        bins, error = reliability(forecast, truth), expected_calibration_error(forecast, truth)
    return Labelled(column.metric, auroc(scores, truth), _roc(scores, truth), bins, error, int(rows.sum()))


def _enough(truth: NDArray[np.bool_], clusters: NDArray[np.int64]) -> bool:
    """Whether a map can be fitted without the rows it is told of."""
    return all(
        side.sum() >= _FEWEST_OF_A_CLASS and len(np.unique(clusters[side])) >= _FEWEST_CLUSTERS
        for side in (truth, ~truth)
    )


def _roc(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """False and true positive rates at each threshold, from the strictest to the loosest."""
    steps = Steps.of(-scores)
    hits = np.cumsum(steps.sums(truth.astype(np.float64))) / truth.sum()
    alarms = np.cumsum(steps.sums((~truth).astype(np.float64))) / (~truth).sum()
    shown = np.unique(np.linspace(0, len(hits) - 1, min(_ROC_POINTS, len(hits))).round().astype(np.int64))
    return ((0.0, 0.0), *zip(alarms[shown].tolist(), hits[shown].tolist(), strict=True))
