import json
from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi.io.readers import absolute, parse_name
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi_lab.benchmarks import BENCHMARKS, open_benchmark

ROW = {"id": "x", "question": "q", "response": "r", "meta": {"split": "test"}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "here" / "below"
    made.mkdir(parents=True)
    (made / "rows.jsonl").write_text(json.dumps(ROW))
    monkeypatch.chdir(made)
    return made


def ids(data, **options):
    return [sample.id for sample in open_dataset(data, **options).samples()]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_opened_by_its_name(folder, name):
    data = open_dataset(f"{name}:rows.jsonl")

    assert data == open_benchmark(name, "rows.jsonl")
    assert data.name == name
    assert [sample.id for sample in data.samples()] == ["x"]
    assert list(data.samples()) == list(data.samples())


def test_without_a_path_it_is_looked_for(folder, monkeypatch):
    (folder / "stsb.jsonl").write_text(json.dumps(ROW))
    monkeypatch.setenv("SGI_DATA_DIR", str(folder))

    assert ids("stsb:") == ["x"]


@pytest.mark.parametrize("spelt", ["ragtruth(split=test):rows.jsonl", "ragtruth( split = test ):rows.jsonl"])
def test_options_stand_in_brackets(folder, spelt):
    assert ids(spelt) == ["x"]
    assert open_dataset(spelt).name == "ragtruth(split=test)"
    assert ids("ragtruth(split=train):rows.jsonl") == []


def test_a_path_that_begins_elsewhere_begins_there(folder, monkeypatch):
    monkeypatch.chdir(folder.parents[1])

    assert ids("begin:here/below/rows.jsonl") == ["x"]
    assert ids(Path("here") / "begin:below/rows.jsonl") == ["x"]
    assert ids(Path("here/below/begin:../below/rows.jsonl")) == ["x"]
    assert ids(Path("elsewhere") / f"begin:{folder / 'rows.jsonl'}") == ["x"]


def test_a_file_of_that_very_name_goes_first(folder):
    (folder / "stsb:rows.jsonl").write_text(json.dumps(ROW | {"id": "mine"}))

    assert ids("stsb:rows.jsonl") == ["mine"]


@pytest.mark.parametrize(
    "data", ["rows.jsonl", "C:rows.jsonl", "C:\\data\\rows.jsonl", "a b:c", "", ":", "/x/a:b"]
)
def test_other_names_are_files(data):
    assert parse_name(data) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "haleval_qa:x.jsonl",
            "Unknown format 'haleval_qa'. Did you mean 'halueval_qa'.*Known formats: .*halueval_qa",
        ),
        ("RAGTruth:x.jsonl", "Unknown format 'RAGTruth'"),
        ("nothing:x", "Unknown format 'nothing'"),
        ("stsb(split=test):x", "Unknown option of stsb 'split'.*It has no options"),
        ("ragtruth(split=tets):x", "Unknown split of ragtruth 'tets'. Did you mean 'test'"),
    ],
)
def test_what_is_not_known_is_told_with_what_comes_near(folder, data, message):
    with pytest.raises(UnknownNameError, match=message):
        open_dataset(data)


@pytest.mark.parametrize("options", ["split", "split=", "=test", "split=test,", "split=test,split=train"])
def test_options_that_cannot_be_read_are_told(folder, options):
    with pytest.raises(UsageError):
        open_dataset(f"ragtruth({options}):rows.jsonl")


def test_columns_are_not_mapped_over_a_benchmark(folder):
    with pytest.raises(UsageError):
        open_dataset("stsb:rows.jsonl", columns={"response": "sentence2"})


@pytest.mark.parametrize(
    ("path", "message"),
    [("gone.jsonl", "does not exist"), ("a.txt", "has the suffix '.txt'"), ("empty.jsonl", "is empty")],
)
def test_a_file_that_cannot_be_read_is_told_at_once(folder, path, message):
    (folder / "a.txt").write_text("x")
    (folder / "empty.jsonl").write_text("")

    with pytest.raises(DataError, match=f"{path}: {message}"):
        open_dataset(f"truthfulqa:{path}")


def test_a_folder_is_only_for_ragtruth(folder):
    with pytest.raises(DataError, match="is a directory"):
        open_dataset(f"stsb:{folder}")


@pytest.mark.parametrize(
    "spelt",
    [
        "begin:rows.jsonl",
        "begin:../below/rows.jsonl",
        "begin:../../here/below/rows.jsonl",
        "ragtruth(split=test):rows.jsonl",
        "squad(predictions=../below/p.json):rows.jsonl",
        "rows.jsonl",
    ],
)
def test_the_absolute_name_holds_from_any_folder(folder, monkeypatch, spelt):
    (folder / "p.json").write_text("{}")
    whole = absolute(Path(spelt))
    monkeypatch.chdir("/")

    assert ids(whole) == ["x"]
    assert absolute(whole) == whole
