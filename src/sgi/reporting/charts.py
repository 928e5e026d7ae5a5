"""Charts as Vega-Lite specifications, and their export to image files without a browser or network."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.io.write import write_whole
from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.reporting.safe_text import plain_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from sgi.stats.calibration import Reliability
    from sgi.stats.intervals import Interval

# Okabe and Ito's palette: distinct for colour-blind readers and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours of series, in this order."""
GREY = "#888888"
"""Colour of chance level, of expected values, and of unknown values."""
INTERVAL = "; 95 % interval"
"""Text for `dot_chart` that names the level of its intervals."""
LABEL_COLOURS = {"label 1": COLOURS[0], "label 0": COLOURS[1], "no label": GREY, "all rows": COLOURS[0]}
_DASHES = ([1, 0], [6, 3], [2, 2])
Chart = dict[str, Any]
"""A Vega-Lite specification."""

_WIDTH, _HEIGHT = 420, 260
_LONGEST_LABEL = 320
_PIXELS = 2.0
_BINS = 40


@dataclass(frozen=True)
class Dot:
    """One value in a dot plot (None: no dot) with its interval [low, high]; each series has its colour."""

    label: str
    value: float | None
    series: str = ""
    low: float | None = None
    high: float | None = None


def interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None without one."""
    return (None, None) if interval is None else (interval.low, interval.high)


def quantitative(field: str, **options: Any) -> dict[str, Any]:
    """Return the encoding of a numeric column, with Vega-Lite options such as ``title`` and ``scale``."""
    return {"field": field, "type": "quantitative", **options}


def nominal(field: str, **options: Any) -> dict[str, Any]:
    """Return the encoding of a column of names, with Vega-Lite options such as ``sort`` and ``axis``."""
    return {"field": field, "type": "nominal", **options}


def dot_chart(
    dots: Iterable[Dot],
    *,
    title: str,
    axis: str,
    interval: str = "",
    chance: float | None = None,
    domain: tuple[float, float] | None = None,
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw values with their intervals: one line per label, one colour per series.

    ``interval`` follows ``axis`` in the title of the axis if an interval is drawn. ``chance`` is the position
    of a dashed line, such as AUROC 0.5. ``colours`` maps series to colours.
    """
    all_dots = list(dots)
    rows = [_row(dot) for dot in all_dots]
    has_intervals = any("low" in row for row in rows)
    axis += interval if has_intervals else ""
    labels, series = (
        list(dict.fromkeys(d.label for d in all_dots)),
        list(dict.fromkeys(d.series for d in all_dots)),
    )
    scale = {"domain": list(domain)} if domain else {"zero": False}
    grouped = len(labels) < len(all_dots)
    shared: Chart = {
        "y": nominal("label", sort=labels, title=None, axis={"labelLimit": _LONGEST_LABEL}),
        "color": series_colour("series", series, known=colours, legend=len(series) > 1),
    }
    if grouped:
        shared["yOffset"] = nominal("series", sort=series)
    layers: list[Chart] = [] if chance is None else [_rule(chance, scale)]
    if has_intervals:  # Vega warns about an empty layer
        ends = {"x": quantitative("low", title=axis, scale=scale), "x2": {"field": "high"}}
        rule = {"type": "rule", "strokeWidth": 2}
        layers.append(
            {"transform": [{"filter": "isValid(datum.low)"}], "mark": rule, "encoding": shared | ends}
        )
    value = {"x": quantitative("value", title=axis, scale=scale)}
    point = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    layers.append({"mark": point, "encoding": shared | value})
    height = max(120, 14 * len(labels) * (len(series) if grouped else 1) + 14 * len(labels))
    return {
        "title": title,
        "width": _WIDTH,
        "height": height,
        "data": {"values": rows},
        "layer": layers,
    }


def _row(dot: Dot) -> dict[str, Any]:
    known = {"low": dot.low, "high": dot.high} if dot.low is not None and dot.high is not None else {}
    return {"label": dot.label, "value": dot.value, "series": dot.series, **known}


def series_colour(
    field: str, names: Sequence[str], *, known: Mapping[str, str] | None = None, legend: bool = True
) -> dict[str, Any]:
    """Return the encoding with one colour per series; ``known`` maps some series to their colours."""
    colours = [(known or {}).get(name, COLOURS[n % len(COLOURS)]) for n, name in enumerate(names)]
    scale = {"domain": list(names), "range": colours}
    shown = {"title": None, "orient": "bottom", "labelLimit": _LONGEST_LABEL, "columns": 3}
    return nominal(field, scale=scale, legend=shown if legend else None, sort=list(names))


