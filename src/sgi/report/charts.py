"""Charts as Altair objects, and the files they become, drawn without a browser or a network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from sgi.io.write import write_whole
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from sgi.stats.calibration import Reliability

# Okabe and Ito's palette: told apart also by people who see few colours, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""What series are drawn in, in this order."""
GREY = "#888888"
"""What stands for chance, for what is expected, and for what is not known."""
_DASHES = ([1, 0], [6, 3], [2, 2])
AnyChart = alt.TopLevelMixin
"""What Altair draws."""

_WIDTH, _HEIGHT = 420, 260
_LONGEST_LABEL = 320
_PIXELS = 2.0
_BINS = 40


@dataclass(frozen=True)
class Dot:
    """One measured value in a dot plot.

    Attributes:
        label: what was measured; one line of the plot.
        value: where the dot stands.
        series: dots of one series share a colour.
        low: lower end of its interval, if it has one.
        high: upper end.
    """

    label: str
    value: float
    series: str = ""
    low: float | None = None
    high: float | None = None


def dot_chart(
    dots: Iterable[Dot],
    *,
    title: str,
    axis: str,
    chance: float | None = None,
    domain: tuple[float, float] | None = None,
    colours: Mapping[str, str] | None = None,
) -> AnyChart:
    """Values with their intervals, one line a label, one colour a series.

    Args:
        dots: in the order in which their labels shall stand.
        title: over the chart.
        axis: what the values are.
        chance: where a dashed line says "nothing found".
        domain: the ends of the axis; from the data if None.
        colours: of some series, whatever others there are.

    >>> dot_chart([Dot("SGI", 0.8, low=0.79, high=0.81)], title="HaluEval", axis="AUROC").to_dict()["title"]
    'HaluEval'
    """
    given = list(dots)
    rows = [_row(dot) for dot in given]
    labels, series = list(dict.fromkeys(d.label for d in given)), list(dict.fromkeys(d.series for d in given))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    place = alt.X("value:Q", title=axis, scale=scale)
    beside = len({d.label for d in given}) < len(given)
    side: dict[str, Any] = {"yOffset": alt.YOffset("series:N", sort=series)} if beside else {}
    colour = series_colour("series", series, known=colours, legend=len(series) > 1)
    line = alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=_LONGEST_LABEL))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=line, color=colour, **side)
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x=place)
    bars = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title=axis, scale=scale), x2="high:Q")
    )
    layers: list[Any] = [bars, point] if any("low" in row for row in rows) else [point]  # else Vega warns
    if chance is not None:
        layers.insert(0, _rule(chance, scale))
    height = max(120, 14 * len(labels) * (len(series) if beside else 1) + 14 * len(labels))
    return alt.layer(*layers).properties(title=title, width=_WIDTH, height=height)


def _row(dot: Dot) -> dict[str, Any]:
    known = {"low": dot.low, "high": dot.high} if dot.low is not None and dot.high is not None else {}
    return {"label": dot.label, "value": dot.value, "series": dot.series, **known}


def series_colour(
    field: str, names: Sequence[str], *, known: Mapping[str, str] | None = None, legend: bool = True
) -> Any:
    """One colour for each series.

    Args:
        field: the column that names the series.
        names: the series, in the order of the legend.
        known: the colours of some series, which they have in whatever company.
        legend: whether to show which is which.
    """
    colours = [(known or {}).get(name, COLOURS[n % len(COLOURS)]) for n, name in enumerate(names)]
    scale = alt.Scale(domain=list(names), range=colours)
    shown = alt.Legend(title=None, orient="bottom", labelLimit=_LONGEST_LABEL, columns=3) if legend else None
    return alt.Color(f"{field}:N", scale=scale, legend=shown, sort=list(names))


def _dash(field: str, names: Sequence[str]) -> Any:
    """Lines whose colours come round again are told apart by their dashes."""
    dashes = [_DASHES[n // len(COLOURS) % len(_DASHES)] for n in range(len(names))]
    return alt.StrokeDash(f"{field}:N", scale=alt.Scale(domain=list(names), range=dashes), legend=None)


def _rule(value: float, scale: Any) -> Any:
    data = alt.InlineData(values=[{"at": value}])
    return alt.Chart(data).mark_rule(strokeDash=[4, 4], color=GREY).encode(x=alt.X("at:Q", scale=scale))


def line_chart(
    series: Mapping[str, Mapping[str, float | None]], *, title: str, axis: str, across: str
) -> AnyChart:
    """A value over a few named steps, one line a series; a step without value is left out.

    Args:
        series: by name, the value at each step; steps stand in the order of the first series.
        title: over the chart.
        axis: what the values are.
        across: what the steps are.

    >>> chart = line_chart({"SGI": {"low": 0.72, "high": 0.83}}, title="t", axis="AUROC", across="tercile")
    >>> chart.to_dict()["encoding"]["x"]["sort"]
    ['low', 'high']
    """
    steps = list(dict.fromkeys(step for found in series.values() for step in found))
    rows = [
        {"series": name, "step": step, "value": value}
        for name, found in series.items()
        for step, value in found.items()
        if value is not None
    ]
    made: AnyChart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=60, filled=True))
        .encode(
            x=alt.X("step:N", sort=steps, title=across, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=axis, scale=alt.Scale(zero=False)),
            color=series_colour("series", list(series)),
        )
        .properties(title=title, width=_WIDTH, height=_HEIGHT)
    )
    return made


