"""The trend of a metric over the runs of the same data, with its change points and alerts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from sgi.analysis.gate.gate import gate
from sgi.analysis.gate.rules import Condition
from sgi.analysis.pairing import pair_rows
from sgi.analysis.run_differences import OTHER_QUESTIONS, data_differences, origin_differences
from sgi.engine.stored_runs import read_run
from sgi.engine.summary import MetricSummary
from sgi.kernel.errors import NotPairedError, UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label
from sgi.kernel.signature import is_same_data
from sgi.stats.change_points import change_points
from sgi.stats.intervals import normal_quantile
from sgi.store.run_history import TRACES, run_history, series_name
from sgi.store.run_queries import find_run
from sgi.store.scored_runs import metric_origins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.rules import Rule
    from sgi.engine.run import Run
    from sgi.store.database import Database
    from sgi.store.run_history import SeriesEntry

MAX_COMPARED = 20_000
"""Maximum rows of data whose questions are compared with those of the run before."""


def series_breaks(database: Database, runs: Sequence[SeriesEntry], metric: str) -> dict[str, str]:
    """Return, by id, why runs with this metric are not comparable with the run before them.

    Each hour of live traces has other questions, so there only what computed the metric counts. The questions
    of large data are not compared; see ``MAX_COMPARED``.
    """
    columns = metric_origins(database, [run.id for run in runs], metric)
    reader = _Reader(database)
    breaks = {}
    for before, run in pairwise(runs):
        found = (one.in_short for one in origin_differences(columns[before.id], columns[run.id]))
        breaks[run.id] = ", ".join([*reader.data_obstacles(before, run), *found])
    return {run: reason for run, reason in breaks.items() if reason}


class _Reader:
    """Compares the data of runs, and keeps the newest one, which the next run needs again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last: tuple[str, Run] | None = None

    def data_obstacles(self, before: SeriesEntry, run: SeriesEntry) -> Iterator[str]:
        large = max(before.rows, run.rows) > MAX_COMPARED
        if run.data == TRACES or large or is_same_data(before.dataset, run.dataset):
            return
        base, new = self._read(before.id), self._read(run.id)
        try:
            differences = data_differences(base, new, pair_rows(base, new))
        except NotPairedError:
            yield OTHER_QUESTIONS
            return
        yield from (one.in_short for one in differences)

    def _read(self, run: str) -> Run:
        if self._last is None or self._last[0] != run:
            self._last = run, read_run(self._database, find_run(self._database, run), metrics=())
        return self._last[1]


MAX_RUNS = 200
"""Maximum number of runs that a trend shows; older ones are only searched for change points."""
MIN_SEARCHED = 2
"""Minimum number of comparable runs with an interval that are searched for change points."""


@dataclass(frozen=True)
class TrendPoint:
    """One run of a trend, with the summary of the metric in this run.

    ``obstacle`` says why the run is not comparable with the run before, so that a new part of the series
    begins; empty if it is. ``level`` is the mean between the change points around the run; None if the run
    has no interval, or is the only one of its part that has one.
    """

    run: str
    label: str
    at: str
    summary: MetricSummary
    obstacle: str = ""
    level: float | None = None


@dataclass(frozen=True)
class Change:
    """A change point: the first run of the new level, both levels, and the always-valid p-value."""

    point: TrendPoint
    before: float
    after: float
    p: float

    @property
    def is_worse(self) -> bool:
        """Whether the new level is worse."""
        return (self.after < self.before) == self.point.summary.higher_is_better


@dataclass(frozen=True)
class Trend:
    """A metric over the runs of the same data, the oldest first.

    Attributes:
        data: name of the data; ``traces`` for the hours of live traces.
        metric: canonical name of the metric.
        points: those of the newest ``MAX_RUNS`` runs that have a mean; at least one.
        changes: the change points among them; each part of comparable runs is searched alone, all runs of it.
    """

    data: str
    metric: str
    points: tuple[TrendPoint, ...]
    changes: tuple[Change, ...]

    @property
    def newest(self) -> TrendPoint:
        """The newest run."""
        return self.points[-1]

    @property
    def worse(self) -> Change | None:
        """The last change point of the newest part, if the metric got worse there; otherwise None."""
        newest = {point.run for point in self.newest_part}
        change = self.changes[-1] if self.changes else None
        return change if change is not None and change.is_worse and change.point.run in newest else None

    @property
    def newest_part(self) -> tuple[TrendPoint, ...]:
        """The newest comparable runs: all runs since the last break in comparability."""
        return tuple(_parts(self.points)[-1])

    @property
    def last_break(self) -> TrendPoint | None:
        """The last run that is not comparable with the run before."""
        first = self.newest_part[0]
        return first if first.obstacle else None

    @property
    def not_searched(self) -> int:
        """The number of runs that are not searched for change points."""
        return sum(point.level is None for point in self.points)


def find_series(database: Database, text: str) -> str:
    """Return the name of the data, given this name or a run that has the data.

    Raises:
        UnknownNameError: there is no such data and no such run.
    """
    if text == TRACES or any(run.data == text for run in run_history(database)):
        return text
    return series_name(find_run(database, text).dataset_name)


def trend(database: Database, data: str, metric: str) -> Trend:
    """Return the trend of a metric, by its canonical string or its name, over the finished runs of data.

    Raises:
        UnknownNameError: there are no finished runs with this data, or none of them has the metric.
    """
    return trend_of(database, run_history(database, data), data, metric)