def _dash(names: Sequence[str]) -> dict[str, Any]:
    dashes = [_DASHES[n // len(COLOURS) % len(_DASHES)] for n in range(len(names))]
    return nominal("series", scale={"domain": list(names), "range": dashes}, legend=None)


def _rule(value: float, scale: Mapping[str, Any]) -> Chart:
    return {
        "data": {"values": [{"at": value}]},
        "mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
        "encoding": {"x": quantitative("at", scale=scale)},
    }


def line_chart(
    series: Mapping[str, Mapping[str, float | None]], *, title: str, axis: str, across: str
) -> Chart:
    """Draw a value over named steps, one line per series, in the order of the first; None is left out."""
    steps = list(dict.fromkeys(step for values in series.values() for step in values))
    rows = [
        {"series": name, "step": step, "value": value}
        for name, values in series.items()
        for step, value in values.items()
        if value is not None
    ]
    return {
        "title": title,
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "point": {"size": 60, "filled": True}},
        "encoding": {
            "x": nominal("step", sort=steps, title=across, axis={"labelAngle": 0}),
            "y": quantitative("value", title=axis, scale={"zero": False}),
            "color": series_colour("series", list(series)),
        },
    }


def matrix_chart(names: Sequence[str], values: ArrayLike, *, title: str, signed: bool = False) -> Chart:
    """Draw a square matrix, such as correlations, as coloured cells with numbers; a cell with NaN is empty.

    Raises:
        ValueError: the matrix does not have one row and one column per name.
    """
    square = np.asarray(values, dtype=np.float64)
    if square.shape != (len(names), len(names)):
        raise ValueError(f"{len(names)} names have a matrix of shape {square.shape}.")
    rows = [
        {"down": down, "across": across, "value": None if math.isnan(square[i, j]) else float(square[i, j])}
        for i, down in enumerate(names)
        for j, across in enumerate(names)
    ]
    sides = {
        "x": nominal("across", sort=list(names), title=None, axis={"labelAngle": -30}),
        "y": nominal("down", sort=list(names), title=None),
    }
    scale = {"scheme": "blues", "domain": [0, 1], "clamp": True}
    if signed:
        scale = {"range": [COLOURS[1], "#F7F7F7", COLOURS[0]], "domain": [-1, 0, 1], "clamp": True}
    number = {"test": "isValid(datum.value)", **quantitative("value", format=".2f")}
    white = {"test": "abs(datum.value) > 0.6", "value": "white"}
    words = {
        "text": {"condition": number, "value": "–"},
        "color": {"condition": white, "value": "black"},
    }
    side = max(160, 70 * len(names))
    return {
        "title": title,
        "width": side,
        "height": side * 3 // 4,
        "data": {"values": rows},
        "layer": [
            {"mark": "rect", "encoding": sides | {"color": quantitative("value", scale=scale, legend=None)}},
            {"mark": "text", "encoding": sides | words},
        ],
    }


def distribution_chart(
    groups: Mapping[str, ArrayLike], *, title: str, axis: str, mark: float | None = None
) -> Chart:
    """Draw the histograms of groups of values, each normalised to a sum of 1; empty groups are left out.

    The axis spans the 0.5th to 99.5th percentile of all values. Values beyond it count in the outermost bins.
    """
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in groups.items()}
    columns = {name: column for name, column in columns.items() if len(column)}
    everything = np.concatenate(list(columns.values())) if columns else np.zeros(1)
    low, high = np.quantile(everything, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    shares = {name: _shares(column, edges) for name, column in columns.items()}
    return step_chart(edges.tolist(), shares, title=title, axis=axis, mark=mark)


def step_chart(
    edges: Sequence[float],
    shares: Mapping[str, Sequence[float]],
    *,
    title: str,
    axis: str,
    mark: float | None = None,
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Draw the share of each group in each bin as stepped areas; ``edges`` ascend, shape (bins + 1,).

    ``mark`` is the position of a dashed line. ``colours`` maps some groups to their colours.
    """
    rows = [
        {"group": name, "at": start, "share": share}
        for name, heights in shares.items()
        for start, share in zip(edges, [*heights, 0.0], strict=True)
    ]
    scale = {"zero": False, "nice": False}
    area: Chart = {
        "data": {"values": rows},
        "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.45, "line": True},
        "encoding": {
            "x": quantitative("at", title=axis, scale=scale),
            "y": quantitative("share", title="share of group", stack=None),
            "color": series_colour("group", list(shares), known=colours, legend=len(shares) > 1),
        },
    }
    layers = [area] if mark is None else [area, _rule(mark, scale)]
    return {"title": title, "width": _WIDTH, "height": _HEIGHT, "layer": layers}


def _shares(column: Any, edges: Any) -> list[float]:
    counts, _ = np.histogram(np.clip(column, edges[0], edges[-1]), edges)
    return [float(share) for share in counts / len(column)]


def reliability_chart(series: Mapping[str, Reliability], *, title: str) -> Chart:
    """Draw predicted probability against observed share, by series. The diagonal is perfect calibration."""
    rows = [
        {"series": name, "confidence": confidence, "frequency": frequency, "rows": count}
        for name, bins in series.items()
        for confidence, frequency, count in zip(bins.confidence, bins.frequency, bins.rows, strict=True)
    ]
    scale = {"domain": [0, 1]}
    axes = {
        "x": quantitative("confidence", title="predicted", scale=scale),
        "y": quantitative("frequency", title="observed", scale=scale),
    }
    lines = axes | {"color": series_colour("series", list(series))}
    size = quantitative("rows", legend=None, scale={"range": [20, 250]})
    return {
        "title": title,
        "width": _HEIGHT,
        "height": _HEIGHT,
        "data": {"values": rows},
        "layer": [
            diagonal("confidence", "frequency", axes),
            {"mark": "line", "encoding": lines},
            {"mark": {"type": "circle", "opacity": 1}, "encoding": lines | {"size": size}},
        ],
    }


def diagonal(across: str, up: str, axes: Mapping[str, Any], *, low: float = 0.0, high: float = 1.0) -> Chart:
    """Draw a dashed line where both columns are equal."""
    return {
        "data": {"values": [{across: end, up: end} for end in (low, high)]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": GREY},
        "encoding": axes,
    }


def curve_chart(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, title: str, axis: str, across: str
) -> Chart:
    """Draw curves in the unit square, such as ROC curves, from points (x, y); the diagonal is chance."""
    rows = [
        {"series": name, "across": x, "up": y, "step": step}
        for name, points in curves.items()
        for step, (x, y) in enumerate(points)
    ]
    scale = {"domain": [0, 1]}
    axes = {
        "x": quantitative("across", title=across, scale=scale),
        "y": quantitative("up", title=axis, scale=scale),
    }
    names = list(curves)
    lines = axes | {"order": quantitative("step"), "color": series_colour("series", names)}
    if len(names) > len(COLOURS):
        lines["strokeDash"] = _dash(names)
    return {
        "title": title,
        "width": _HEIGHT,
        "height": _HEIGHT,
        "layer": [
            diagonal("across", "up", axes),
            {"data": {"values": rows}, "mark": {"type": "line", "strokeWidth": 2}, "encoding": lines},
        ],
    }


def side_by_side(*charts: Chart) -> Chart:
    """Place charts in a row, each with its own colours and scales."""
    return {"hconcat": list(charts), "resolve": {"scale": dict.fromkeys(("color", "x", "y"), "independent")}}


FIGURES = (".png", ".svg", ".pdf")
"""Suffixes of image files of charts."""


def check_figure(path: Path) -> None:
    """Raise an error if no chart can be written to a file of this name.

    Raises:
        MissingExtraError: the extra ``images`` is not installed.
        UsageError: the suffix is not one of ``FIGURES``.
    """
    if path.suffix.casefold() not in FIGURES:
        raise UsageError(
            f"The name {str(path)!r} has no suffix of an image format.", hint=f"Use {', '.join(FIGURES)}."
        )
    if importlib.util.find_spec("vl_convert") is None:
        raise MissingExtraError("Writing charts as image files", "images")


def save_figure(chart: Chart, path: Path, *, scale: float = _PIXELS) -> Path:
    """Write a chart as PNG, SVG or PDF, by the suffix, and return the path.

    The write is atomic. Equal charts give equal files, except PDF. ``scale`` is the pixels of a PNG per
    typographic point (1/72 inch).

    Raises:
        MissingExtraError, UsageError: as for `check_figure`; UsageError also if the folder is missing.
        DataError: the file cannot be written.
    """
    check_figure(path)
    import vl_convert

    spec = plain_json(chart) | {"background": "white"}  # a control character would end the process
    draw: dict[str, Callable[[], bytes]] = {
        ".png": lambda: vl_convert.vegalite_to_png(spec, scale=scale),
        ".svg": lambda: vl_convert.vegalite_to_svg(spec).encode(),
        ".pdf": lambda: vl_convert.vegalite_to_pdf(spec),
    }
    write_whole(path, draw[path.suffix.casefold()]())
    return path
