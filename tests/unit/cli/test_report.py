"""`sgi report`: what it writes, where, and what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
import typer

from sgi.reporting.render import report_format
from support.kept_runs import rows, store_run

METRICS = ("squad_em", "content_f1", "rouge_l")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two runs of 24 rows, of metrics that need no model."""
    folder = tmp_path_factory.mktemp("kept")
    database = str(folder / "sgi.db")
    store_run(database, folder, rows(24), name="monday", metrics=METRICS)
    store_run(database, folder, rows(24, answer="Item {k} has {k} {topic}."), name="friday", metrics=METRICS)
    return database


def test_the_page_is_one_file_and_its_size_is_printed(sgi, kept, tmp_path):
    result = sgi("report", "monday", "--db", kept)
    assert (result.code, result.out) == (0, "")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "monday" in page
    assert "item-23" in page
    size = (tmp_path / "report.html").stat().st_size
    size_text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size:,} bytes"
    assert result.err == f"Wrote report.html: monday, {size_text}.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_rows_beyond_the_page_lie_beside_it_and_are_linked(sgi, kept, tmp_path):
    result = sgi("report", "monday", "--db", kept, "-o", "out.html", "--rows", "10")
    assert result.code == 0
    assert "Wrote out.rows.csv: all 24 rows; the page shows 10." in result.err
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert 'href="out.rows.csv"' in page
    with (tmp_path / "out.rows.csv").open(newline="", encoding="utf-8") as lines:
        assert [row["id"] for row in csv.DictReader(lines)] == [f"item-{k}" for k in range(24)]


def test_markdown_goes_to_stdout_or_into_a_file(sgi, kept, tmp_path):
    page = sgi("report", "monday", "--db", kept, "--format", "md", "--worst", "1")
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith("# monday\n")
    assert page.out.count("## Rows with the ") == 3
    assert sgi("report", "monday", "--db", kept, "-o", "a.md", "--worst", "1", "-q").err == ""
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == page.out


def test_json_holds_the_view(sgi, kept, tmp_path):
    facts = sgi("report", "monday", "--db", kept, "--format", "json").json
    assert facts["head"]["name"] == "monday"
    assert [entry["metric"] for entry in facts["headline"]["metrics"]] == list(METRICS)
    assert {table["by"] for table in facts["groups"]} == {"label", "topic"}
    assert len(facts["worst"][0]["samples"]) == 10
    sgi("report", "monday", "--db", kept, "-o", "a.json", "-q")
    assert json.loads((tmp_path / "a.json").read_text()) == facts


def test_three_runs_or_a_column_give_a_leaderboard(sgi, kept, tmp_path):
    shutil.copy(kept, tmp_path / "sgi.db")
    answers = rows(24, answer="Item {k} has {k}.")
    store_run("sgi.db", tmp_path, answers, name="sunday", metrics=METRICS)
    facts = sgi("report", "monday", "friday", "sunday", "--format", "json").json
    assert [run["name"] for run in facts["runs"]] == ["monday", "friday", "sunday"]
    assert (facts["title"], facts["leaderboard"]["groups"]) == ("monday, friday, sunday", [])
    assert [metric["metric"] for metric in facts["leaderboard"]["metrics"]] == list(METRICS)
    page = sgi(
        "report", "monday", "friday", "--within", "topic", "--format", "md", "--title", "Two *runs*"
    ).out
    assert page.startswith("# Two \\*runs\\*\n")
    assert "### rouge_l by topic" in page
    assert "| friday − monday |" in page or "| monday − friday |" in page
    words = ["--within", "topic", "--pareto", "rouge_l,squad_em", "-o", "board.html", "--rows", "1"]
    result = sgi("report", "monday", "friday", "sunday", *words)
    assert "Wrote board.html: monday, friday, sunday" in result.err
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert page.count('data-chart="systems-') == page.count('data-chart="groups-') == 3
    assert page.count(" ahead; significantly worse than another system: ") == 3
    assert 'data-chart="pareto"' in page
    assert "friday − sunday" in page or "sunday − friday" in page
    assert not (tmp_path / "board.rows.csv").exists()
    refused = sgi("report", "monday", "--within", "topic")
    assert (refused.code, "A comparison needs two or more runs" in refused.err) == (2, True)


