"""What an experiment found, as a page and as files."""

import json
import math

import pytest

from sgi.reporting.charts import line_chart
from sgi.stats.ranking import ranking
from sgi_lab.paper.findings import MISSING, Column, Finding, Section, format_ranking

COLUMNS = (Column("model", "model"), Column("AUROC", "auroc"))


def finding(**changes):
    given = {
        "name": "table9",
        "title": "Table 9",
        "settings": {"data": "file_of_mine.jsonl", "seed": 0, "models": ("a", "b")},
        "sections": (
            Section(
                "Numbers",
                (Column("model", "model"), Column("AUROC", "auroc")),
                [{"model": "a|b", "auroc": 0.5}],
            ),
        ),
        "figures": {"table9": line_chart({"a": {"x": 1.0}}, title="t", axis="y", across="x")},
        "remarks": ("Nothing <b>was</b> found.",),
        "signatures": ("sgi:1|emb:minilm@3f2a|judge:-|n:3|v:0.1.0",),
    }
    return Finding(**given | changes)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.12345, "0.123"),
        (-0.5, "-0.500"),
        (12345, "12,345"),
        ("words", "words"),
        ((0.1, 0.25), "0.100–0.250"),
        (None, MISSING),
        (math.nan, MISSING),
        (math.inf, MISSING),
    ],
)
def test_a_cell_shows_what_there_is_and_a_dash_where_there_is_nothing(value, shown):
    assert Column("x", "key").cell({"key": value}) == shown
    assert Column("x", "other").cell({"key": value}) == MISSING


def test_a_page_shows_remarks_tables_settings_signatures_and_figures():
    page = finding().markdown()
    assert page.startswith("# Table 9\n")
    for part in (
        r"* Nothing \<b\>was\</b\> found.",
        "## Numbers",
        r"| a\|b | 0.500 |",
        "`data: file_of_mine.jsonl; seed: 0; models: a, b`",
        "`sgi:1|emb:minilm@3f2a|judge:-|n:3|v:0.1.0`",
        "![table9](table9.svg)",
    ):
        assert part in page
    assert "![" not in finding()._repr_markdown_()


def test_it_is_written_as_page_data_and_pictures_the_same_each_time(tmp_path):
    first, second = (finding().write(tmp_path / name) for name in ("one", "two"))
    assert [path.name for path in first] == ["table9.md", "table9.json", "table9.png", "table9.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    data = json.loads(first[1].read_bytes())
    assert data["tables"][0]["rows"] == [{"model": "a|b", "auroc": 0.5}]
    assert data["settings"]["models"] == ["a", "b"]


def test_an_auroc_goes_into_a_row_with_its_interval():
    found = ranking(range(12), [0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1])
    row = format_ranking(found, "angle_auroc")
    assert row == {
        "angle_auroc": found.auroc,
        "angle_auroc_interval": (found.interval.low, found.interval.high),
    }
