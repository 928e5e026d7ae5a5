from __future__ import annotations

import io
import sys

import pytest

from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from support.answers import TERMINAL_ATTACK, rows, write_jsonl
from support.runs import add_run


@pytest.fixture
def runs(tmp_path):
    """Three runs in the working folder's database; says which are there."""
    path = tmp_path / "sgi.db"
    with open_database(path) as database:
        for run, name in (("r1", "monday"), ("r2", None), ("r3", TERMINAL_ATTACK)):
            add_run(database, run, name=name, scores={"sgi": (1.0,), "bleu": (None,)})

    def there():
        with open_database(path) as database:
            return {record.id: (record.name, record.tags) for record in list_runs(database)}

    return there


class Terminal(io.StringIO):
    """A person at the keyboard."""

    def isatty(self):
        return True


def test_rename_gives_and_takes_a_name(sgi, runs):
    result = sgi("runs", "rename", "r2", "tuesday")
    assert (result.code, result.out, result.err) == (0, "", "Renamed r2 to tuesday.\n")
    assert runs()["r2"][0] == "tuesday"
    assert sgi("runs", "rename", "tuesday", "--clear", "--json").json == {"id": "r2", "name": None}
    assert runs()["r2"][0] is None
    assert "Cleared the name of run r1." in sgi("runs", "rename", "monday", "--clear").err


def test_tag_adds_prints_and_removes(sgi, runs):
    assert "r2 has no tags" in sgi("runs", "tag", "r2").err
    assert sgi("runs", "tag", "r2", "nightly", "gpt-4o").out == "gpt-4o\nnightly\n"
    assert sgi("runs", "tag", "r2", "new").out.split() == ["gpt-4o", "new", "nightly"]
    assert sgi("runs", "tag", "r2", "--json").json["tags"] == ["gpt-4o", "new", "nightly"]
    assert sgi("runs", "tag", "r2", "new", "gpt-4o", "--remove", "--json").json == {
        "id": "r2",
        "name": None,
        "tags": ["nightly"],
    }
    assert runs() == {"r1": ("monday", ()), "r2": (None, ("nightly",)), "r3": (TERMINAL_ATTACK, ())}


def test_delete_says_what_went(sgi, runs):
    result = sgi("runs", "delete", "monday", "--yes")
    assert (result.code, result.out) == (0, "Deleted monday: 1 row, 2 scores.\n")
    assert set(runs()) == {"r2", "r3"}
    facts = sgi("runs", "delete", "r2", "last", "r3", "-y", "--json").json
    assert [entry["id"] for entry in facts] == ["r2", "r3"]
    assert facts[0] == {"id": "r2", "name": None, "rows": 1, "scores": 2}
    assert runs() == {}


def test_delete_asks_nobody_who_is_not_there(sgi, runs, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    result = sgi("runs", "delete", "r1")
    assert (result.code, result.out) == (2, "")
    assert "--yes" in result.err
    assert len(runs()) == 3


@pytest.mark.parametrize(
    ("said", "code", "left"), [("y\n", 0, 1), ("n\n", 130, 3), ("\n", 130, 3), ("", 130, 3)]
)
def test_delete_asks_a_person(sgi, runs, monkeypatch, said, code, left):
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    result = sgi("runs", "delete", "r1", "r2")
    assert result.code == code
    assert "monday: 1 row of data of r1" in result.err
    assert "Delete these 2 runs permanently?" in result.err
    assert len(runs()) == left
    assert ("Nothing was deleted" in result.err) == (left == 3)
    assert result.out.count("Deleted") == 3 - left


def test_no_name_steers_the_terminal(sgi, runs, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    pages = [
        sgi("runs", "tag", "r3"),
        sgi("runs", "rename", "r3", f"{TERMINAL_ATTACK}2"),
        sgi("runs", "delete", "r3"),
    ]
    assert [page.code for page in pages] == [0, 2, 0]
    for page in pages:
        assert not set(page.out + page.err) & set("\x1b\x9b\u202e")


def test_runs_are_found_by_tag(sgi, runs):
    sgi("runs", "tag", "r1", "nightly", "gpt-4o")
    sgi("runs", "tag", "r2", "nightly")
    assert [run["id"] for run in sgi("runs", "--tag", "nightly", "--json").json] == ["r2", "r1"]
    (found,) = sgi("runs", "--search", "GPT", "--json").json
    assert (found["id"], found["tags"]) == ("r1", ["gpt-4o", "nightly"])
    page = sgi("runs", "--tag", "nightly", "--limit", "1")
    assert "nightly" in page.out
    assert "1 of 2 runs; --limit 2" in page.err
    none = sgi("runs", "--tag", "weekly", "--search", "mon")
    assert (none.code, none.out) == (0, "")
    assert "None of 3 runs contains 'mon' and has the tag 'weekly'." in none.err


def test_a_new_run_is_tagged(sgi, tmp_path):
    write_jsonl(tmp_path / "a.jsonl", rows(3))
    result = sgi("run", "a.jsonl", "-m", "squad_em", "--tag", "nightly", "--tag", " gpt-4o ", "-q")
    assert result.code == 0
    assert sgi("runs", "--json").json[0]["tags"] == ["gpt-4o", "nightly"]
    assert sgi("run", "--resume", "last", "-q").code == 0
    assert sgi("runs", "tag", "last").out == "gpt-4o\nnightly\n"


DELETING = """
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.manage_runs import delete_run

asked = []


def answer(question):
    asked.append(question)
    if len(asked) == 1:
        with open_database("sgi.db") as database:
            delete_run(database, find_run(database, "mine").id)
    return "an answer"
"""


def test_a_run_that_is_deleted_while_it_is_written_ends_with_one_line(sgi, tmp_path, runs):
    (tmp_path / "deletes_its_run.py").write_text(DELETING)
    write_jsonl(tmp_path / "a.jsonl", rows(300))
    with open_database(tmp_path / "sgi.db") as database:
        before = [record.id for record in list_runs(database)]
    result = sgi(
        "run", "a.jsonl", "-m", "squad_em", "--target", "deletes_its_run:answer", "--name", "mine", "-q"
    )
    assert result.code == 2
    assert "was deleted meanwhile. Start a new one with `sgi run`." in result.err
    assert "Traceback" not in result.err
    assert sorted(runs()) == sorted(before)
