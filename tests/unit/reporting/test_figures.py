"""The parts of a view as charts, made of views written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
import vl_convert

from sgi.analysis.compare import Comparison, MetricComparison
from sgi.analysis.groups import Group
from sgi.engine.summary import MetricSummary
from sgi.kernel.metric import Status
from sgi.reporting import figures
from sgi.reporting.chart_specs import comparison_charts
from sgi.reporting.charts import COLOURS, save_figure
from sgi.reporting.descriptions import (
    describe_comparison,
    describe_correlation,
    describe_distribution,
    describe_groups,
    describe_labelled,
    describe_plane,
    short_names,
)
from sgi.reporting.point_figures import plane_figure, scatter_figure
from sgi.reporting.views.comparison import ComparisonView
from sgi.reporting.views.group_view import GroupTable
from sgi.reporting.views.metric_pairs import Correlation, Scatter, ScatterPoint
from sgi.reporting.views.metric_values import Distribution, LabelMetrics
from sgi.stats.calibration import reliability
from sgi.stats.intervals import Interval
from sgi.stats.paired_tests import PairedDifference
from sgi.store.angle_plane import Plane, PlanePoint
from support.views import head

HOSTILE = 'a.b["c\'d"](x=1) </script><img src=x onerror=alert(1)> \x00\x1b\u202e'
UP = True


def distribution(metric="sgi", **counts):
    given = counts or {"label 1": (1, 3), "label 0": (4, 0)}
    return Distribution(metric, (0.5, 1.0, 1.5), given, 1, 2)


def plane(metric="sgi", labels=(True, False, None), rows=3):
    points = tuple(
        PlanePoint(f"{n} {HOSTILE}", n, 0.8 + n / 10, 0.95, 1.2 - n / 10, label)
        for n, label in enumerate(labels)
    )
    return Plane(metric, points, rows)


def mean(metric, value, *, share=False):
    counts = dict.fromkeys(Status, 0) | {Status.OK: 4}
    between = None if value is None else Interval(value - 0.1, value + 0.1, 0.95, "t")
    return MetricSummary(metric, value, between, 0.1, counts, None, is_share=share)


def groups(metric="sgi", names=("easy", "hard"), *, share=False):
    made = (Group(name, 4, (mean(metric, 0.2 + n / 100, share=share),)) for n, name in enumerate(names))
    return GroupTable("method", tuple(made))


def correlation(names=("sgi", "bleu", "flat")):
    square = ((1.0, -0.5, None), (-0.5, 1.0, 0.25), (None, 0.25, 1.0))
    return Correlation(tuple(names), square, ((9,) * 3,) * 3)


def scatter(semantic="semantic_similarity", lexical="bleu"):
    points = (
        ScatterPoint("<b>", 0.1, 0.9, 0.8, label=True),
        ScatterPoint("b", 0.5, 0.5, 0.0, label=False),
        ScatterPoint("c", 0.6, 0.6, 0.1, label=None),
    )
    return Scatter(semantic, lexical, points, 3, 0.5, 1, 0)


def labelled(metric="sgi", *, calibrated=True):
    bins = reliability([0.1, 0.2, 0.9], [False, False, True]) if calibrated else None
    return LabelMetrics(metric, 0.75, ((0, 0), (0, 0.5), (0.5, 1), (1, 1)), bins, bins and 0.13, 8)


def difference(metric, value, verdict="worse"):
    between = None if value is None else Interval(value - 0.1, value + 0.1, 0.95, "t")
    paired_difference = PairedDifference(4, 4, 0.5, 0.4, value, between, 0.01, 0.05, "t")
    return MetricComparison(metric, UP, paired_difference, 0.01, None, (), verdict, (), 9)


def comparison(*metrics, base="monday", new="friday"):
    made = Comparison(base, new, "a", "b", 4, 0, 0, metrics, (), ())
    return ComparisonView(head(name=base), head(name=new), made, frozenset(), (), ())


def every_figure(metric, name="easy"):
    yield figures.distribution_figure(distribution(metric))
    yield plane_figure(plane(metric))
    yield plane_figure(plane(metric, labels=(None, None)), brush=True)
    yield figures.groups_figure(groups(metric, (name, "hard")), metric)
    yield figures.correlation_figure(correlation((metric, name, "flat")))
    yield figures.roc_figure([labelled(metric), labelled(name)])
    yield figures.reliability_figure([labelled(metric), labelled("other", calibrated=False)])
    yield figures.comparison_figure(comparison(difference(metric, -0.1)).comparison, base=name)
    yield scatter_figure(scatter(metric, name))


def values(chart):
    """All rows of data in a spec."""
    parts = [chart, *chart["layer"]]
    return [row for part in parts if "data" in part for row in part["data"]["values"]]


def walked(value):
    if isinstance(value, dict):
        yield from value.items()
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from walked(item)


@pytest.mark.parametrize("number", range(8))
def test_every_figure_is_drawn_named_and_told_in_words(number, tmp_path):
    spec = list(every_figure("sgi"))[number]
    assert spec["title"]
    assert spec["description"].endswith(".")
    titles = [value.get("title") for key, value in walked(spec) if key in {"x", "y"}]
    assert titles
    assert save_figure(spec, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    wide = vl_convert.vegalite_to_vega(spec | {"width": "container"})
    assert "containerSize" in json.dumps(wide)


@pytest.mark.parametrize("number", range(8))
def test_names_from_data_are_text_and_nothing_else(number, tmp_path):
    spec = list(every_figure(HOSTILE, HOSTILE + "2"))[number]
    fields = {value for key, value in walked(spec) if key == "field"}
    assert all(field.isidentifier() for field in fields)
    shown = json.dumps({key: value for key, value in spec.items() if key not in {"datasets", "layer"}})
    assert not set("\x00\x1b\u202e") & set(json.loads(f"[{shown}]")[0]["description"])
    drawn = ET.parse(save_figure(spec, tmp_path / "figure.svg"))
    assert not {element.tag.rpartition("}")[2] for element in drawn.iter()} & {"script", "img", "image"}


@pytest.mark.parametrize("number", range(8))
def test_specs_call_no_function_of_ours_and_draw_without_making_code(number):
    spec = list(every_figure("sgi"))[number]
    expressions = [value for key, value in walked(spec) if key in {"expr", "test", "filter", "calculate"}]
    written = [text for text in expressions if isinstance(text, str)]
    assert set(written) <= {"abs(datum.value) > 0.6", "isValid(datum.low)", "isValid(datum.value)"}


def test_shares_are_of_each_label_and_have_its_colours():
    chart = figures.distribution_figure(distribution())
    shares = {(row["group"], row["at"]): row["share"] for row in values(chart) if "share" in row}
    assert shares == {
        ("label 1", 0.5): 0.25,
        ("label 1", 1.0): 0.75,
        ("label 1", 1.5): 0.0,
        ("label 0", 0.5): 1.0,
        ("label 0", 1.0): 0.0,
        ("label 0", 1.5): 0.0,
    }
    alone = figures.distribution_figure(distribution(**{"label 0": (1, 1)}))
    assert alone["layer"][0]["encoding"]["color"]["scale"]["range"] == [COLOURS[1]]
    assert len(chart["layer"]) == 2  # SGI has a line at 1
    assert len(figures.distribution_figure(distribution("bleu"))["layer"]) == 1


def test_the_plane_has_equal_axes_and_the_diagonal():
    spec = plane_figure(plane())
    scales = {
        json.dumps(part["encoding"][side]["scale"]["domain"]) for part in spec["layer"] for side in ("x", "y")
    }
    assert scales == {"[0.8, 1.0]"}
    assert spec["width"] == spec["height"]
    line = [row for row in values(plane_figure(plane())) if set(row) == {"theta_rc", "theta_rq"}]
    assert all(row["theta_rc"] == row["theta_rq"] for row in line)
    assert any(part["mark"].get("text") == "SGI = 1" for part in spec["layer"])


def test_a_brushed_plane_is_what_pages_rely_on():
    spec = plane_figure(plane(), brush=True)
    (points,) = [part for part in spec["layer"] if part["data"].get("name") == "points"]
    assert json.loads(points["data"]["values"])[0] == {
        "id": f"0 {HOSTILE}",
        "position": 0,
        "theta_rc": 0.8,
        "theta_rq": 0.95,
        "value": 1.2,
        "label": "label 1",
    }
    (chosen,) = points["params"]
    assert (chosen["name"], chosen["select"]["type"]) == ("brush", "interval")
    vega = json.dumps(vl_convert.vegalite_to_vega(spec))
    assert '"name": "points"' in vega
    assert '"name": "brush"' in vega
    assert not any("params" in part for part in plane_figure(plane())["layer"])


def test_the_plane_is_coloured_by_value_where_there_are_no_labels():
    def colour(labels):
        spec = plane_figure(plane(labels=labels))
        return spec["layer"][1]["encoding"]["color"]

    assert colour([None, None])["field"] == "value"
    assert colour([True, None])["scale"]["domain"] == ["label 1", "no label"]
    assert colour([False])["scale"]["range"] == [COLOURS[1]]


def test_a_scatter_plot_has_the_labels_colours_and_a_ring_around_a_wide_gap():
    spec = scatter_figure(scatter())
    dots, rings = spec["layer"]
    assert dots["encoding"]["color"]["scale"]["domain"] == ["label 1", "label 0", "no label"]
    assert rings["transform"] == [{"filter": "abs(datum.gap) > 0.5"}]
    titles = {axis: dots["encoding"][axis]["title"] for axis in "xy"}
    assert titles == {"x": "bleu", "y": "semantic_similarity"}


def test_an_empty_plane_and_one_point_are_drawn_too(tmp_path):
    for made in (plane(labels=()), plane(labels=(None,))):
        assert save_figure(plane_figure(made), tmp_path / "plane.svg").stat().st_size > 1000


def test_groups_stand_with_their_intervals_and_the_largest_of_many():
    chart = figures.groups_figure(groups(share=True), "sgi")
    dots = {row["label"]: row for row in values(chart)}
    assert dots["easy"]["value"] == 0.2
    assert (dots["easy"]["low"], dots["easy"]["high"]) == pytest.approx((0.1, 0.3))
    assert chart["layer"][-1]["encoding"]["x"]["scale"]["domain"] == [0.0, 1.0]
    many = figures.groups_figure(groups(names=[f"{'x' * 90}{n}" for n in range(40)]), "sgi")
    assert len({row["label"] for row in values(many)}) == figures.MAX_DRAWN_GROUPS
    assert many["title"].endswith("(largest 30 of 40)")


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(ValueError, match="method"):
        figures.groups_figure(groups(), "bleu")
    with pytest.raises(ValueError, match="ROC"):
        figures.roc_figure([])
    with pytest.raises(ValueError, match="calibrated"):
        figures.reliability_figure([labelled(calibrated=False)])
    with pytest.raises(ValueError, match="difference"):
        figures.comparison_figure(comparison(difference("sgi", None)).comparison)


def test_a_correlation_of_nothing_is_an_empty_cell():
    cells = {
        (row["down"], row["across"]): row["value"]
        for row in values(figures.correlation_figure(correlation()))
    }
    assert cells[("sgi", "bleu")] == -0.5
    assert cells[("sgi", "flat")] is None


def test_verdicts_have_their_colours():
    view = comparison(difference("sgi", -0.1), difference("bleu", 0.1, "better"), difference("em", None))
    spec = figures.comparison_figure(view.comparison)
    scale = spec["layer"][-1]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "worse": COLOURS[1],
        "better": COLOURS[2],
    }
    assert {row["label"] for row in values(spec) if "label" in row} == {"sgi", "bleu"}


def test_words_hold_the_numbers_that_matter():
    assert describe_distribution(distribution()) == (
        "sgi over 8 rows. Largest of 2 bins: 1 to 1.5, with 75.0 % of label 1; 0.5 to 1, with 100.0 % of "
        "label 0. The outermost bins include 1 row below and 2 above the axis."
    )
    assert describe_plane(plane(rows=9)) == (
        "The angles θ(r, c) and θ(r, q) of 3 of 9 rows, evenly sampled: 2 (66.7 %) above the diagonal "
        "(SGI > 1). Of label 1: 1 (100.0 %); of label 0: 1 (100.0 %)."
    )
    assert (
        describe_groups(groups(), "sgi")
        == "sgi by method, 2 groups: means from 0.2000 (easy) to 0.2100 (hard)."
    )
    assert "highest for flat and bleu (0.25), lowest for bleu and sgi (-0.50)" in describe_correlation(
        correlation()
    )
    assert describe_labelled([labelled()]) == (
        "Metrics against labels: sgi AUROC 0.750, expected calibration error 0.130, 8 rows."
    )
    assert describe_comparison(comparison(difference("sgi", -0.1)).comparison, "monday", "friday") == (
        "friday − monday over 4 pairs: sgi -0.1000 [-0.2000, +0.0000], worse."
    )


def test_words_for_what_is_empty():
    assert describe_distribution(Distribution("sgi", (0, 1), {}, 0, 0)) == "sgi has no values."
    assert describe_plane(plane(labels=(), rows=0)) == "No row has both angles of sgi."
    assert describe_groups(GroupTable("by", ()), "sgi") == "sgi by by, 0 groups: no group has a mean."
    assert (
        describe_correlation(Correlation(("a",), ((1.0,),), ((3,),)))
        == "No pair of 1 metric has a correlation."
    )
    assert describe_labelled([]) == "No metric has values for rows with both labels."
    assert "9 metrics" not in describe_labelled([labelled()] * 10)
    assert describe_labelled([labelled()] * 10).endswith("and 2 more metrics.")


def test_shortened_names_stay_different():
    names = ["x" * 100 + str(n) for n in range(4)] + ["y", "y"]
    assert len(set(short_names(names))) == 6


def test_a_page_draws_each_table_with_each_metric_that_has_means():
    tables = [groups(), GroupTable("topic", (Group("x", 4, (mean("sgi", None), mean("bleu", 0.5))),))]
    assert figures.group_figures(tables) == [(tables[0], "sgi"), (tables[1], "bleu")]
    many = [groups() for _ in range(20)]
    assert len(figures.group_figures(many)) == figures.MAX_GROUP_FIGURES
    small = Group("x", 1, (mean("sgi", 0.5),))
    undrawn = GroupTable("k", (*[Group("y", 2, (mean("sgi", None),))] * figures.MAX_DRAWN_GROUPS, small))
    assert figures.group_figures([undrawn]) == []


def test_the_names_of_a_comparison_are_those_of_its_page():
    made = comparison(difference("sgi", -0.1))
    titled = replace(made, new=replace(made.new, name="after the change"))
    chart = comparison_charts(titled)["differences"]["usermeta"]
    assert chart["title"] == "after the change − monday"
    assert chart["description"].startswith("after the change − monday over")
    assert figures.comparison_figure(made.comparison)["title"] == "friday − monday"


def test_a_calibration_is_told_with_the_brier_score_of_the_base_rate():
    description = describe_labelled([replace(labelled(), brier=0.21, base_rate_brier=0.25)])
    assert "error 0.130, Brier score 0.210 (base rate 0.250), 8 rows" in description
