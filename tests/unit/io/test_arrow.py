"""Rows of Arrow files, and of folders that ``datasets.save_to_disk`` writes."""

import json
import struct

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from sgi.io.dataset import open_dataset, trace_format
from sgi.kernel.errors import DataError, UsageError

TABLE = pa.table(
    {
        "query": ["q0", "q1", "q2", "q3"],
        "contexts": pa.ListArray.from_arrays([0, 2, 2, 3, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
        "answer": pa.array(["r", "s", "r", None]).dictionary_encode(),
        "label": [True, False, None, True],
        "topic": pa.array(["x", None, "y", "x"], pa.string_view()),
    }
)


def write(path, table=TABLE, *, kind="stream", **options):
    if kind == "feather":
        feather.write_feather(table, path, **options)
        return path
    with getattr(pa.ipc, f"new_{kind}")(path, table.schema) as file:
        file.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("kind", ["stream", "file", "feather"])
def test_all_forms_give_the_same_rows(tmp_path, kind):
    first, second, third = open_dataset(write(tmp_path / "a.arrow", TABLE[:3], kind=kind)).samples()

    assert (first.question, first.contexts, first.response, first.label) == ("q0", ("a", "b"), "r", True)
    assert (second.contexts, second.response, second.metadata) == ((), "s", {})
    assert (third.contexts, third.metadata) == (("a",), {"topic": "y"})


def test_rows_are_numbered_across_batches_and_a_bad_one_is_rejected(tmp_path):
    table = pa.table({"response": ["r"] * 7, "label": ["yes"] * 6 + ["?"]})
    bad = []

    assert len([*open_dataset(write(tmp_path / "a.arrow", table)).samples(on_reject=bad.append)]) == 6
    assert bad[0].error.line == 7


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([["r"]], pa.list_view(pa.string())), "list_view.* are not supported"),
        (pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["r"])), "are not supported"),
    ],
)
def test_a_type_that_cannot_be_converted_is_refused(tmp_path, column, message):
    path = write(tmp_path / "a.arrow", pa.table({"response": ["r"], "x": column}))

    with pytest.raises(DataError, match=message):
        list(open_dataset(path).samples())


def test_offsets_beyond_a_text_are_refused(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"response": ["r" * 12_345]}))
    path.write_bytes(path.read_bytes().replace(struct.pack("<ii", 0, 12_345), struct.pack("<ii", 0, 1 << 30)))

    with pytest.raises(DataError, match="cannot be read as Arrow"):
        list(open_dataset(path).samples())


@pytest.mark.parametrize("keep", [4, 300, -100])
def test_a_file_cut_short_is_refused(tmp_path, keep):
    path = write(tmp_path / "a.arrow", kind="file")
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(DataError, match=r"a\.arrow"):
        list(open_dataset(path).samples())


@pytest.mark.filterwarnings("ignore:Feather V1")
def test_version_1_of_feather_is_named(tmp_path):
    path = write(tmp_path / "a.feather", TABLE.select(["query"]), kind="feather", version=1)

    with pytest.raises(DataError, match="version 1 of Feather"):
        list(open_dataset(path).samples())


def test_an_export_is_recognised(tmp_path):
    table = pa.table({"context.trace_id": ["t"], "context.span_id": ["s"], "attributes.input.value": ["q"]})
    parquet.write_table(table, tmp_path / "a.parquet")

    assert (
        trace_format(write(tmp_path / "a.arrow", table)) == trace_format(tmp_path / "a.parquet") == "Phoenix"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Datasets that the library saved: ``one`` in two files, ``splits`` with two, ``only`` with one."""
    datasets = pytest.importorskip("datasets")
    place = tmp_path_factory.mktemp("saved")
    data = datasets.Dataset.from_dict({"id": [*"abc"], "question": ["q"] * 3, "answer": [*"rst"]})
    data.save_to_disk(place / "one", num_shards=2)
    datasets.DatasetDict(train=data, test=data.select([2])).save_to_disk(place / "splits")
    datasets.DatasetDict(test=data).save_to_disk(place / "only")
    return place


@pytest.mark.parametrize(("name", "ids"), [("one", "abc"), ("splits/test", "c"), ("only", "abc")])
def test_a_saved_dataset_is_read(folder, name, ids):
    samples = open_dataset(folder / name).numbered_samples()

    assert [(line, sample.id) for line, sample in samples] == [*enumerate(ids, 1)]


def test_several_splits_need_the_name_of_one(folder):
    with pytest.raises(DataError, match="has the splits 'train', 'test'") as caught:
        open_dataset(folder / "splits")
    assert f"such as {folder / 'splits' / 'train'}" in str(caught.value)


def test_an_encoding_of_a_saved_dataset_is_refused(folder):
    with pytest.raises(UsageError, match="`encoding` does not apply to Arrow files"):
        open_dataset(folder / "one", encoding="cp1252")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "does not list '_data_files'"),
        ('{"_data_files": []}', "holds no rows"),
        ('{"_data_files": [{"filename": "../a.arrow"}]}', "not a file in its folder"),
        ('{"_data_files": [{"filename": "a.arrow"}]}', "does not exist"),
    ],
)
def test_a_damaged_description_is_refused(tmp_path, state, message):
    (tmp_path / "state.json").write_text(state)

    with pytest.raises(DataError, match=message):
        list(open_dataset(tmp_path).samples())


@pytest.mark.parametrize("splits", [["../x"], [], [1], ["gone"]])
def test_damaged_splits_are_refused(tmp_path, splits):
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": splits}))

    with pytest.raises(DataError):
        open_dataset(tmp_path)
