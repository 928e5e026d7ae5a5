"""Charts of a leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import COLOURS, GREY, Dot, dot_chart, nominal, quantitative
from sgi.reporting.descriptions import describe_pareto, describe_systems, short, short_names

if TYPE_CHECKING:
    from sgi.analysis.leaderboard import MetricLeaderboard, SystemScore
    from sgi.analysis.pareto import Pareto, ParetoMetric
    from sgi.reporting.charts import Chart
    from sgi.stats.intervals import Interval

MAX_METRIC_FIGURES = 12
"""Maximum number of charts of metrics on a page."""

_SIDE = 420
_VERDICTS = {
    "surely on the front": (COLOURS[2], "circle"),
    "perhaps on the front": (COLOURS[5], "diamond"),
    "perhaps dominated": (COLOURS[4], "triangle-up"),
    "surely dominated": (GREY, "square"),
}
"""Colour and shape of each verdict."""


def systems_figure(metric: MetricLeaderboard, unit: str) -> Chart:
    """Draw the mean of each system with its interval and its letters, best first.

    Raises:
        ValueError: the metric has no mean.
    """
    names = short_names([score.system for score in metric.systems])
    scores = [(name, score) for name, score in zip(names, metric.systems, strict=True)]
    dots = [_dot(name, score) for name, score in scores if score.mean is not None]
    if not dots:
        raise ValueError(f"No system has a mean of {short(metric.metric)!r}.")
    direction = "higher" if metric.higher_is_better else "lower"
    chart = dot_chart(
        dots,
        title=f"{short(metric.metric)}: systems and letters",
        axis=f"mean{' (a share)' if metric.is_share else ''}, 95 % interval; {direction} is better",
    )
    ends = [
        {
            "label": name,
            "end": score.mean if score.interval is None else score.interval.high,
            "letters": score.letters,
        }
        for name, score in scores
        if score.mean is not None and score.letters
    ]
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


def _dot(name: str, score: SystemScore) -> Dot:
    low, high = (None, None) if score.interval is None else (score.interval.low, score.interval.high)
    return Dot(name, score.mean or 0.0, low=low, high=high)


def pareto_figure(pareto: Pareto) -> Chart:
    """Draw the systems on two metrics with both intervals; a dashed line joins those on the front."""
    names = short_names([one.system for one in pareto.systems])
    rows = [
        {"system": name, "verdict": one.verdict, "quality": one.quality.mean, "cost": one.cost.mean}
        | ({} if one.quality.interval is None else _ends("quality", one.quality.interval))
        | ({} if one.cost.interval is None else _ends("cost", one.cost.interval))
        for name, one in zip(names, pareto.systems, strict=True)
    ]
    scale = {"zero": False}
    axis = {"tickCount": 6}
    x = quantitative("cost", title=_axis(pareto.cost), scale=scale, axis=axis)
    y = quantitative("quality", title=_axis(pareto.quality), scale=scale, axis=axis)
    colour = _verdict_encoding({one.verdict for one in pareto.systems})
    layers: list[Chart] = [
        {
            "transform": [{"filter": "indexof(datum.verdict, 'front') > 0"}],
            "mark": {
                "type": "line",
                "interpolate": "step-before" if pareto.cost.higher_is_better else "step-after",
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
    tooltip = [nominal("system"), nominal("verdict")]
    layers += [
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"x": x, "y": y, **colour, "tooltip": tooltip},
        },
        {
            "mark": {"type": "text", "align": "left", "baseline": "bottom", "dx": 6, "dy": -4},
            "encoding": {"x": x, "y": y, "text": nominal("system")},
        },
    ]
    return {
        "title": f"{short(pareto.quality.metric)} and {short(pareto.cost.metric)}: Pareto front",
        "description": describe_pareto(pareto),
        "width": _SIDE,
        "height": _SIDE * 3 // 4,
        "data": {"values": rows},
        "layer": layers,
    }


def _ends(field: str, interval: Interval) -> dict[str, float]:
    return {f"{field}_low": interval.low, f"{field}_high": interval.high}


def _axis(metric: ParetoMetric) -> list[str]:
    """Return the two lines of the title of an axis."""
    direction = "higher" if metric.higher_is_better else "lower"
    name = f"{short(metric.metric)}{' (a share)' if metric.is_share else ''}"
    return [name, f"95 % interval; {direction} is better"]


def _verdict_encoding(verdicts: set[str]) -> dict[str, Any]:
    """Return colour and shape of the verdicts that occur, with one legend."""
    names = [name for name in _VERDICTS if name in verdicts]
    legend = {"title": None, "orient": "bottom", "columns": 2}
    ranges = {
        "color": [_VERDICTS[name][0] for name in names],
        "shape": [_VERDICTS[name][1] for name in names],
    }
    return {
        channel: nominal("verdict", scale={"domain": names, "range": values}, legend=legend)
        for channel, values in ranges.items()
    }