def trend_of(database: Database, history: Sequence[SeriesEntry], data: str, metric: str) -> Trend:
    """Return the trend of a metric over these runs; see `trend`."""
    if not history:
        hint = "No finished run has data of this name; see `sgi runs`."
        if data == TRACES:
            hint = "No run of live traces is finished: that of an hour is finished when the hour is over."
        raise UnknownNameError("data", data, hint=hint)
    name = _canonical(history[-MAX_RUNS:], data, metric)
    points = _points(database, history, name)
    if not points:
        raise UnknownNameError(f"metric of {data}", metric, hint="No finished run has a mean of it.")
    # All runs are searched: a window that moves would test each of its first runs anew.
    parts = [_with_changes(part) for part in _parts(points)]
    levelled, changes = (tuple(chain.from_iterable(column)) for column in zip(*parts, strict=True))
    shown = levelled[-MAX_RUNS:]
    runs = {point.run for point in shown}
    return Trend(data, name, shown, tuple(change for change in changes if change.point.run in runs))


def trend_metrics(history: Iterable[SeriesEntry]) -> tuple[str, ...]:
    """Return the metrics of which some run has a mean; the metrics of the newest run first."""
    newest_first = reversed([*history])
    return tuple(dict.fromkeys(m for run in newest_first for m in run.entries if run.mean(m) is not None))


def _canonical(history: Sequence[SeriesEntry], data: str, metric: str) -> str:
    names = trend_metrics(history)
    same_name = [name for name in names if metric_name(name) == metric or metric_label(name) == metric]
    if metric in names:
        return metric
    if same_name:  # the definition of the newest run
        return same_name[0]
    raise UnknownNameError(
        f"metric of {data}", metric, hint=f"It has: {', '.join(map(metric_label, names)) or 'no means'}."
    )


def _points(database: Database, history: Sequence[SeriesEntry], metric: str) -> list[TrendPoint]:
    entries = {run: entry for run in history if (entry := run.entry(metric)) and entry["mean"] is not None}
    breaks = series_breaks(database, [*entries], metric)
    return [
        TrendPoint(run.id, run.label, run.created_at, MetricSummary.from_dict(entry), breaks.get(run.id, ""))
        for run, entry in entries.items()
    ]


def _parts(points: Iterable[TrendPoint]) -> list[list[TrendPoint]]:
    """Split a series before each run that is not comparable with the run before."""
    parts: list[list[TrendPoint]] = [[]]
    for point in points:
        if point.obstacle:
            parts.append([])
        parts[-1].append(point)
    return parts


def standard_error(summary: MetricSummary) -> float | None:
    """Return the standard error that the 95 % interval of a mean implies; None without an interval."""
    interval = summary.interval
    if interval is None or not interval.high > interval.low:
        return None
    return (interval.high - interval.low) / (2 * normal_quantile(interval.level))


def _with_changes(points: Sequence[TrendPoint]) -> tuple[tuple[TrendPoint, ...], tuple[Change, ...]]:
    known = [
        (n, point.summary.mean, error)
        for n, point in enumerate(points)
        if point.summary.mean is not None and (error := standard_error(point.summary)) is not None
    ]
    if len(known) < MIN_SEARCHED:
        return tuple(points), ()
    places = [n for n, _, _ in known]
    sizes = [points[n].summary.counts[Status.OK] for n in places]
    steps = change_points([mean for _, mean, _ in known], [error for _, _, error in known], sizes)
    levels = dict(zip(places, steps.levels, strict=True))
    levelled = tuple(replace(point, level=levels.get(n)) for n, point in enumerate(points))
    return levelled, tuple(
        Change(levelled[places[change.position]], change.before, change.after, change.p)
        for change in steps.changes
    )


@dataclass(frozen=True)
class WatchCheck:
    """The check of the newest run that has a mean of the metric.

    ``failed`` are the rules that it violates.
    """

    trend: Trend
    failed: tuple[Check, ...]

    @property
    def change(self) -> Change | None:
        """The last change point, if the metric got worse there; otherwise None."""
        return self.trend.worse

    @property
    def alert(self) -> bool:
        """Whether the run got worse or violates a rule."""
        return self.change is not None or bool(self.failed)


def require_limits(rules: Sequence[Rule]) -> None:
    """Raise a UsageError for a rule on a drop, since a watch has no baseline run."""
    for rule in rules:
        if rule.condition is Condition.MAX_DROP:
            hint = "Leave it out: the watch finds drops itself. `sgi gate --against RUN` checks such rules."
            raise UsageError(f"The rule {rule} needs a baseline run, which a watch does not have.", hint=hint)


def check_newest(database: Database, data: str, metric: str, rules: Sequence[Rule]) -> WatchCheck:
    """Check the newest finished run with this data. It does not count as a gate on its questions.

    Raises:
        UsageError: a rule is on a drop.
        UnknownNameError: there are no finished runs with this data, or none of them has the metric.
    """
    require_limits(rules)
    found = trend(database, data, metric)
    failed: tuple[Check, ...] = ()
    if rules:
        run = read_run(database, find_run(database, found.newest.run))
        failed = tuple(check for check in gate(run, rules, worst=0).checks if not check.passed)
    return WatchCheck(found, failed)
