"""The check of a watch as a line of text, and as the JSON of a webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting.descriptions import short
from sgi.reporting.formatting import format_interval, format_mean, one_line
from sgi.reporting.trend_view import break_text, change_text

if TYPE_CHECKING:
    from sgi.analysis.watch import WatchCheck

_LONGEST = 400


def watch_line(check: WatchCheck) -> str:
    """Return a check on one line: data, run, mean with interval, and the reasons of an alert."""
    newest = check.trend.newest
    mean = f"{short(check.trend.metric)} {format_mean(newest.summary)} {format_interval(newest.summary)}"
    state = f"ALERT: {'; '.join(_reasons(check))}" if check.alert else "no alert"
    searched = "" if newest.level is not None else "; not searched for a change"
    text = f"{check.trend.data}: {newest.label}, {mean}: {state}{searched}{break_text(check.trend)}"
    return one_line(text, longest=_LONGEST)


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
