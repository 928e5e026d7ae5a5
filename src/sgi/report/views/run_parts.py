"""The parts of a run's view, each made of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.groups import class_keys, grouped
from sgi.kernel.errors import SgiError
from sgi.kernel.metric import Metric
from sgi.kernel.registry import metric as metric_called
from sgi.kernel.sample import Field
from sgi.report.views.run import Correlation, Distribution, GroupTable, Labelled, Plane, PlanePoint
from sgi.stats.calibration import expected_calibration_error, out_of_fold, reliability
from sgi.stats.draws import differ
from sgi.stats.effects import spearman
from sgi.stats.ranking import auroc
from sgi.stats.steps import Steps
from sgi.store.row_filters import group_name
from sgi.store.row_pages import plane_rows
from sgi.store.run_rows import grouped_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.scored import MetricColumn
    from sgi.report.views.columns import RunColumns
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord

MOST_GROUPS = 20
"""A column of the data with more values than that is not one of groups."""

_BINS = 40
_TAIL = 0.005
_ROC_POINTS = 200
_FEWEST_OF_A_CLASS = 20
_FEWEST_CLUSTERS = 10
_LABELS = {1: "label 1", 0: "label 0", -1: "no label"}
_ALL = "all rows"


def distributions(columns: RunColumns) -> tuple[Distribution, ...]:
    """How each metric is spread, for those that have values."""
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
    """Of bins over the whole of a share's range, and over all but the outermost values of anything else."""
    if column.is_share:
        low, high = 0.0, 1.0
    elif column.is_percentage:
        low, high = 0.0, 100.0
    else:
        low, high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        low, high = low - 0.5, low + 0.5
    return np.linspace(low, high, _BINS + 1)


def plane(database: Database, record: RunRecord, *, most: int) -> Plane | None:
    """The rows in the plane of the two angles; None where no metric of the run has kept them.

    Args:
        database: where the run is.
        record: the run.
        most: how many points at most; of more rows, evenly spaced ones are taken.
    """
    found = plane_rows(database, record, most=most)
    if found is None:
        return None
    points = tuple(
        PlanePoint(
            id=row.id,
            position=row.position,
            theta_rc=row.theta_rc,
            theta_rq=row.theta_rq,
            value=row.value,
            label=row.label,
        )
        for row in found.points
    )
    return Plane(found.metric, points, found.rows)


def group_tables(columns: RunColumns) -> tuple[GroupTable, ...]:
    """The run by label and by each column of the metadata that has from 2 to ``MOST_GROUPS`` values."""
    return tuple(
        _group_table(by, columns.run, values, columns.classes) for by, values in _group_columns(columns)
    )


def group_table(database: Database, record: RunRecord, by: str) -> GroupTable:
    """The run by one column of its data, however many values it has.

    Args:
        database: where the run is.
        record: the run.
        by: a metadata column, or ``label``.

    Raises:
        UnknownName: no row has such a column; says which there are.
    """
    run, values, classes = grouped_run(database, record, by, class_keys(record.metrics))
    named = {metric: list(map(group_name, found)) for metric, found in classes.items()}
    return _group_table(by, run, list(map(group_name, values)), named)


def _group_table(by: str, run: Any, values: Sequence[str | None], classes: Any) -> GroupTable:
    return GroupTable(by, grouped(run, values, classes=classes))


def _group_columns(columns: RunColumns) -> Iterator[tuple[str, list[str | None]]]:
    if len(set(columns.labels.tolist())) > 1:
        yield "label", [None if label < 0 else str(label) for label in columns.labels.tolist()]
    for name in dict.fromkeys(key for row in columns.metadata for key in row):
        values = [group_name(row.get(name)) for row in columns.metadata]
        if 1 < len(set(values)) <= MOST_GROUPS and name != "label":
            yield name, values


def correlation(columns: RunColumns) -> Correlation | None:
    """How alike the metrics rank the rows; None with fewer than two that vary."""
    varying = [column for column in columns.metrics if differ(column.values[column.ok])]
    if len(varying) < 2:  # noqa: PLR2004 - one metric has nothing to be compared with
        return None
    both = [[one.ok & other.ok for other in varying] for one in varying]
    return Correlation(
        metrics=tuple(column.metric for column in varying),
        spearman=tuple(
            tuple(
                spearman(one.values[rows], other.values[rows]) if rows.sum() > 1 else None
                for other, rows in zip(varying, line, strict=True)
            )
            for one, line in zip(varying, both, strict=True)
        ),
        rows=tuple(tuple(int(rows.sum()) for rows in line) for line in both),
    )


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


def semantic_and_lexical(columns: RunColumns) -> tuple[MetricColumn, MetricColumn] | None:
    """The first metric that compares meaning with the reference, and the first that compares wording."""
    semantic = [column for column in columns.metrics if _compares(column.metric, embeds=True)]
    lexical = [column for column in columns.metrics if _compares(column.metric, embeds=False)]
    return (semantic[0], lexical[0]) if semantic and lexical else None


def _compares(canonical: str, *, embeds: bool) -> bool:
    """Whether a metric compares response and reference, by vectors or without."""
    try:
        found = metric_called(canonical)
    except SgiError:  # one of a plugin that is not installed here
        return False
    return isinstance(found, Metric) and Field.REFERENCE in found.spec.needs and found.embeds is embeds
