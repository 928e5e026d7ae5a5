from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from sgi.cli.console import one_line
from sgi.cli.options import complete_run
from support import command
from support.answers import TERMINAL_ATTACK, rows, write_jsonl


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


def test_json_tells_the_same(sgi, three_runs):
    newest, _, oldest = sgi("runs", "--json").json
    assert (newest["name"], newest["data"], newest["state"]) == ("wednesday", "b.jsonl", "finished")
    assert (newest["rows"], newest["scored"], newest["stopped"]) == (40, 40, None)
    assert newest["metrics"]["squad_em"] == 0.75
    assert list(oldest["metrics"]) == ["squad_em", "rouge_l"]
    assert newest["created_at"] > oldest["created_at"]
    assert newest["signature"].startswith("sgi:1|")


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


def test_names_and_ids_are_completed(sgi, three_runs, tmp_path):
    context = type("Context", (), {"params": {"db": str(tmp_path / "sgi.db")}})()
    assert complete_run(context, "mon") == ["monday"]
    assert complete_run(context, "la") == ["last"]
    assert len(complete_run(context, "20")) == 3
    assert complete_run(type("Context", (), {"params": {"db": "no.db"}})(), "") == []
