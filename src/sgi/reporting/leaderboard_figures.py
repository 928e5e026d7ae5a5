"""Charts of a leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.reporting.charts import Dot, dot_chart, nominal, quantitative
from sgi.reporting.descriptions import describe_systems, short, short_names

if TYPE_CHECKING:
    from sgi.analysis.leaderboard import MetricLeaderboard, SystemScore
    from sgi.reporting.charts import Chart

MAX_METRIC_FIGURES = 12
"""Maximum number of charts of metrics on a page."""


def systems_figure(metric: MetricLeaderboard, unit: str) -> Chart:
    """Draw the mean of each system with its interval and its letters, best first.

    Raises:
        ValueError: the metric has no mean.
    """
    names = short_names([score.system for score in metric.systems])
    scores = [(name, score) for name, score in zip(names, metric.systems, strict=True)]
    dots = [_dot(name, score) for name, score in scores if score.mean is not None]
    if not dots:
        raise ValueError(f"No system has a mean of {metric.metric!r}.")
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
