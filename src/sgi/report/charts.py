"""Charts as Altair objects, and the files they become: PNG and SVG, drawn without a browser or a network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from sgi.stats.calibration import Reliability

# Okabe and Ito's palette: told apart also by people who see few colours, and in print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_GREY = "#888888"
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
) -> AnyChart:
    """Values with their intervals, one line a label, one colour a series.

    Args:
        dots: in the order in which their labels shall stand.
        title: over the chart.
        axis: what the values are.
        chance: where a dashed line says "nothing found".
        domain: the ends of the axis; from the data if None.

    >>> dot_chart([Dot("SGI", 0.8, low=0.79, high=0.81)], title="HaluEval", axis="AUROC").to_dict()["title"]
    'HaluEval'
    """
    given = list(dots)
    rows = [_row(dot) for dot in given]
    labels, series = list(dict.fromkeys(d.label for d in given)), list(dict.fromkeys(d.series for d in given))
    scale = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=False)
    place = alt.X("value:Q", title=axis, scale=scale)
    many = len(series) > 1
    side: dict[str, Any] = {"yOffset": alt.YOffset("series:N", sort=series)} if many else {}
    colour = _colour("series", series, legend=many)
    line = alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(labelLimit=_LONGEST_LABEL))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=line, color=colour, **side)
    bars = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title=axis, scale=scale), x2="high:Q")
    )
    layers: list[Any] = [bars, base.mark_point(filled=True, size=70, opacity=1).encode(x=place)]
    if chance is not None:
        layers.insert(0, _rule(chance, scale))
    height = max(120, 14 * len(labels) * (len(series) if many else 1) + 14 * len(labels))
    return alt.layer(*layers).properties(title=title, width=_WIDTH, height=height)


def _row(dot: Dot) -> dict[str, Any]:
    known = {"low": dot.low, "high": dot.high} if dot.low is not None and dot.high is not None else {}
    return {"label": dot.label, "value": dot.value, "series": dot.series, **known}


def _colour(field: str, names: Sequence[str], *, legend: bool = True) -> Any:

    scale = alt.Scale(domain=list(names), range=[_COLOURS[n % len(_COLOURS)] for n in range(len(names))])
    shown = alt.Legend(title=None, orient="bottom", labelLimit=_LONGEST_LABEL, columns=3) if legend else None
    return alt.Color(f"{field}:N", scale=scale, legend=shown, sort=list(names))


def _rule(value: float, scale: Any) -> Any:

    data = alt.InlineData(values=[{"at": value}])
    return alt.Chart(data).mark_rule(strokeDash=[4, 4], color=_GREY).encode(x=alt.X("at:Q", scale=scale))


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
            color=_colour("series", list(series)),
        )
        .properties(title=title, width=_WIDTH, height=_HEIGHT)
    )
    return made


def matrix_chart(names: Sequence[str], values: ArrayLike, *, title: str) -> AnyChart:
    """A square of numbers, such as correlations, as coloured cells with the number in each.

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
    shade = alt.Color("value:Q", scale=alt.Scale(scheme="blues", domain=[0, 1], clamp=True), legend=None)
    ink = alt.condition(alt.datum.value > 0.6, alt.value("white"), alt.value("black"))  # noqa: PLR2004 - dark cells
    cells = base.mark_rect().encode(color=shade)
    side = max(160, 70 * len(names))
    return alt.layer(
        cells, base.mark_text().encode(text=alt.Text("value:Q", format=".2f"), color=ink)
    ).properties(title=title, width=side, height=side * 3 // 4)


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
    rows = [
        {"group": name, "at": float(start), "share": share}
        for name, column in columns.items()
        for start, share in zip(edges, _shares(column, edges), strict=False)
    ]
    scale = alt.Scale(zero=False, nice=False)
    area = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_area(interpolate="step-after", opacity=0.45, line=True)
        .encode(
            x=alt.X("at:Q", title=axis, scale=scale),
            y=alt.Y("share:Q", title="share of the group", stack=None),
            color=_colour("group", list(columns)),
        )
    )
    layers = [area] if mark is None else [area, _rule(mark, scale)]
    return alt.layer(*layers).properties(title=title, width=_WIDTH, height=_HEIGHT)


def _shares(column: Any, edges: Any) -> list[float]:
    counts, _ = np.histogram(np.clip(column, edges[0], edges[-1]), edges)
    return [*(float(share) for share in counts / len(column)), 0.0]


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
    colour = _colour("series", list(found))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=up, color=colour)
    corner = alt.InlineData(values=[{"confidence": 0, "frequency": 0}, {"confidence": 1, "frequency": 1}])
    perfect = alt.Chart(corner).mark_line(strokeDash=[4, 4], color=_GREY).encode(x=across, y=up)
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[20, 250]))
    return alt.layer(perfect, base.mark_line(), base.mark_circle(opacity=1).encode(size=size)).properties(
        title=title, width=_HEIGHT, height=_HEIGHT
    )


def side_by_side(*charts: Any) -> AnyChart:
    """Charts in a row, each with its own colours and scales.

    >>> len(side_by_side(matrix_chart(["a"], [[1]], title="t")).to_dict()["hconcat"])
    1
    """
    made: AnyChart = alt.hconcat(*charts).resolve_scale(color="independent", x="independent", y="independent")
    return made


def save_figure(chart: Any, folder: Path, stem: str) -> tuple[Path, Path]:
    """Write ``stem.png`` and ``stem.svg``; equal charts give equal files.

    Args:
        chart: of this module, or any other of Altair's.
        folder: where; it is made if it is not there.
        stem: the files' name.

    Returns:
        The two paths.
    """
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    drawn = chart.configure_view(stroke=None).configure(background="white").to_dict()
    picture, drawing = folder / f"{stem}.png", folder / f"{stem}.svg"
    picture.write_bytes(vl_convert.vegalite_to_png(drawn, scale=_PIXELS))
    drawing.write_text(vl_convert.vegalite_to_svg(drawn), encoding="utf-8")
    return picture, drawing
