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
        (found,) = json.loads(reproduce("table5", "--answers", name, "--json", "-o", tmp_path).out)
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


def test_models_that_are_not_here_are_left_out_and_named(reproduce, tmp_path):
    result = reproduce("table5", "--models", "mpnet,minilm,bge", "--json", "-o", tmp_path)

    assert result.code == 0
    lines = [line for line in result.err.splitlines() if line.startswith("Warning: ")]
    assert [line.split(" is left out")[0] for line in lines] == [
        "Warning: The model mpnet",
        "Warning: The model bge",
    ]
    assert {row["model"] for row in json.loads(result.out)[0]["tables"][0]["rows"]} == {"minilm"}
    assert "Traceback" not in result.err


def test_without_the_benchmark_the_bundled_items_are_used_with_a_warning(sgi, tmp_path, monkeypatch):
    monkeypatch.delenv("SGI_DATA_DIR", raising=False)
    monkeypatch.setattr("sgi_lab.benchmarks.benchmark_registry.find_data_file", lambda *_: None)

    result = sgi("reproduce", "table5", "--limit", "200", "--json", "-o", tmp_path)

    assert result.code == 0, result.err
    assert "Warning: This uses the 250 items that come with SGI: HaluEval QA was not found" in result.err
    assert "halueval_qa_sample.jsonl" in json.loads(result.out)[0]["settings"]["data"]


def test_an_impossible_folder_is_an_error_before_the_work(sgi, tmp_path):
    (tmp_path / "file").write_text("")
    result = sgi("reproduce", "table1", "--data", "nowhere.jsonl", "-o", "file/made")
    assert result.code == 2
    assert "file/made" in result.err
    assert "nowhere" not in result.err


def test_help_has_examples(sgi):
    assert "sgi reproduce all --models minilm,mpnet" in sgi("reproduce", "--help").out
