"""Charts, and the files they become."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.reporting.charts import (
    COLOURS,
    Dot,
    curve_chart,
    distribution_chart,
    dot_chart,
    line_chart,
    matrix_chart,
    reliability_chart,
    save_figure,
    side_by_side,
)
from sgi.stats.calibration import reliability


def charts():
    draws = np.random.default_rng(0).normal(size=300)
    yield dot_chart(
        [Dot("SGI", 0.8, "all", 0.79, 0.81), Dot("SGI", 0.77, "matched"), Dot("length", 0.97, "all")],
        title="AUROC",
        axis="AUROC",
        chance=0.5,
    )
    yield line_chart({"a": {"low": 1.0, "high": None}, "b": {"low": 2.0}}, title="t", axis="y", across="x")
    yield matrix_chart(["a", "b"], [[1.0, np.nan], [np.nan, 1.0]], title="Pearson")
    yield distribution_chart({"one": draws, "two": draws + 1, "none": []}, title="t", axis="SGI", mark=1.0)
    yield reliability_chart({"Platt": reliability([0.1, 0.2, 0.8], [False, False, True])}, title="t")
    yield matrix_chart(["a", "b"], [[1.0, -0.9], [-0.9, 1.0]], title="Spearman", signed=True)
    yield curve_chart({str(n): [(0, 0), (0, 1), (1, 1)] for n in range(9)}, title="t", axis="y", across="x")
    yield side_by_side(*(line_chart({"a": {"x": 1.0}}, title="t", axis="y", across="x"),) * 2)


BEGINS = {".png": b"\x89PNG\r\n", ".svg": b"<svg", ".pdf": b"%PDF"}


@pytest.mark.parametrize("chart", [*charts()])
@pytest.mark.parametrize("suffix", BEGINS)
def test_every_chart_becomes_a_picture_and_a_drawing(chart, suffix, tmp_path):
    drawn = save_figure(chart, tmp_path / f"figure{suffix}")
    assert drawn.read_bytes().startswith(BEGINS[suffix])
    assert [path.name for path in tmp_path.iterdir()] == [drawn.name]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_charts_give_equal_files(suffix, tmp_path):
    written = [
        save_figure(next(charts()), tmp_path / f"{name}{suffix}").read_bytes() for name in ("first", "second")
    ]
    assert written[0] == written[1]


def test_a_picture_is_as_fine_as_it_is_asked_for(tmp_path):
    sizes = [
        int.from_bytes(save_figure(next(charts()), tmp_path / "f.png", scale=scale).read_bytes()[16:20])
        for scale in (1.0, 3.0)
    ]
    assert sizes[1] == pytest.approx(3 * sizes[0], abs=3)


def test_a_figure_that_cannot_be_written_says_so_and_leaves_what_was_there(tmp_path):
    for name in ("figure", "figure.gif", "figure.png.txt"):
        with pytest.raises(UsageError):
            save_figure(next(charts()), tmp_path / name)
    with pytest.raises(UsageError):
        save_figure(next(charts()), tmp_path / "missing" / "figure.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        save_figure(next(charts()), tmp_path / "folder.png")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_without_the_extra_images_the_error_names_it_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[images\]"):
        save_figure(next(charts()), tmp_path / "figure.png")
    assert not list(tmp_path.iterdir())


def test_an_interval_is_drawn_only_where_there_is_one(tmp_path):
    def rules(*dots):
        path = save_figure(dot_chart(dots, title="t", axis="x"), tmp_path / "figure.svg")
        return path.read_text(encoding="utf-8").count('aria-roledescription="rule mark"')

    known = Dot("a", 0.5, low=0.4, high=0.6)
    assert rules(known) == rules(known, Dot("b", 0.5)) > rules(Dot("b", 0.5))


def test_the_shares_of_a_distribution_add_up_to_one():
    drawn = distribution_chart({"one": np.arange(1000.0)}, title="t", axis="x")
    rows = drawn["layer"][0]["data"]["values"]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_a_series_has_its_colour_in_any_company():
    def colours(*names):
        dots = [Dot("a", 0.5, name) for name in names]
        drawn = dot_chart(dots, title="t", axis="x", colours={"worse": "#123456"})
        scale = drawn["layer"][-1]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    assert colours("better", "worse") == {"better": COLOURS[0], "worse": "#123456"}
    assert colours("worse")["worse"] == "#123456"


def test_curves_keep_the_order_of_their_points_and_are_told_apart():
    made = curve_chart({"a": [(0, 0), (0, 1), (1, 1)]}, title="t", axis="y", across="x")
    lines = made["layer"][1]
    assert (lines["encoding"]["order"]["field"], "strokeDash" in lines["encoding"]) == ("step", False)
    many = curve_chart({str(n): [(0, 0)] for n in range(8)}, title="t", axis="y", across="x")
    scales = [many["layer"][1]["encoding"][name]["scale"]["range"] for name in ("color", "strokeDash")]
    assert len({(colour, tuple(dash)) for colour, dash in zip(*scales, strict=True)}) == 8


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"2 names have a matrix of shape \(1, 1\)"):
        matrix_chart(["a", "b"], [[1.0]], title="t")
