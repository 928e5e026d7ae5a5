"""Views of each metric of a run: the distribution of its values, and how well it predicts known labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.auroc_intervals import TieGroups
from sgi.stats.calibration import (
    brier,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sgi.kernel.metric_column import MetricColumn
    from sgi.reporting.views.headline import ScoredRows
    from sgi.stats.calibration import Reliability

_BINS = 40
_TAIL = 0.005
_LABELS = {1: "label 1", 0: "label 0", -1: "no label"}
_ALL = "all rows"
_ROC_POINTS = 200
_FEWEST_OF_A_CLASS = 20
_FEWEST_CLUSTERS = 10


@dataclass(frozen=True)
class Distribution:
    """Histogram of a metric: the number of rows in bins of equal width, with edges of shape (bins + 1,).

    The keys of ``counts`` are ``label 1``, ``label 0`` and ``no label``, or ``all rows`` without labels. The
    first and the last bin include the rows ``below`` and ``above`` the edges.
    """

    metric: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    below: int
    above: int


def distributions(columns: ScoredRows) -> tuple[Distribution, ...]:
    """Return the histograms of the metrics that have values."""
    return tuple(_distribution(column, columns.labels) for column in columns.metrics if column.ok.any())


def _distribution(column: MetricColumn, labels: NDArray[np.int8]) -> Distribution:
    values, known = column.values[column.ok], labels[column.ok]
    edges = _edges(column, values)
    inside = np.clip(values, edges[0], edges[-1])
    if (labels >= 0).any():
        groups = {name: known == code for code, name in _LABELS.items()}
    else:
        groups = {_ALL: np.ones(len(values), dtype=np.bool_)}
    return Distribution(
        metric=column.metric,
        edges=tuple(edges.tolist()),
        counts={
            name: tuple(np.histogram(inside[rows], edges)[0].tolist())
            for name, rows in groups.items()
            if rows.any()
        },
        below=int((values < edges[0]).sum()),
        above=int((values > edges[-1]).sum()),
    )


def _edges(column: MetricColumn, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bin edges over the range of the metric if it is [0, 1] or [0, 100], else without outliers."""
    if column.in_unit_range:
        low, high = 0.0, 1.0
    elif column.is_percentage:
        low, high = 0.0, 100.0
    else:
        low, high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5, low + 0.5
    return np.linspace(low, high, _BINS + 1)


@dataclass(frozen=True)
class LabelMetrics:
    """A metric compared with known labels, over the labelled rows with a value.

    Attributes:
        auroc: area under the ROC curve, in the direction of the metric.
        roc: false and true positive rates from (0, 0) to (1, 1), thinned for display.
        reliability: reliability of a Platt map, evaluated out of fold; None if a class has too few rows.
        ece: expected calibration error of the map; None if ``reliability`` is None.
        brier: Brier score of the map, in [0, 1], lower is better; None if ``reliability`` is None.
        base_rate_brier: Brier score of a constant forecast, the share of label 1 in the other folds. A
            useful map has a lower score.
    """

    metric: str
    auroc: float | None
    roc: tuple[tuple[float, float], ...]
    reliability: Reliability | None
    ece: float | None
    rows: int
    brier: float | None = None
    base_rate_brier: float | None = None


def label_metrics(columns: ScoredRows) -> tuple[LabelMetrics, ...]:
    """Compare with the labels each metric that has values for rows of both labels."""
    candidates = (_labelled_metric(column, columns) for column in columns.metrics)
    return tuple(metric for metric in candidates if metric is not None)


def _labelled_metric(column: MetricColumn, columns: ScoredRows) -> LabelMetrics | None:
    rows = column.ok & (columns.labels >= 0)
    truth = columns.labels[rows] == 1
    if truth.all() or not truth.any():
        return None
    scores = column.values[rows] * (1.0 if column.higher_is_better else -1.0)
    labelled = LabelMetrics(
        column.metric, auroc(scores, truth), _roc(scores, truth), None, None, int(rows.sum())
    )
    clusters = columns.run.clusters[rows]
    return _reliability(labelled, scores, truth, clusters) if _enough(truth, clusters) else labelled


def _reliability(
    labelled: LabelMetrics, scores: NDArray[np.float64], truth: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> LabelMetrics:
    folds = grouped_folds(truth, clusters)
    forecast = out_of_fold_probabilities(scores, truth, clusters, folds=folds)
    trivial = out_of_fold_probabilities(scores, truth, clusters, method="base rate", folds=folds)
    return replace(
        labelled,
        reliability=reliability(forecast, truth),
        ece=expected_calibration_error(forecast, truth),
        brier=brier(forecast, truth).score,
        base_rate_brier=brier(trivial, truth).score,
    )


def _enough(truth: NDArray[np.bool_], clusters: NDArray[np.int64]) -> bool:
    """Return whether the rows suffice to fit a map out of fold."""
    return all(
        side.sum() >= _FEWEST_OF_A_CLASS and len(np.unique(clusters[side])) >= _FEWEST_CLUSTERS
        for side in (truth, ~truth)
    )


def _roc(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Return the false and true positive rates at each threshold, strictest first."""
    steps = TieGroups.of(-scores)
    hits = np.cumsum(steps.sums(truth.astype(np.float64))) / truth.sum()
    alarms = np.cumsum(steps.sums((~truth).astype(np.float64))) / (~truth).sum()
    shown = np.unique(np.linspace(0, len(hits) - 1, min(_ROC_POINTS, len(hits))).round().astype(np.int64))
    return ((0.0, 0.0), *zip(alarms[shown].tolist(), hits[shown].tolist(), strict=True))
