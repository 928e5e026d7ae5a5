"""Charts with one dot per row: the angle plane, and one metric against another."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import (
    COLOURS,
    GREY,
    LABEL_COLOURS,
    diagonal,
    nominal,
    quantitative,
    series_colour,
)
from sgi.reporting.descriptions import describe_plane, describe_scatter, short, short_names
from sgi.reporting.views.metric_pairs import WIDE_GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.reporting.charts import Chart
    from sgi.reporting.views.metric_pairs import Scatter
    from sgi.store.angle_plane import Plane, PlanePoint

_SIDE = 420
_COLOUR_TAIL = 0.02
"""Share of the values at each end of the scale that get the colour of that end."""
_DOTS = {"type": "circle", "size": 28, "opacity": 0.6, "aria": False}


def plane_figure(part: Plane, *, brush: bool = False) -> Chart:
    """Draw rows by their two angles, coloured by label or value; SGI is 1 on the diagonal, higher above it.

    With ``brush``, the mouse can select a rectangle: the selection is named ``brush``, the data ``points``.
    """
    low, high = _ends(part.points)
    scale = {"domain": [low, high], "nice": False}
    axes = {
        "x": quantitative("theta_rc", title="θ(r, c): response and context, rad", scale=scale),
        "y": quantitative("theta_rq", title="θ(r, q): response and question, rad", scale=scale),
    }
    rows = (
        {"id": row.id, "position": row.position, "theta_rc": row.theta_rc, "theta_rq": row.theta_rq}
        | {"value": row.value, "label": _label_name(row.label)}
        for row in part.points
    )
    points: Chart = {
        "data": _data(rows),
        "mark": _DOTS,
        "encoding": axes | {"color": _plane_colour(part)},
    }
    if not brush:
        numbers = {"value": short(part.metric), "theta_rc": "θ(r, c), rad", "theta_rq": "θ(r, q), rad"}
        points["encoding"]["tooltip"] = _tooltip(numbers)
    else:
        # No tooltips: computing them for all rows takes a second.
        points["data"]["name"] = "points"
        points["params"] = [{"name": "brush", "select": {"type": "interval", "encodings": ["x", "y"]}}]
        selected = {"param": "brush", "empty": True, "value": 0.7}
        points["encoding"]["opacity"] = {"condition": selected, "value": 0.12}
    diagonal_name = {
        "data": {"values": [{"theta_rc": high, "theta_rq": high}]},
        "mark": {"type": "text", "text": "SGI = 1", "align": "right", "dx": -22, "dy": 9},
        "encoding": axes | {"color": {"value": GREY}},
    }
    return {
        "title": f"{short(part.metric)}: angle plane",
        "description": describe_plane(part),
        "width": _SIDE,
        "height": _SIDE,
        "layer": [diagonal("theta_rc", "theta_rq", axes, low=low, high=high), points, diagonal_name],
    }


def scatter_figure(part: Scatter) -> Chart:
    """Draw rows by two values; a ring marks rows that the two metrics rank very differently."""
    up_name, across_name = short_names([part.semantic, part.lexical])
    scale = {"zero": False}
    axes = {
        "x": quantitative("lexical", title=across_name, scale=scale),
        "y": quantitative("semantic", title=up_name, scale=scale),
        "tooltip": _tooltip({"semantic": up_name, "lexical": across_name, "gap": "rank difference"}),
    }
    colour = _label_colour(point.label for point in part.points)
    layers: list[Chart] = [{"mark": _DOTS, "encoding": axes | {"color": colour}}]
    if any(abs(point.gap) > WIDE_GAP for point in part.points):  # Vega warns about an empty layer
        rings = {
            "transform": [{"filter": f"abs(datum.gap) > {WIDE_GAP}"}],
            "mark": {"type": "point", "size": 90, "color": COLOURS[2], "aria": False},
            "encoding": axes,
        }
        layers.append(rings)
    rows = (
        {"id": short(point.id), "semantic": point.semantic, "lexical": point.lexical, "gap": point.gap}
        | {"label": _label_name(point.label)}
        for point in part.points
    )
    return {
        "title": f"{up_name} against {across_name}",
        "description": describe_scatter(part),
        "width": _SIDE,
        "height": _SIDE,
        "data": _data(rows),
        "layer": layers,
    }


def _data(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return rows as one JSON string: a page cleans each string of a chart, and one is faster than many."""
    return {"values": json.dumps(list(rows)), "format": {"type": "json"}}


def _ends(points: Sequence[PlanePoint]) -> tuple[float, float]:
    """Return the range of both axes, rounded to 0.1 rad."""
    angles = [angle for row in points for angle in (row.theta_rc, row.theta_rq)] or [0.0, 1.5]
    low, high = math.floor(min(angles) * 10) / 10, math.ceil(max(angles) * 10) / 10
    return low, max(high, low + 0.1)


def _plane_colour(part: Plane) -> dict[str, Any]:
    labels = {row.label for row in part.points}
    if labels - {None}:
        return _label_colour(labels)
    values = sorted(row.value for row in part.points) or [0.0]
    last = len(values) - 1
    ends = [values[round(share * last)] for share in (_COLOUR_TAIL, 1 - _COLOUR_TAIL)]
    scale = {"scheme": "viridis", "domain": ends, "clamp": True}
    return quantitative("value", scale=scale, legend={"title": short(part.metric), "orient": "bottom"})


def _label_name(label: bool | None) -> str:
    return "no label" if label is None else f"label {int(label)}"


def _label_colour(labels: Iterable[bool | None]) -> dict[str, Any]:
    names = set(map(_label_name, labels))
    return series_colour("label", [name for name in LABEL_COLOURS if name in names], known=LABEL_COLOURS)


def _tooltip(numbers: Mapping[str, str]) -> list[Any]:
    """Return the tooltip of a row: its id, numbers (each with field and title) and label."""
    values = [quantitative(field, title=title, format=".4f") for field, title in numbers.items()]
    return [nominal("id", title="row"), *values, nominal("label", title="label")]
