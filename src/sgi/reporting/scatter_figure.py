"""Scatter plot of two metrics of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import COLOURS, GREY, nominal, quantitative, series_colour
from sgi.reporting.descriptions import describe_scatter, short, short_names
from sgi.reporting.views.scatter import WIDE_GAP

if TYPE_CHECKING:
    from sgi.reporting.charts import Chart
    from sgi.reporting.views.scatter import Scatter, ScatterPoint

_SIDE = 420
_LABELS = {"label 1": COLOURS[0], "label 0": COLOURS[1], "no label": GREY}


def scatter_figure(part: Scatter) -> Chart:
    """Rows by two values; a ring marks rows that the two metrics rank very differently.

    >>> from sgi.reporting.views.scatter import Scatter, ScatterPoint
    >>> points = (ScatterPoint("a", 0.1, 0.9, 0.8, None),)
    >>> scatter_figure(Scatter("semantic_similarity", "rouge_l", points, 1, None, 1, 0))["title"]
    'semantic_similarity against rouge_l'
    """
    up_name, across_name = short_names([part.semantic, part.lexical])
    scale = {"zero": False}
    axes = {
        "x": quantitative("lexical", title=across_name, scale=scale),
        "y": quantitative("semantic", title=up_name, scale=scale),
        "tooltip": _tooltip(up_name, across_name),
    }
    kinds = [name for name in _LABELS if name in {_kind(point) for point in part.points}]
    dots = {
        "mark": {"type": "circle", "size": 28, "opacity": 0.6, "aria": False},
        "encoding": axes | {"color": series_colour("label", kinds, known=_LABELS)},
    }
    layers: list[Chart] = [dots]
    if any(abs(point.gap) > WIDE_GAP for point in part.points):  # Vega warns about an empty layer
        rings = {
            "transform": [{"filter": f"abs(datum.gap) > {WIDE_GAP}"}],
            "mark": {"type": "point", "size": 90, "color": COLOURS[2], "aria": False},
            "encoding": axes,
        }
        layers.append(rings)
    return {
        "title": f"{up_name} against {across_name}",
        "description": describe_scatter(part),
        "width": _SIDE,
        "height": _SIDE,
        # One JSON string: a page cleans each string of a chart, and separate fields would be seven per row.
        "data": {"values": json.dumps([_point(point) for point in part.points]), "format": {"type": "json"}},
        "layer": layers,
    }


def _kind(point: ScatterPoint) -> str:
    return "no label" if point.label is None else f"label {int(point.label)}"


def _point(point: ScatterPoint) -> dict[str, Any]:
    values = {"semantic": point.semantic, "lexical": point.lexical, "gap": point.gap}
    return {"id": short(point.id), **values, "label": _kind(point)}


def _tooltip(up: str, across: str) -> list[Any]:
    numbers = {"semantic": up, "lexical": across, "gap": "rank difference"}
    shown = [quantitative(field, title=title, format=".4f") for field, title in numbers.items()]
    return [nominal("id", title="row"), *shown, nominal("label", title="label")]