def test_runs_that_differ_are_compared_only_where_that_is_allowed(sgi, kept, tmp_path):
    changed = [row | {"reference": "Nobody knows."} for row in rows(12)]
    for name, entry in (("one", rows(12)), ("two", changed)):
        store_run(tmp_path / "own.db", tmp_path, entry, name=name, metrics=["content_f1"])
    for verb, *more in (("report", "two", "--format", "md"), ("plot", "-k", "comparison", "--with", "two")):
        words = [
            *(("runs", "plot") if verb == "plot" else (verb,)),
            "one",
            *more,
            "--db",
            str(tmp_path / "own.db"),
            "-o",
            f"{verb}.{'png' if verb == 'plot' else 'md'}",
        ]
        refused = sgi(*words)
        assert (refused.code, "reference of 12 of 12 pairs" in refused.err) == (2, True)
        assert sgi(*words, "--allow-different").code == 0
    assert "Differs in more than the responses: reference of 12" in (tmp_path / "report.md").read_text()


def test_a_title_replaces_the_name(sgi, kept):
    page = sgi("report", "monday", "--db", kept, "--format", "md", "--title", "A <b>week</b>").out
    assert page.startswith("# A \\<b\\>week\\</b\\>\n")
    page = sgi("report", "monday", "friday", "--db", kept, "--format", "md", "--title", "Now").out
    assert page.startswith("# monday → Now\n")
    result = sgi("report", "monday", "--db", kept, "--format", "json", "--title", "x")
    assert (result.code, "--title does not apply to JSON" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "kind"), [("a.html", "html"), ("a.HTM", "html"), ("a.md", "md"), ("a.json", "json")]
)
def test_the_suffix_gives_the_format(name, kind):
    assert report_format(Path(name)) == kind


def test_the_option_gives_the_format_of_any_file(sgi, kept, tmp_path):
    assert sgi("report", "monday", "--db", kept, "--format", "md", "-o", "a.txt").code == 0
    assert (tmp_path / "a.txt").read_text("utf-8").startswith("# monday")


def test_an_unwritable_file_is_an_error_before_the_work(sgi, kept, tmp_path):
    result = sgi("report", "monday", "--db", kept, "-o", "missing/a.html")
    assert (result.code, "does not exist" in result.err) == (2, True)
    (tmp_path / "a.html").mkdir()
    result = sgi("report", "no such run", "--db", kept, "-o", "a.html")
    assert (result.code, "not a regular file" in result.err) == (2, True)
    for words in (["--rows", "0"], ["--rows", "10001"], ["--format", "pdf"]):
        assert sgi("report", "monday", "--db", kept, *words).code == 2
    assert sgi("report", "nobody", "--db", kept).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_page_never_takes_the_place_of_the_data(sgi, tmp_path):
    store_run("sgi.db", tmp_path, rows(4), name="a", metrics=("squad_em",))
    before = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "b.html").symlink_to(tmp_path / "a.jsonl")
    result = sgi("report", "a", "-o", "b.html")
    assert (result.code, "holds the data of the run" in result.err) == (2, True)
    assert (tmp_path / "a.jsonl").read_bytes() == before


def test_open_shows_the_file(sgi, kept, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(typer, "launch", shown.append)
    assert sgi("report", "monday", "--db", kept, "-o", "a b.html", "--open", "-q").code == 0
    assert shown == [(tmp_path / "a b.html").as_uri()]
    result = sgi("report", "monday", "--db", kept, "--format", "md", "--open")
    assert (result.code, "--open needs an HTML file" in result.err) == (2, True)
