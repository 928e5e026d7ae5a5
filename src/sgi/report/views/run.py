"""A run as people look at it: headline, distributions, groups, correlations, worst rows, rankings, cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.groups import grouped
from sgi.engine.summary import Summary
from sgi.report.views.columns import run_columns
from sgi.report.views.head import run_head
from sgi.report.views.sample import sample_views
from sgi.store.queries import run_usage
from sgi.store.run_rows import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sgi.engine.groups import Group
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.ports import Usage
    from sgi.kernel.scored import MetricColumn
    from sgi.report.views.columns import RunColumns
    from sgi.report.views.head import RunHead
    from sgi.report.views.sample import SampleView
    from sgi.stats.calibration import Reliability
    from sgi.stats.confounds import Baseline
    from sgi.store.database import Database
    from sgi.store.queries import RunRecord
    from sgi.store.run_rows import Reason

_REASONS = 20
_MOST_DISAGREEING = 10


@dataclass(frozen=True)
class Headline:
    """The numbers that stand first, each with its coverage and interval.

    Attributes:
        metrics: in the order asked.
        baselines: what length and token overlap alone would have ranked; empty without labels or a summary.
        labelled: rows with a label; 0 where that was not counted.
        positives: of them those labelled true.
        questions: how many distinct questions there are; 0 where that was not counted.
        copies: labelled rows whose response is its reference to the letter.
        truncated: rows by the field that was longer than the model reads.
        left_out: rows scored without a model that gave no vectors, by the model's name.
        partial: why these are not the numbers of a whole, finished run; empty where they are.
    """

    metrics: tuple[MetricSummary, ...]
    baselines: tuple[Baseline, ...]
    labelled: int
    positives: int
    questions: int
    copies: int
    truncated: Mapping[str, int]
    left_out: Mapping[str, int]
    partial: str


@dataclass(frozen=True)
class Distribution:
    """How the values of a metric are spread, in bins of equal width.

    Attributes:
        metric: its canonical string.
        edges: of the bins, ascending, one more than there are bins.
        counts: rows in each bin, by ``label 1``, ``label 0`` and ``no label``, or ``all rows`` where no row
            has a label.
        below: rows left of the first edge, which the first bin counts too.
        above: rows right of the last edge, which the last bin counts too.
    """

    metric: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    below: int
    above: int


@dataclass(frozen=True)
class PlanePoint:
    """A row in the plane of θ(r,c) and θ(r,q).

    Attributes:
        id: the sample's.
        position: its place in the data.
        theta_rc: angle between response and context, radians.
        theta_rq: angle between response and question, radians.
        value: its SGI.
        label: known truth; None where there is none.
    """

    id: str
    position: int
    theta_rc: float
    theta_rq: float
    value: float
    label: bool | None


@dataclass(frozen=True)
class Plane:
    """The rows of a run in the plane of the two angles; on the diagonal SGI is 1.

    Attributes:
        metric: whose angles they are, a canonical string.
        points: evenly spaced over the data where there are more rows than were wanted.
        rows: how many rows have both angles.
    """

    metric: str
    points: tuple[PlanePoint, ...]
    rows: int


@dataclass(frozen=True)
class GroupTable:
    """A run by one column of its data.

    Attributes:
        by: the column.
        groups: the largest first.
    """

    by: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Correlation:
    """How alike metrics rank the rows.

    Attributes:
        metrics: canonical strings.
        spearman: one row and one column a metric, over the rows that have both values; None where a metric
            does not vary there.
        rows: how many rows each pair was computed over, of the same shape.
    """

    metrics: tuple[str, ...]
    spearman: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Disagreeing:
    """A row that two metrics see differently.

    Attributes:
        sample: the row.
        semantic: its semantic value.
        lexical: its lexical value.
        gap: its semantic rank minus its lexical one, both as shares of the rows, in [−1, 1].
    """

    sample: SampleView
    semantic: float
    lexical: float
    gap: float


@dataclass(frozen=True)
class Disagreement:
    """Where meaning and wording disagree most.

    Attributes:
        semantic: the metric of meaning, a canonical string.
        lexical: the metric of wording, a canonical string.
        rows: the greatest gaps first.
    """

    semantic: str
    lexical: str
    rows: tuple[Disagreeing, ...]


@dataclass(frozen=True)
class WorstRows:
    """The rows with the worst values of a metric.

    Attributes:
        metric: its canonical string.
        higher_is_better: its direction.
        samples: the worst first; ties in the order of the data.
    """

    metric: str
    higher_is_better: bool
    samples: tuple[SampleView, ...]


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


@dataclass(frozen=True)
class RunView:
    """A run, whole.

    Attributes:
        head: what it is.
        headline: its numbers.
        distributions: one a metric that has values.
        plane: None where no metric of the run has the two angles.
        groups: by label and by each column of the metadata with few values.
        correlation: None with fewer than two metrics that vary.
        disagreement: None without a semantic and a lexical metric.
        worst: one a metric that has values.
        labelled: one a metric, where rows of both labels have values.
        reasons: why rows have no value, the most frequent first.
        usage: what was asked of each judge, by its fingerprint.
    """

    head: RunHead
    headline: Headline
    distributions: tuple[Distribution, ...]
    plane: Plane | None
    groups: tuple[GroupTable, ...]
    correlation: Correlation | None
    disagreement: Disagreement | None
    worst: tuple[WorstRows, ...]
    labelled: tuple[Labelled, ...]
    reasons: tuple[Reason, ...]
    usage: Mapping[str, Usage]


def headline(database: Database, record: RunRecord, columns: RunColumns | None = None) -> Headline:
    """The numbers that stand first: those that were kept when the run ended, else computed now.

    Args:
        database: where the run is.
        record: the run.
        columns: its rows, where they have been read already.
    """
    if record.summary is not None:
        return _kept(Summary.from_dict(record.summary), record)
    if not record.scored:
        return _computed((), record)
    read = columns or run_columns(database, record)
    (whole,) = grouped(read.run, [None] * len(read.run.ids), classes=read.classes)
    metrics = (replace(made, classes=whole.classes.get(made.metric, {})) for made in whole.metrics)
    return _computed(tuple(metrics), record)


def _kept(told: Summary, record: RunRecord) -> Headline:
    return Headline(
        metrics=told.metrics,
        baselines=told.baselines,
        labelled=told.labelled,
        positives=told.positives,
        questions=told.questions,
        copies=told.copies,
        truncated=told.truncated,
        left_out=told.left_out,
        partial="" if record.finished else _partial(record),
    )


def _computed(metrics: tuple[MetricSummary, ...], record: RunRecord) -> Headline:
    return Headline(metrics, (), 0, 0, 0, 0, {}, {}, _partial(record))


def _partial(record: RunRecord) -> str:
    if record.scored < record.rows:
        return f"numbers of the {record.scored:,} rows that are scored, of {record.rows:,}"
    return "numbers computed now, from the scores of the rows"


def run_view(database: Database, record: RunRecord, *, worst: int = 10, points: int = 10_000) -> RunView:
    """All that is shown of a run.

    Args:
        database: where the run is.
        record: the run.
        worst: how many of the worst rows of each metric, and of those where two metrics disagree.
        points: how many points of the plane at most.
    """
    from sgi.report.views import run_parts as parts

    columns = run_columns(database, record)
    return RunView(
        head=run_head(record),
        headline=headline(database, record, columns),
        distributions=parts.distributions(columns),
        plane=parts.plane(database, record, most=points),
        groups=parts.group_tables(columns),
        correlation=parts.correlation(columns),
        disagreement=disagreement(database, record, columns, most=worst),
        worst=worst_rows(database, record, columns, most=worst),
        labelled=parts.labelled(columns),
        reasons=tuple(reasons(database, record, most=_REASONS)),
        usage=run_usage(database, record.id),
    )


def worst_rows(
    database: Database, record: RunRecord, columns: RunColumns, *, most: int
) -> tuple[WorstRows, ...]:
    """The rows with the worst values of each metric that has values."""
    wanted = {column.metric: _worst(column, most) for column in columns.metrics if column.ok.any()}
    ids = columns.run.ids
    known = sample_views(database, record, (ids[row] for rows in wanted.values() for row in rows))
    higher = {column.metric: column.higher_is_better for column in columns.metrics}
    return tuple(
        WorstRows(name, higher[name], tuple(known[ids[row]] for row in rows if ids[row] in known))
        for name, rows in wanted.items()
    )


def _worst(column: MetricColumn, most: int) -> list[int]:
    rows = np.flatnonzero(column.ok)
    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    return [int(row) for row in rows[np.argsort(values, kind="stable")[:most]]]


def disagreement(
    database: Database, record: RunRecord, columns: RunColumns, *, most: int
) -> Disagreement | None:
    """The rows that a metric of meaning and one of wording rank most differently; None without the two."""
    from sgi.report.views.run_parts import semantic_and_lexical

    pair = semantic_and_lexical(columns)
    if pair is None:
        return None
    semantic, lexical = pair
    rows = np.flatnonzero(semantic.ok & lexical.ok)
    if not len(rows):
        return None
    gaps = _rank_shares(semantic, rows) - _rank_shares(lexical, rows)
    first = np.argsort(-np.abs(gaps), kind="stable")[:most]
    ids = columns.run.ids
    known = sample_views(database, record, (ids[row] for row in rows[first]))
    return Disagreement(
        semantic.metric,
        lexical.metric,
        tuple(
            Disagreeing(
                known[ids[row]], float(semantic.values[row]), float(lexical.values[row]), float(gaps[place])
            )
            for place, row in zip(first, rows[first], strict=True)
            if ids[row] in known
        ),
    )


def _rank_shares(column: MetricColumn, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where each row stands among these, from 0, the worst, to 1, the best; equal values stand together."""
    from scipy.stats import rankdata

    values = column.values[rows] if column.higher_is_better else -column.values[rows]
    ranks: NDArray[np.float64] = rankdata(values)
    return (ranks - 1) / max(len(rows) - 1, 1)
