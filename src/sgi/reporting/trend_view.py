"""A trend in words, as a chart and as a table; a check of a watch as a line and as the JSON of a webhook."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from sgi.kernel.short_text import pluralize
from sgi.reporting.charts import COLOURS, GREY, quantitative
from sgi.reporting.descriptions import short
from sgi.reporting.formatting import (
    MetricFormat,
    beginning,
    format_interval,
    format_mean,
    moment,
    probability,
)
from sgi.reporting.safe_text import one_line
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sgi.analysis.trend import Change, Trend, TrendPoint, WatchCheck
    from sgi.reporting.charts import Chart
    from sgi.store.run_history import Annotation

_WIDTH, _HEIGHT = 720, 300
_LONGEST_NOTE = 40
_LONGEST_ALERT = 400


def trend_finding(trend: Trend) -> str:
    """Return what a trend shows in one sentence: its last change point, or that there is none.

    If a part of the series was not searched, or the series has a break, the sentence says so.
    """
    name, runs = short(trend.metric), len(trend.points)
    if runs == 1:
        return f"One run has {name}; a trend needs two"
    end = break_text(trend)
    if not trend.changes:
        searched = runs - trend.not_searched
        of = "" if searched == runs else f" of {runs:,}"
        found = f"No change of {name} was found in {searched:,}{of} runs"
        return (found if searched else f"No run was searched for a change of {name}") + end
    more = len(trend.changes) - 1
    earlier = f"; {pluralize(more, 'earlier change')}" if more else ""
    return f"{name} {change_text(trend.changes[-1])}{earlier}{end}"


def break_text(trend: Trend) -> str:
    """Return the last run that is not comparable with the run before, and why; empty if there is none."""
    last = trend.last_break
    if last is None:
        return ""
    return f"; {beginning(last.label, 60)} is not comparable with the run before: {last.obstacle}"


def change_text(change: Change) -> str:
    """Return a change point in words, such as ``fell from 0.81 to 0.74 at nightly-7 (worse)``."""
    summary = change.point.summary
    form = MetricFormat.of(summary.metric, summary.is_share)
    verb = "fell" if change.after < change.before else "rose"
    direction = "worse" if change.is_worse else "better"
    label = beginning(change.point.label, 60)
    return f"{verb} from {form.value(change.before)} to {form.value(change.after)} at {label} ({direction})"


def trend_table(trend: Trend, link: Callable[[str], str]) -> Table:
    """Return the runs of a trend, the newest first; ``link`` returns the address of the page of a run."""
    changes = {change.point.run: change for change in trend.changes}
    name = short(trend.metric)
    columns = ("run", "started", name, "95 % interval", "rows", "level", "note")
    rows = [_row(point, changes.get(point.run), link) for point in reversed(trend.points)]
    return Table(columns, rows, f"{name} of {trend.data}, newest run first", left=("started", "note"))


def _row(point: TrendPoint, change: Change | None, link: Callable[[str], str]) -> list[str]:
    summary = point.summary
    form = MetricFormat.of(summary.metric, summary.is_share)
    notes = [f"not comparable with the run before: {point.obstacle}"] if point.obstacle else []
    css = ""
    if change is not None:
        direction, css = ("worse", "verdict worse") if change.is_worse else ("better", "verdict better")
        notes.insert(0, f"change point, {direction} (p = {probability(change.p)})".replace("= <", "<"))
    return [
        Cell(beginning(point.label, 60), link=link(point.run)),
        moment(point.at),
        format_mean(summary),
        format_interval(summary),
        f"{summary.ok:,}",
        form.value(point.level),
        Cell("; ".join(notes), css=css),
    ]


def trend_figure(trend: Trend, notes: Sequence[Annotation], *, by_run: bool) -> Chart:
    """Draw the means with their intervals, the levels between change points, and annotations."""
    rows = [_datum(point) for point in trend.points]
    shared = {"x": _across(trend, by_run=by_run)}
    direction = "higher" if trend.newest.summary.higher_is_better else "lower"
    axis = f"mean of {short(trend.metric)}; {direction} is better"
    up = {"scale": {"zero": False}, "title": axis}
    dot = {"type": "point", "filled": True, "size": 50, "opacity": 1, "color": COLOURS[0]}
    tooltip = [{"field": name, "type": "nominal"} for name in ("run", "mean", "interval", "started")]
    layers: list[Chart] = [
        _annotation_layer(notes, trend, by_run=by_run, line=True),
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5, "color": COLOURS[0]},
            "encoding": shared | {"y": quantitative("low", **up), "y2": {"field": "high"}},
        },
        _level_layer(trend, shared, by_run=by_run),
        {"mark": dot, "encoding": shared | {"y": quantitative("value", **up), "tooltip": tooltip}},
        _annotation_layer(notes, trend, by_run=by_run, line=False),
    ]
    return {
        "title": f"{short(trend.metric)} of {trend.data}",
        "description": (
            f"{len(rows)} runs with 95 % intervals. Orange lines are the mean levels between change points; "
            "dashed lines are annotations. The table has the same numbers."
        ),
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "layer": [layer for layer in layers if layer],
    }


def _datum(point: TrendPoint) -> dict[str, Any]:
    summary = point.summary
    ends = {"low": summary.interval.low, "high": summary.interval.high} if summary.interval else {}
    shown = {"mean": format_mean(summary), "interval": format_interval(summary), "started": moment(point.at)}
    return {"run": beginning(point.label, 40), "at": point.at, "value": summary.mean} | ends | shown


def _across(trend: Trend, *, by_run: bool) -> dict[str, Any]:
    if not by_run:
        time = {"type": "temporal", "scale": {"type": "utc"}, "title": "started (UTC)"}
        return {"field": "at", **time}
    labels = [beginning(point.label, 40) for point in trend.points]
    axis = {"labelAngle": -40, "labelLimit": 120, "labelOverlap": True}
    return {"field": "run", "type": "ordinal", "scale": {"domain": labels}, "title": None, "axis": axis}


def _level_layer(trend: Trend, shared: dict[str, Any], *, by_run: bool) -> Chart:
    levels = []
    known = [point for point in trend.points if point.level is not None]
    for level, points in groupby(known, key=lambda point: point.level):
        first, *rest = map(_datum, points)
        last = rest[-1] if rest else first
        place = "run" if by_run else "at"
        levels.append({place: first[place], "end": last[place], "level": level})
    if not levels:
        return {}
    return {
        "data": {"values": levels},
        "mark": {"type": "rule", "strokeWidth": 3, "color": COLOURS[1]},
        "encoding": shared | {"x2": {"field": "end"}, "y": quantitative("level")},
    }


def _annotation_layer(notes: Iterable[Annotation], trend: Trend, *, by_run: bool, line: bool) -> Chart:
    """Draw the lines of annotations, or their texts; those outside the runs are only in the list below."""
    rows = [
        {"run": beginning(after.label, 40), "at": note.at, "text": beginning(note.text, _LONGEST_NOTE)}
        for note in notes
        if trend.points[0].at <= note.at
        and (after := next((point for point in trend.points if point.at >= note.at), None)) is not None
    ]
    if not rows:
        return {}
    mark: dict[str, Any] = {"type": "rule", "strokeDash": [5, 4], "color": GREY}
    encoding: dict[str, Any] = {"x": _across(trend, by_run=by_run)}
    if not line:
        mark = {"type": "text", "angle": 270, "align": "right", "dy": -6, "y": 4, "fontSize": 11}
        encoding["text"] = {"field": "text", "type": "nominal"}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def watch_line(check: WatchCheck) -> str:
    """Return a check on one line: data, run, mean with interval, and the reasons of an alert."""
    newest = check.trend.newest
    mean = f"{short(check.trend.metric)} {format_mean(newest.summary)} {format_interval(newest.summary)}"
    state = f"ALERT: {'; '.join(_reasons(check))}" if check.alert else "no alert"
    searched = "" if newest.level is not None else "; not searched for a change"
    text = f"{check.trend.data}: {newest.label}, {mean}: {state}{searched}{break_text(check.trend)}"
    return one_line(text, longest=_LONGEST_ALERT)


def watch_payload(check: WatchCheck) -> dict[str, Any]:
    """Return the JSON of an alert; ``text`` is what chat services show."""
    newest, change, last = check.trend.newest, check.change, check.trend.last_break
    interval = newest.summary.interval
    return {
        "text": f"SGI: {watch_line(check)}",
        "data": check.trend.data,
        "metric": check.trend.metric,
        "run": {"id": newest.run, "name": newest.label, "started": newest.at},
        "mean": newest.summary.mean,
        "interval": None if interval is None else [interval.low, interval.high],
        "change": None
        if change is None
        else {"run": change.point.run, "before": change.before, "after": change.after, "p": change.p},
        "break": None if last is None else {"run": last.run, "reason": last.obstacle},
        "rules": [
            {"rule": rule.rule, "value": rule.value, "bound": rule.bound, "reason": rule.reason}
            for rule in check.failed
        ],
    }


def _reasons(check: WatchCheck) -> list[str]:
    change = [] if check.change is None else [f"the mean {change_text(check.change)}"]
    return [*change, *(f"{rule.rule} failed: {rule.reason}" for rule in check.failed)]
