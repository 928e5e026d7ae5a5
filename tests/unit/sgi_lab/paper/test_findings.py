"""What an experiment found, as a page and as files."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample
from sgi.reporting.charts import line_chart
from sgi.stats.ranking import ranking
from sgi_lab.paper.findings import MISSING, Column, Finding, Section, format_ranking
from sgi_lab.paper.paper_answers import Answers
from sgi_lab.paper.workbench import SHORTEST, select

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


def answers(items=200, seed=0):
    """Items of two answers, the right one short as a rule, as in HaluEval."""
    draw = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        for label, usual in ((True, 12), (False, 60)):
            text = "x" * max(1, int(draw.normal(usual, 12)))
            rows.append(
                Sample(id=f"{item}-{label}", question=f"q{item}", contexts=("c",), response=text, label=label)
            )
    return Answers.of("made up", rows)


def test_the_paper_takes_one_answer_an_item_and_no_short_one():
    given = answers()
    chosen = select(given, "paper", seed=1)
    assert max(Counter(given.clusters[chosen.rows].tolist()).values()) == 1
    assert given.lengths[chosen.rows].min() >= SHORTEST
    assert len(chosen.rows) + sum(chosen.filtered.values()) == len(given.labels)
    assert given.labels[chosen.rows].mean() < 0.4


def test_either_answer_of_an_item_can_be_drawn():
    rows = [Sample(id=str(n), question="q", response="x" * 30, label=bool(n)) for n in range(2)]
    given = Answers.of("two", rows)
    drawn = [select(given, "paper", seed=seed) for seed in range(20)]
    assert {bool(given.labels[chosen.rows[0]]) for chosen in drawn} == {True, False}
    assert {chosen.filtered["other answers of the same items"] for chosen in drawn} == {1}


def test_the_same_seed_selects_the_same_rows_and_another_others():
    given = answers()
    for name in ("paper", "matched"):
        rows = [select(given, name, seed=seed).rows.tolist() for seed in (3, 3, 4)]
        assert rows[0] == rows[1] != rows[2]


def test_matched_answers_have_the_same_lengths_in_both_classes():
    given = answers()
    chosen = select(given, "matched")
    lengths, labels = given.lengths[chosen.rows], given.labels[chosen.rows]
    assert Counter(lengths[labels].tolist()) == Counter(lengths[~labels].tolist())
    assert 0 < len(chosen.rows) < len(given.labels)


def test_the_full_sample_is_every_answer():
    given = answers()
    chosen = select(given, "full")
    assert chosen.rows.tolist() == list(range(len(given.labels)))
    assert chosen.omissions == "nothing"


def test_at_most_five_thousand_answers_are_the_papers(monkeypatch):
    monkeypatch.setattr("sgi_lab.paper.workbench.MOST", 10)
    chosen = select(answers(), "paper")
    assert len(chosen.rows) == 10
    assert any("after the first 10" in reason and rows > 0 for reason, rows in chosen.filtered.items())


def test_rows_without_label_are_left_out_and_one_class_is_refused():
    rows = [
        Sample(id="1", question="q", response="a", label=True),
        Sample(id="2", question="q", response="b"),
    ]
    with pytest.raises(DataError, match="of both classes"):
        Answers.of("file.jsonl", rows)


def test_answers_to_one_question_share_a_cluster():
    given = answers(items=5)
    assert given.clusters.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
