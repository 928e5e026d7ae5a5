"""Charts, and the files they become."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from sgi.report.charts import (
    Dot,
    distribution_chart,
    dot_chart,
    line_chart,
    matrix_chart,
    reliability_chart,
    save_figure,
    side_by_side,
)
from sgi.stats.calibration import reliability

HOSTILE = '</script><b onload="x">&amp; | $(id) \u202e'


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
    yield side_by_side(*(line_chart({"a": {"x": 1.0}}, title="t", axis="y", across="x"),) * 2)


@pytest.mark.parametrize("chart", [*charts()])
def test_every_chart_becomes_a_picture_and_a_drawing(chart, tmp_path):
    picture, drawing = save_figure(chart, tmp_path / "new" / "folder", "figure")
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    assert ET.parse(drawing).getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_equal_charts_give_equal_files(tmp_path):
    written = [
        [path.read_bytes() for path in save_figure(chart, tmp_path / name, "same")]
        for name, chart in (("first", next(charts())), ("second", next(charts())))
    ]
    assert written[0] == written[1]


def test_an_interval_is_drawn_only_where_there_is_one(tmp_path):
    def rules(*dots):
        path = save_figure(dot_chart(dots, title="t", axis="x"), tmp_path, "figure")[1]
        return path.read_text(encoding="utf-8").count('aria-roledescription="rule mark"')

    known = Dot("a", 0.5, low=0.4, high=0.6)
    assert rules(known) == rules(known, Dot("b", 0.5)) > rules(Dot("b", 0.5))


def test_names_from_data_are_text_and_nothing_else(tmp_path):
    chart = dot_chart([Dot(HOSTILE, 0.5)], title=HOSTILE, axis=HOSTILE)
    drawn = ET.parse(save_figure(chart, tmp_path, "figure")[1])  # noqa: S314 - our own file
    tags = {element.tag.rpartition("}")[2] for element in drawn.iter()}
    assert not tags & {"script", "b", "foreignObject"}


def test_the_shares_of_a_distribution_add_up_to_one():
    drawn = distribution_chart({"one": np.arange(1000.0)}, title="t", axis="x").to_dict()
    (rows,) = drawn["datasets"].values()
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_a_constant_is_a_distribution_too(tmp_path):
    save_figure(distribution_chart({"one": [1.0, 1.0]}, title="t", axis="x"), tmp_path, "figure")


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"2 names have a matrix of shape \(1, 1\)"):
        matrix_chart(["a", "b"], [[1.0]], title="t")
