import os
from pathlib import Path

import pytest

from sgi.io import Dataset, open_dataset
from sgi.io.files import SUFFIXES
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.kernel.sample import Sample

DATA = Path(os.environ.get("SGI_DATA_DIR") or Path(__file__).parents[4] / "shared" / "data")
ROWS = [{"id": "a", "response": "r"}, {"id": "b", "response": "s"}]


def test_a_file_is_read_again_and_again(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "r"}\n')
    data = open_dataset(path)

    assert isinstance(data, Dataset)
    assert data.name == "a.jsonl"
    assert list(data.samples()) == list(data.samples()) == [Sample(id="1", response="r")]


def test_a_file_that_vanishes_between_readings_is_told(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "r"}\n')
    data = open_dataset(path)
    path.unlink()

    with pytest.raises(DataError, match="does not exist"):
        list(data.samples())


@pytest.mark.parametrize("name", ["a.txt", "a", "a.xls", "a.gz", ".jsonl"])
def test_an_unknown_suffix_is_told_with_the_known_ones(tmp_path, name):
    (tmp_path / name).write_text('{"response": "r"}\n')

    with pytest.raises(DataError) as caught:
        open_dataset(tmp_path / name)

    assert all(suffix in caught.value.hint for suffix in SUFFIXES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_told_at_once(tmp_path, suffix):
    with pytest.raises(DataError, match="does not exist"):
        open_dataset(tmp_path / f"a{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_binary_data_under_any_name_is_told(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(bytes(range(256)) * 100)

    with pytest.raises(DataError, match=rf"a{suffix}.*(binary|Parquet|Arrow|Excel)"):
        list(open_dataset(path).samples(on_reject=[].append))


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        lambda rows: (row for row in rows),
    ],
)
def test_objects_of_any_iterable_are_read_again_and_again(make):
    data = open_dataset(make(ROWS))

    assert data.name == "python objects"
    assert [s.id for s in data.samples()] == [s.id for s in data.samples()] == ["a", "b"]


def test_samples_and_dicts_may_be_mixed():
    samples = list(open_dataset([Sample(id="x", response="r"), {"answer": "s"}]).samples())

    assert [(sample.id, sample.response) for sample in samples] == [("x", "r"), ("2", "s")]


@pytest.mark.parametrize("row", [3, None, "text", ["a"], b"a"])
def test_an_object_that_is_no_row_is_refused(row):
    bad = []

    samples = list(open_dataset([{"response": "r"}, row]).samples(on_reject=bad.append))

    assert len(samples) == 1
    assert str(bad[0].error).startswith("row 2: expected a dict or a Sample, found ")


def test_a_dataset_comes_back_as_it_is():
    class Mine:
        name = "mine"

        def samples(self, *, on_reject=None, on_columns=None):
            return iter(())

    data = Mine()

    assert open_dataset(data) is data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"response": "r"}, r"one dict is only one row. Put it in a list"),
        (Sample(id="a"), "one Sample is only one row"),
        (3, "Data of the type int cannot be read"),
        (None, "Data of the type NoneType cannot be read"),
        (b"a.jsonl", "Data of the type bytes cannot be read"),
    ],
)
def test_other_data_is_told(data, message):
    with pytest.raises(UsageError, match=message):
        open_dataset(data)


def test_an_unknown_field_is_told_before_the_data_is_touched():
    with pytest.raises(UnknownNameError, match="response"):
        open_dataset("missing.jsonl", columns={"responses": "x"})


def shared(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {name} is not here: set SGI_DATA_DIR")
    return path


@pytest.mark.parametrize(
    ("name", "samples", "labels", "fields"),
    [
        ("begin.jsonl", 1497, (549, 927), {"question", "contexts", "response", "label"}),
        ("evouna.jsonl", 4000, (2951, 1049), {"question", "response", "reference", "label"}),
        ("graphrag_bench.jsonl", 1264, (0, 0), {"question", "reference"}),
        ("halueval_dialogue.jsonl", 2000, (1000, 1000), {"question", "contexts", "response", "reference"}),
        ("halueval_qa.jsonl", 5994, (2997, 2997), {"question", "contexts", "response", "reference", "label"}),
        ("halueval_qa_lenmatched.jsonl", 324, (162, 162), {"question", "contexts", "response", "reference"}),
        ("ragas_samples.jsonl", 40, (22, 18), {"question", "response"}),
        ("ragtruth_qa_test.jsonl", 306, (252, 54), {"question", "contexts", "response", "label"}),
        ("stsb.jsonl", 2533, (0, 0), {"response", "reference"}),
        ("truthfulqa.jsonl", 1922, (857, 1065), {"question", "response", "reference", "label"}),
        ("TruthfulQA.csv", 817, (0, 0), {"question", "reference"}),
    ],
)
def test_published_data_is_read_without_a_mapping(name, samples, labels, fields):
    found = list(open_dataset(shared(name)).samples())

    assert len(found) == samples
    assert (sum(s.label is True for s in found), sum(s.label is False for s in found)) == labels
    assert all(fields - {"label"} <= s.model_fields_set for s in found)
