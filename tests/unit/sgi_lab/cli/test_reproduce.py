from __future__ import annotations

import json

import pytest


@pytest.fixture
def reproduce(sgi, data_folder):
    def call(name, *words):
        return sgi("reproduce", name, "--data", data_folder / "halueval_qa.jsonl", "--limit", "200", *words)

    return call


def test_pages_go_to_the_folder_and_the_same_to_stdout(reproduce, tmp_path):
    result = reproduce("table1", "-o", tmp_path / "made")
    assert result.code == 0, result.err
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "table1.json",
        "table1.md",
        "table1.png",
        "table1.svg",
    ]
    assert result.out.strip() == (tmp_path / "made" / "table1.md").read_text(encoding="utf-8").strip()
    assert "table1.md, table1.json, table1.png, table1.svg in " in result.err


def test_json_is_what_the_file_holds(reproduce, tmp_path):
    result = reproduce("table5", "--json", "-o", tmp_path)
    (found,) = json.loads(result.out)
    assert found == json.loads((tmp_path / "table5.json").read_bytes())


def test_the_sample_is_the_requested_one(reproduce, tmp_path):
    for name in ("paper", "full", "matched"):
        (found,) = json.loads(reproduce("table5", "--sample", name, "--json", "-o", tmp_path).out)
        assert found["settings"]["sample"] == name
        assert found["tables"][0]["rows"][0]["sample"] == name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tabel1",), "table1"),
        (("table1", "--models", "minlm"), "minilm"),
        (("table1", "--models", ""), "Give one or more models"),
        (("table1", "--data", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_missing_data_is_an_error_and_nothing_is_written(sgi, tmp_path, words, message):
    result = sgi("reproduce", *words, "-o", "made")
    assert result.code == 2
    assert message in result.err
    assert not result.out
    assert not list((tmp_path / "made").glob("*"))


def test_an_impossible_folder_is_an_error_before_the_work(sgi, tmp_path):
    (tmp_path / "file").write_text("")
    result = sgi("reproduce", "table1", "--data", "nowhere.jsonl", "-o", "file/made")
    assert result.code == 2
    assert "file/made" in result.err
    assert "nowhere" not in result.err


def test_help_has_examples(sgi):
    assert "sgi reproduce all --models minilm,mpnet" in sgi("reproduce", "--help").out
