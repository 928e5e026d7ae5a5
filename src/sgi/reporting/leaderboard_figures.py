"""Charts of several systems over the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import GREY, INTERVAL, Dot, dot_chart, interval_ends, nominal, quantitative
from sgi.reporting.descriptions import describe_pareto, describe_systems, short, short_names
from sgi.reporting.leaderboard_view import VERDICT_STYLES, better_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.analysis.leaderboard_result import Leaderboard, MetricLeaderboard
    from sgi.analysis.pareto import Pareto, ParetoMetric
    from sgi.reporting.charts import Chart

MAX_METRIC_FIGURES = 12
"""Maximum number of charts of metrics on a page."""
_SIDE = 420


def systems_figure(metric: MetricLeaderboard, unit: str) -> Chart:
    """Draw the mean of each system with its interval and its letters, best first.

    Raises:
        ValueError: the metric has no mean.
    """
    names = short_names([score.system for score in metric.drawn])
    dots, ends = [], []
    for name, score in zip(names, metric.drawn, strict=True):
        low, high = interval_ends(score.interval)
        dots.append(Dot(name, score.mean, low=low, high=high))
        if score.letters:
            ends.append(
                {"label": name, "end": score.mean if high is None else high, "letters": score.letters}
            )
    if not dots:
        raise ValueError(f"No system has a mean of {short(metric.metric)!r}.")
    chart = dot_chart(
        dots,
        title=f"{short(metric.metric)}: systems and letters",
        axis=_mean_axis(metric),
        interval=INTERVAL,
    )
    if ends:  # Vega warns about an empty layer
        letters = {
            "data": {"values": ends},
            "mark": {"type": "text", "align": "left", "dx": 8, "fontWeight": "bold", "fontSize": 12},
            "encoding": {
                "y": nominal("label", sort=names),
                "x": quantitative("end"),
                "text": nominal("letters"),
            },
        }
        chart["layer"].append(letters)
    return chart | {"description": describe_systems(metric, unit)}


def _mean_axis(metric: MetricLeaderboard) -> str:
    return f"mean{' (a share)' if metric.is_share else ''}, {better_end(metric)}"


def system_groups_figure(board: Leaderboard, place: int) -> Chart:
    """Draw the mean of each system in each group of questions with its interval; ``place`` is the metric.

    Raises:
        ValueError: no group has a mean of the metric.
    """
    metric = board.metrics[place]
    systems = dict(zip(board.systems, short_names(board.systems), strict=True))
    dots = [
        Dot(label, score.mean, systems[score.system], *interval_ends(score.interval))
        for label, group in zip(short_names([one.name for one in board.groups]), board.groups, strict=True)
        for score in sorted(group.metrics[place].drawn, key=lambda one: board.systems.index(one.system))
    ]
    if not dots:
        raise ValueError(f"No group has a mean of {short(metric.metric)!r}.")
    chart = dot_chart(
        dots,
        title=f"{short(metric.metric)} by {short(board.within or '')}",
        axis=_mean_axis(metric),
        interval=INTERVAL,
    )
    described = (f"{one.name}: {describe_systems(one.metrics[place], board.unit)}" for one in board.groups)
    return chart | {"description": " ".join(described)}


def pareto_figure(front: Pareto) -> Chart:
    """Draw the systems on two metrics with both intervals; a dashed line joins the systems on the front."""
    names = short_names([one.system for one in front.systems])
    rows = [
        {"system": name, "verdict": one.verdict, "quality": one.quality.mean, "cost": one.cost.mean}
        | {
            f"{field}_{end}": getattr(mean.interval, end)
            for field, mean in (("quality", one.quality), ("cost", one.cost))
            if mean.interval is not None
            for end in ("low", "high")
        }
        for name, one in zip(names, front.systems, strict=True)
    ]
    x, y = (
        quantitative(field, title=_axis(metric, field, rows), scale={"zero": False}, axis={"tickCount": 6})
        for field, metric in (("cost", front.cost), ("quality", front.quality))
    )
    colour = _verdict_encoding({one.verdict for one in front.systems})
    layers: list[Chart] = [
        {
            "transform": [{"filter": "indexof(datum.verdict, 'front') > 0"}],
            "mark": {
                "type": "line",
                "interpolate": "step-before" if front.cost.higher_is_better else "step-after",
                "strokeDash": [4, 4],
                "color": GREY,
            },
            "encoding": {"x": x, "y": y, "order": quantitative("cost")},
        }
    ]
    layers += [
        {
            "transform": [{"filter": f"isValid(datum.{field}_low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {"x": x, "y": y, "color": colour["color"], **ends},
        }
        for field, ends in (
            ("cost", {"x": x | {"field": "cost_low"}, "x2": {"field": "cost_high"}}),
            ("quality", {"y": y | {"field": "quality_low"}, "y2": {"field": "quality_high"}}),
        )
        if any(f"{field}_low" in row for row in rows)  # Vega warns about an empty layer
    ]
    layers += [
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"x": x, "y": y, **colour, "tooltip": [nominal("system"), nominal("verdict")]},
        },
        {
            "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 6, "dy": -4},
            "encoding": {"x": x, "y": y, "text": nominal("system")},
        },
    ]
    return {
        "title": f"{short(front.quality.metric)} and {short(front.cost.metric)}: Pareto front",
        "description": describe_pareto(front),
        "width": _SIDE,
        "height": _SIDE * 3 // 4,
        "data": {"values": rows},
        "layer": layers,
    }


def _axis(metric: ParetoMetric, field: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the two lines of the title of an axis."""
    name = f"{short(metric.metric)}{' (a share)' if metric.is_share else ''}"
    return [name, f"{better_end(metric)}{INTERVAL if any(f'{field}_low' in row for row in rows) else ''}"]


def _verdict_encoding(verdicts: set[str]) -> dict[str, Any]:
    """Return colour and shape of the verdicts that occur, with one legend."""
    names = [name for name in VERDICT_STYLES if name in verdicts]
    legend = {"title": None, "orient": "bottom", "columns": 2}
    ranges = zip(*(VERDICT_STYLES[name][1:] for name in names), strict=True)
    return {
        channel: nominal("verdict", scale={"domain": names, "range": list(values)}, legend=legend)
        for channel, values in zip(("color", "shape"), ranges, strict=True)
    }
