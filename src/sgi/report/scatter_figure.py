"""Two metrics of a run against each other, as a chart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import altair as alt

from sgi.report.charts import COLOURS, GREY, series_colour
from sgi.report.descriptions import description_of_scatter, short, short_names
from sgi.report.views.scatter import WIDE_GAP

if TYPE_CHECKING:
    from sgi.report.charts import AnyChart
    from sgi.report.views.scatter import Scatter, ScatterPoint

_SIDE = 420
_LABELS = {"label 1": COLOURS[0], "label 0": COLOURS[1], "no label": GREY}


def scatter_figure(part: Scatter) -> AnyChart:
    """Every row by its two values; a ring marks a row that the two metrics rank very differently.

    >>> from sgi.report.views.scatter import Scatter, ScatterPoint
    >>> points = (ScatterPoint("a", 0.1, 0.9, 0.8, None),)
    >>> scatter_figure(Scatter("semantic_similarity", "rouge_l", points, 1, None, 1, 0)).to_dict()["title"]
    'semantic_similarity against rouge_l'
    """
    up_name, across_name = short_names([part.semantic, part.lexical])
    values = json.dumps([_point(point) for point in part.points])
    data = alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))
    across = alt.X("lexical:Q", title=across_name, scale=alt.Scale(zero=False))
    up = alt.Y("semantic:Q", title=up_name, scale=alt.Scale(zero=False))
    base = alt.Chart(data).encode(x=across, y=up)
    kinds = [name for name in _LABELS if name in {_kind(point) for point in part.points}]
    dots = base.mark_circle(size=28, opacity=0.6, aria=False).encode(
        color=series_colour("label", kinds, known=_LABELS), tooltip=_tooltip(up_name, across_name)
    )
    layers = [dots]
    if any(abs(point.gap) > WIDE_GAP for point in part.points):  # an empty layer has no extent, and warns
        rings = base.mark_point(size=90, color=COLOURS[2], aria=False)
        rings = rings.transform_filter(f"abs(datum.gap) > {WIDE_GAP}")
        layers.append(rings.encode(tooltip=_tooltip(up_name, across_name)))
    drawn: AnyChart = alt.layer(*layers).properties(
        title=f"{up_name} against {across_name}",
        width=_SIDE,
        height=_SIDE,
        description=description_of_scatter(part),
    )
    return drawn


def _kind(point: ScatterPoint) -> str:
    return "no label" if point.label is None else f"label {int(point.label)}"


def _point(point: ScatterPoint) -> dict[str, Any]:
    values = {"semantic": point.semantic, "lexical": point.lexical, "gap": point.gap}
    return {"id": short(point.id), **values, "label": _kind(point)}


def _tooltip(up: str, across: str) -> list[Any]:
    numbers = {"semantic": up, "lexical": across, "gap": "gap of the ranks"}
    told = [alt.Tooltip(f"{field}:Q", title=title, format=".4f") for field, title in numbers.items()]
    return [alt.Tooltip("id:N", title="row"), *told, alt.Tooltip("label:N", title="label")]