def matrix_chart(names: Sequence[str], values: ArrayLike, *, title: str, signed: bool = False) -> AnyChart:
    """A square of numbers, such as correlations, as coloured cells with the number in each.

    Args:
        names: of the rows and columns.
        values: one row and one column a name; NaN where there is none.
        title: over the chart.
        signed: whether they lie in [−1, 1] rather than in [0, 1].

    Raises:
        ValueError: the values are not one row and one column a name.

    >>> matrix_chart(["a", "b"], [[1.0, 0.9], [0.9, 1.0]], title="Pearson").to_dict()["title"]
    'Pearson'
    """
    square = np.asarray(values, dtype=np.float64)
    if square.shape != (len(names), len(names)):
        raise ValueError(f"{len(names)} names have a matrix of shape {square.shape}.")
    rows = [
        {"down": down, "across": across, "value": None if math.isnan(square[i, j]) else float(square[i, j])}
        for i, down in enumerate(names)
        for j, across in enumerate(names)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("across:N", sort=list(names), title=None, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("down:N", sort=list(names), title=None),
    )
    blues = alt.Scale(scheme="blues", domain=[0, 1], clamp=True)
    both = alt.Scale(range=[COLOURS[1], "#F7F7F7", COLOURS[0]], domain=[-1, 0, 1], clamp=True)
    shade = alt.Color("value:Q", scale=both if signed else blues, legend=None)
    ink = alt.condition("abs(datum.value) > 0.6", alt.value("white"), alt.value("black"))
    cells = base.mark_rect().encode(color=shade)
    side = max(160, 70 * len(names))
    told = alt.condition("isValid(datum.value)", alt.Text("value:Q", format=".2f"), alt.value("–"))
    return alt.layer(cells, base.mark_text().encode(text=told, color=ink)).properties(
        title=title, width=side, height=side * 3 // 4
    )


def distribution_chart(
    groups: Mapping[str, ArrayLike], *, title: str, axis: str, mark: float | None = None
) -> AnyChart:
    """How values are spread, one stepped area a group, each group's areas adding up to 1.

    The ends are the 0.5th and 99.5th percentile of all values: what lies beyond joins the outermost bins.

    Args:
        groups: values by name; empty groups are left out.
        title: over the chart.
        axis: what the values are.
        mark: where a dashed line stands.

    >>> distribution_chart({"grounded": [1, 2, 3]}, title="SGI", axis="SGI").to_dict()["title"]
    'SGI'
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
) -> AnyChart:
    """Shares of each group in bins, as one stepped area a group.

    Args:
        edges: of the bins, ascending, one more than there are bins.
        shares: by group, of each bin.
        title: over the chart.
        axis: what the values are.
        mark: where a dashed line stands.
        colours: of some groups, whatever others there are.

    >>> step_chart([0, 1, 2], {"all rows": [0.25, 0.75]}, title="t", axis="SGI").to_dict()["title"]
    't'
    """
    rows = [
        {"group": name, "at": start, "share": share}
        for name, found in shares.items()
        for start, share in zip(edges, [*found, 0.0], strict=True)
    ]
    scale = alt.Scale(zero=False, nice=False)
    area = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_area(interpolate="step-after", opacity=0.45, line=True)
        .encode(
            x=alt.X("at:Q", title=axis, scale=scale),
            y=alt.Y("share:Q", title="share of the group", stack=None),
            color=series_colour("group", list(shares), known=colours, legend=len(shares) > 1),
        )
    )
    layers = [area] if mark is None else [area, _rule(mark, scale)]
    return alt.layer(*layers).properties(title=title, width=_WIDTH, height=_HEIGHT)


def _shares(column: Any, edges: Any) -> list[float]:
    counts, _ = np.histogram(np.clip(column, edges[0], edges[-1]), edges)
    return [float(share) for share in counts / len(column)]


def reliability_chart(found: Mapping[str, Reliability], *, title: str) -> AnyChart:
    """What was predicted beside what came true, one line a series; the diagonal is a perfect forecast.

    Args:
        found: binned forecasts by name.
        title: over the chart.

    >>> from sgi.stats.calibration import reliability
    >>> bins = reliability([0.1, 0.9], [False, True])
    >>> reliability_chart({"Platt": bins}, title="calibration").to_dict()["title"]
    'calibration'
    """
    rows = [
        {"series": name, "confidence": confidence, "frequency": frequency, "rows": count}
        for name, bins in found.items()
        for confidence, frequency, count in zip(bins.confidence, bins.frequency, bins.rows, strict=True)
    ]
    ends = alt.Scale(domain=[0, 1])
    across, up = (
        alt.X("confidence:Q", title="predicted", scale=ends),
        alt.Y("frequency:Q", title="observed", scale=ends),
    )
    colour = series_colour("series", list(found))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=up, color=colour)
    perfect = diagonal("confidence", "frequency").encode(x=across, y=up)
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[20, 250]))
    return alt.layer(perfect, base.mark_line(), base.mark_circle(opacity=1).encode(size=size)).properties(
        title=title, width=_HEIGHT, height=_HEIGHT
    )


def diagonal(across: str, up: str, low: float = 0.0, high: float = 1.0) -> Any:
    """A dashed line on which both columns are equal, still without its axes."""
    corners = alt.InlineData(values=[{across: end, up: end} for end in (low, high)])
    return alt.Chart(corners).mark_line(strokeDash=[4, 4], color=GREY)


def curve_chart(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, title: str, axis: str, across: str
) -> AnyChart:
    """Curves in the unit square, such as ROC curves; the diagonal is a guess.

    Args:
        curves: by name, points (across, up) in the order in which they are joined.
        title: over the chart.
        axis: what stands upwards.
        across: what stands across.

    >>> curve_chart({"SGI": [(0, 0), (1, 1)]}, title="ROC", axis="y", across="x").to_dict()["title"]
    'ROC'
    """
    rows = [
        {"series": name, "across": x, "up": y, "step": step}
        for name, points in curves.items()
        for step, (x, y) in enumerate(points)
    ]
    ends = alt.Scale(domain=[0, 1])
    axes = {"x": alt.X("across:Q", title=across, scale=ends), "y": alt.Y("up:Q", title=axis, scale=ends)}
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(**axes, order="step:Q", color=series_colour("series", list(curves)))
    )
    if len(curves) > len(COLOURS):
        lines = lines.encode(strokeDash=_dash("series", list(curves)))
    layers = alt.layer(diagonal("across", "up").encode(**axes), lines)
    return layers.properties(title=title, width=_HEIGHT, height=_HEIGHT)


def side_by_side(*charts: Any) -> AnyChart:
    """Charts in a row, each with its own colours and scales.

    >>> len(side_by_side(matrix_chart(["a"], [[1]], title="t")).to_dict()["hconcat"])
    1
    """
    made: AnyChart = alt.hconcat(*charts).resolve_scale(color="independent", x="independent", y="independent")
    return made


FIGURES = (".png", ".svg", ".pdf")
"""The kinds of file that a chart can become."""


def check_figure(path: Path) -> None:
    """See from its name that a chart can become this file.

    Raises:
        UsageError: by its suffix it is of no kind that can be drawn.
    """
    if path.suffix.casefold() not in FIGURES:
        raise UsageError(
            f"Cannot tell from {str(path)!r} how to draw.", hint=f"It can be {', '.join(FIGURES)}."
        )


def save_figure(chart: Any, path: Path, *, scale: float = _PIXELS) -> Path:
    """Write a chart as PNG, SVG or PDF, by the suffix; equal charts give equal files, but for PDF.

    Args:
        chart: of this module, or any other of Altair's.
        path: the file, in a folder that is there; it is written whole or not at all.
        scale: pixels of a PNG for each point of the chart; the other kinds have none.

    Returns:
        The path.

    Raises:
        UsageError: the suffix is of no kind that can be drawn, or the folder is missing.
        DataError: the file cannot be written.
    """
    import vl_convert

    check_figure(path)
    drawn = chart.configure_view(stroke=None).configure(background="white").to_dict()
    draw: dict[str, Callable[[], bytes]] = {
        ".png": lambda: vl_convert.vegalite_to_png(drawn, scale=scale),
        ".svg": lambda: vl_convert.vegalite_to_svg(drawn).encode(),
        ".pdf": lambda: vl_convert.vegalite_to_pdf(drawn),
    }
    write_whole(path, draw[path.suffix.casefold()]())
    return path
