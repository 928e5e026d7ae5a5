from __future__ import annotations

import json

import pytest


@pytest.fixture
def reproduce(sgi, data_folder):
    def call(name, *words):
        return sgi("reproduce", name, "--data", data_folder / "halueval_qa.jsonl", "--limit", "200", *words)

    return call


def test_pages_go_to_the_folder_and_the_same_to_stdout(reproduce, tmp_path):
    done = reproduce("table1", "-o", tmp_path / "made")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "table1.json",
        "table1.md",
        "table1.png",
        "table1.svg",
    ]
    assert done.out.strip() == (tmp_path / "made" / "table1.md").read_text(encoding="utf-8").strip()
    assert "table1.md, table1.json, table1.png, table1.svg in " in done.err


def test_json_is_what_the_file_holds(reproduce, tmp_path):
    done = reproduce("table5", "--json", "-o", tmp_path)
    (found,) = json.loads(done.out)
    assert found == json.loads((tmp_path / "table5.json").read_bytes())


def test_the_sample_is_that_which_was_asked_for(reproduce, tmp_path):
    for name in ("paper", "full", "matched"):
        (found,) = json.loads(reproduce("table5", "--sample", name, "--json", "-o", tmp_path).out)
        assert found["settings"]["sample"] == name
        assert found["tables"][0]["rows"][0]["sample"] == name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tabel1",), "table1"),
        (("table1", "--models", "minlm"), "minilm"),
        (("table1", "--models", ""), "Give one or more models"),
        (("table1", "--data", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_what_is_not_there_is_told_and_nothing_is_written(sgi, tmp_path, words, told):
    done = sgi("reproduce", *words, "-o", "made")
    assert done.code == 2
    assert told in done.err
    assert not done.out
    assert not list((tmp_path / "made").glob("*"))


def test_a_folder_that_cannot_be_is_told_before_the_work(sgi, tmp_path):
    (tmp_path / "file").write_text("")
    done = sgi("reproduce", "table1", "--data", "nowhere.jsonl", "-o", "file/made")
    assert done.code == 2
    assert "file/made" in done.err
    assert "nowhere" not in done.err


def test_help_has_examples(sgi):
    assert "sgi reproduce all --models minilm,mpnet" in sgi("reproduce", "--help").out
