"""The list of runs with one metric: its value, its change, and the means of recent runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.analysis.changes import MetricChange
from sgi.engine.summary import MetricSummary
from sgi.reporting.metric_format import importance
from sgi.reporting.overview import change_since
from sgi.reporting.views.earlier_run import EarlierRun
from sgi.reporting.views.run_list import run_list
from sgi.store.run_history import finished_metrics, run_history
from sgi.store.run_queries import RecordOrder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.reporting.overview import Change
    from sgi.reporting.views.run_list import RunList
    from sgi.store.database import Database
    from sgi.store.run_history import SeriesEntry
    from sgi.store.run_queries import RunSort

MAX_RECENT = 20
"""Maximum number of recent runs, the shown one included."""


@dataclass(frozen=True)
class MetricCell:
    """The metric in a finished run.

    Attributes:
        data: the name under which the page of trends shows the data of the run.
        summary: the summary of the metric.
        change: the difference of its mean and that of the last finished run before with data of the same
            name, without a test; None without such a run.
        recent: the means among the last ``MAX_RECENT`` runs of the same data up to this run.
    """

    data: str
    summary: MetricSummary
    change: Change | None
    recent: tuple[float, ...]


@dataclass(frozen=True)
class MetricTable:
    """A page of runs with one metric.

    Attributes:
        list: the runs.
        metrics: the metrics of all finished runs, the most important first.
        metric: the metric of this table; "" if there is no finished run.
        cells: the metric in each run of this page, by id; runs without a mean are left out.
    """

    list: RunList
    metrics: tuple[str, ...]
    metric: str
    cells: Mapping[str, MetricCell]


def run_table(
    database: Database,
    *,
    search: str = "",
    tag: str | None = None,
    page: int = 1,
    size: int = 25,
    sort: RunSort = "started",
    descending: bool = True,
    metric: str = "",
) -> MetricTable:
    """Return a page of the runs that match, with a metric; an unknown metric is the most important one.

    The number of SQL statements does not depend on the number of runs, up to 500 on a page.
    """
    history = run_history(database)
    metrics = tuple(sorted(finished_metrics(database), key=importance))
    chosen = metric if metric in metrics else next(iter(metrics), "")
    order = RecordOrder(sort, descending, _means(history, chosen) if sort == "value" else {})
    runs = run_list(database, search=search, tag=tag, page=page, size=size, order=order)
    return MetricTable(runs, metrics, chosen, _cells(history, {run.id for run in runs.runs}, chosen))


def _means(history: Sequence[SeriesEntry], metric: str) -> dict[str, float]:
    return {run.id: mean for run in history if (mean := run.mean(metric)) is not None}


def _cells(history: Sequence[SeriesEntry], shown: set[str], metric: str) -> dict[str, MetricCell]:
    """Return the metric in each shown run; ``history`` is the oldest first."""
    cells: dict[str, MetricCell] = {}
    means: dict[str, float] = {}
    before: dict[str, list[SeriesEntry]] = defaultdict(list)
    for run in history:
        runs = before[run.data]
        entry = run.entry(metric) if run.id in shown else None
        if entry is not None and entry["mean"] is not None:
            summary = MetricSummary.from_dict(entry)
            change = change_since(summary, _earlier(runs[-1] if runs else None, summary))
            last = [*runs[1 - MAX_RECENT :], run]
            means |= _means([one for one in last if one.id not in means], metric)
            recent = tuple(means[one.id] for one in last if one.id in means)
            cells[run.id] = MetricCell(run.data, summary, change, recent)
        runs.append(run)
    return cells


def _earlier(run: SeriesEntry | None, summary: MetricSummary) -> EarlierRun | None:
    """Return the earlier run with the difference of the means."""
    mean = None if run is None else run.mean(summary.metric)
    if run is None or mean is None or summary.mean is None:
        return None
    return EarlierRun(run.id, run.label, {summary.metric: MetricChange(summary.mean - mean)})
