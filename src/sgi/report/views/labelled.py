"""The metrics of a run against known labels: ranking and calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.calibration import (
    brier,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.rank_counts import TieGroups
from sgi.stats.ranking import auroc

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
        brier: the Brier score of the same map, in [0, 1], lower is better; None without it.
        base_rate_brier: that of a forecast which takes no notice of the metric: the share of label 1 in the
            other folds. A map that is not below it has learnt nothing; None without it.
    """

    metric: str
    auroc: float | None
    roc: tuple[tuple[float, float], ...]
    reliability: Reliability | None
    ece: float | None
    rows: int
    brier: float | None = None
    base_rate_brier: float | None = None


def labelled(columns: RunColumns) -> tuple[Labelled, ...]:
    """Metrics against labels, where rows of both have values."""
    made = (_labelled(column, columns) for column in columns.metrics)
    return tuple(found for found in made if found is not None)


def _labelled(column: MetricColumn, columns: RunColumns) -> Labelled | None:
    rows = column.ok & (columns.labels >= 0)
    truth = columns.labels[rows] == 1
    if truth.all() or not truth.any():
        return None
    scores = column.values[rows] * (1.0 if column.higher_is_better else -1.0)
    found = Labelled(column.metric, auroc(scores, truth), _roc(scores, truth), None, None, int(rows.sum()))
    clusters = columns.run.clusters[rows]
    return _calibrated(found, scores, truth, clusters) if _enough(truth, clusters) else found


def _calibrated(
    found: Labelled, scores: NDArray[np.float64], truth: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> Labelled:
    folds = grouped_folds(truth, clusters)
    forecast = out_of_fold_probabilities(scores, truth, clusters, folds=folds)
    trivial = out_of_fold_probabilities(scores, truth, clusters, method="base rate", folds=folds)
    return replace(
        found,
        reliability=reliability(forecast, truth),
        ece=expected_calibration_error(forecast, truth),
        brier=brier(forecast, truth).score,
        base_rate_brier=brier(trivial, truth).score,
    )


def _enough(truth: NDArray[np.bool_], clusters: NDArray[np.int64]) -> bool:
    """Whether a map can be fitted without the rows it is told of."""
    return all(
        side.sum() >= _FEWEST_OF_A_CLASS and len(np.unique(clusters[side])) >= _FEWEST_CLUSTERS
        for side in (truth, ~truth)
    )


def _roc(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """False and true positive rates at each threshold, from the strictest to the loosest."""
    steps = TieGroups.of(-scores)
    hits = np.cumsum(steps.sums(truth.astype(np.float64))) / truth.sum()
    alarms = np.cumsum(steps.sums((~truth).astype(np.float64))) / (~truth).sum()
    shown = np.unique(np.linspace(0, len(hits) - 1, min(_ROC_POINTS, len(hits))).round().astype(np.int64))
    return ((0.0, 0.0), *zip(alarms[shown].tolist(), hits[shown].tolist(), strict=True))
