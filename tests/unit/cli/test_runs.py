from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from sgi.cli.commands import command_points
from sgi.cli.console import one_line
from sgi.cli.options import complete_run
from sgi.store.database import open_database
from support import command
from support.answers import FAILING_TARGET, TERMINAL_ATTACK, rows, run_with_closed_stdout, write_jsonl
from support.runs import add_run


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    write_jsonl(folder / "a.jsonl", rows())
    write_jsonl(folder / "b.jsonl", rows(spoilt=10))
    for data, name in (("a.jsonl", "monday"), ("b.jsonl", "Tuesday"), ("b.jsonl", "wednesday")):
        result = command.sgi(folder, "run", data, "-m", "squad_em,rouge_l", "--name", name, "-q")
        assert result.code == 0
    return folder


@pytest.fixture
def three_runs(kept, tmp_path):
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)


def test_the_newest_run_is_first_with_its_means(sgi, three_runs):
    result = sgi("runs")
    assert (result.code, result.err) == (0, "")
    places = [result.out.index(name) for name in ("wednesday", "Tuesday", "monday")]
    assert places == sorted(places)
    assert "squad_em 75.00 %" in result.out
    assert "squad_em 100.00 %" in result.out
    assert "finished" in result.out
    assert "squad_em 0.7500" in sgi("runs", "--no-percent").out


def test_json_tells_the_same(sgi, three_runs):
    newest, _, oldest = sgi("runs", "--json").json
    assert (newest["name"], newest["data"], newest["state"]) == ("wednesday", "b.jsonl", "finished")
    assert (newest["rows"], newest["scored"], newest["stopped"]) == (40, 40, None)
    assert newest["metrics"]["squad_em"] == 0.75
    assert list(oldest["metrics"]) == ["squad_em", "rouge_l"]
    assert newest["created_at"] > oldest["created_at"]
    assert newest["signature"].startswith("sgi:1|")


def test_limit_and_search(sgi, three_runs):
    limited = sgi("runs", "--limit", "1")
    assert ("wednesday" in limited.out, "monday" in limited.out) == (True, False)
    assert "1 of 3 runs; --limit 3" in limited.err
    assert [run["name"] for run in sgi("runs", "--search", "TUES", "--json").json] == ["Tuesday"]
    assert [run["name"] for run in sgi("runs", "--search", "a.jsonl", "--json").json] == ["monday"]
    none = sgi("runs", "--search", "friday")
    assert (none.code, none.out) == (0, "")
    assert "None of 3 runs contains 'friday'" in none.err
    assert sgi("runs", "--limit", "0").code == 2


def test_nothing_yet_says_how_to_make_one_and_makes_no_file(sgi, tmp_path):
    result = sgi("runs")
    assert (result.code, result.out) == (0, "")
    assert "sgi run" in result.err
    assert sgi("runs", "--json").json == []
    assert list(tmp_path.iterdir()) == []
    open_database(tmp_path / "empty.db").close()
    assert "sgi run" in sgi("runs", "--db", "empty.db").err


def test_a_named_database_that_is_not_there_is_an_error(sgi):
    result = sgi("runs", "--db", "no.db")
    assert (result.code, result.out) == (2, "")
    assert "no.db" in result.err


def test_a_run_that_stopped_says_why_and_how_far_it_came(sgi, tmp_path):
    (tmp_path / "flaky_for_runs.py").write_text(FAILING_TARGET)
    write_jsonl(tmp_path / "many.jsonl", rows(300))
    assert sgi("run", "many.jsonl", "-m", "squad_em", "--target", "flaky_for_runs:answer", "-q").code == 2
    result = sgi("runs")
    assert "256 of 300" in result.out
    assert "stopped: 14.7% of the first 300 rows failed" in result.out
    assert "squad_em" in result.out
    (run,) = sgi("runs", "--json").json
    assert (run["state"], run["scored"], run["metrics"]) == ("stopped", 256, {"squad_em": None})
    assert "no such luck" in run["stopped"]


def test_no_name_steers_the_terminal_or_begins_a_line(sgi, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", rows(3))
    assert sgi("run", "a.jsonl", "-m", "squad_em", "-q").code == 0
    with closing(sqlite3.connect(tmp_path / "sgi.db")) as connection:  # no command gives such a name
        connection.execute("UPDATE runs SET name = ?", [TERMINAL_ATTACK])
        connection.commit()
    page = sgi("runs").out
    assert one_line(TERMINAL_ATTACK) in page
    assert not set(page) & set("\x1b\x9b\u202e")
    assert sgi("runs", "--json").json[0]["name"] == TERMINAL_ATTACK


@pytest.mark.parametrize("columns", ["20", "300"])
def test_a_narrow_window_cuts_nothing(sgi, three_runs, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    page = sgi("runs").out
    assert len(page.splitlines()) == 8  # a title, two lines a run, and a blank one
    assert "rouge_l 75.31 %" in page or "rouge_l 100.00 %" in page
    assert page.count("UTC") == 3


@pytest.mark.parametrize("words", [["runs"], ["show", "r1"]])
def test_a_reader_that_leaves_ends_it_quietly(tmp_path, words):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database)
    assert run_with_closed_stdout(tmp_path, *words) == (0, b"")


def test_names_and_ids_are_completed(sgi, three_runs, tmp_path):
    context = type("Context", (), {"params": {"db": str(tmp_path / "sgi.db")}})()
    assert complete_run(context, "mon") == ["monday"]
    assert complete_run(context, "la") == ["last"]
    assert len(complete_run(context, "20")) == 3
    assert complete_run(type("Context", (), {"params": {"db": "no.db"}})(), "") == []


def test_every_new_verb_says_examples(sgi):
    verbs = {*command_points()}
    assert verbs >= {"runs", "show", "compare", "gate", "export"}
    for words in (["runs"], ["show"], ["compare"], ["gate"], ["export"]):
        page = sgi(*words, "--help").out
        assert f"sgi {words[0]}" in page.partition("Examples:")[2]
    for verb in ("status", "export", "import", "import-evals"):
        assert f"sgi db {verb}" in sgi("db", verb, "--help").out.partition("Example")[2]
