import datetime as dt
import decimal
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, MissingExtraError


@pytest.fixture
def saved(tmp_path):
    def saving(table, **options):
        parquet.write_table(pa.table(table), tmp_path / "a.parquet", **options)
        return tmp_path / "a.parquet"

    return saving


def test_columns_of_all_kinds_are_read(saved):
    path = saved(
        {
            "id": [7, None],
            "query": ["q", None],
            "contexts": [["a", "b"], []],
            "answer": ["", "r"],
            "label": pa.array([True, None]),
            "at": [dt.date(2025, 1, 2), None],
            "price": [decimal.Decimal("1.5"), None],
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "nested": [{"a": [1]}, None],
            "pairs": pa.array([[("k", 1)], None], type=pa.map_(pa.string(), pa.int64())),
            "score": [float("nan"), 2.0],
        }
    )

    first, second = open_dataset(path).samples()

    assert (first.id, first.question, first.contexts, first.response, first.label) == (
        "7",
        "q",
        ("a", "b"),
        "",
        True,
    )
    assert first.metadata == {
        "at": "2025-01-02",
        "price": 1.5,
        "kind": "x",
        "nested": {"a": [1]},
        "pairs": {"k": 1},
    }
    assert second.model_fields_set == {"id", "contexts", "response", "metadata"}
    assert second.metadata == {"kind": "y", "score": 2.0}


def test_rows_are_numbered_across_row_groups(saved):
    path = saved(
        {"response": [f"r{n}" for n in range(2000)] + [None], "label": ["yes"] * 2000 + ["?"]},
        row_group_size=300,
    )
    bad = []

    samples = list(open_dataset(path).samples(on_reject=bad.append))

    assert [sample.response for sample in samples] == [f"r{n}" for n in range(2000)]
    assert (bad[0].error.line, bad[0].row) == (2001, {"response": None, "label": "?"})


def test_memory_does_not_grow_with_the_file(saved):
    path = saved({"response": [f"{n} " + "word " * 400 for n in range(20_000)]}, row_group_size=500)
    before = pa.total_allocated_bytes()
    most = 0
    for _ in open_dataset(path).samples():
        most = max(most, pa.total_allocated_bytes() - before)

    assert most < 10_000_000  # the texts are 40 MB


@pytest.mark.parametrize("keep", [4, 100, -1])
def test_a_parquet_file_cut_short_is_told(saved, keep):
    path = saved({"response": ["r"] * 100})
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(DataError):
        list(open_dataset(path).samples())


def test_a_parquet_file_with_damaged_pages_is_told(saved):
    path = saved({"response": [f"word {n}" for n in range(5000)]}, compression="zstd")
    data = bytearray(path.read_bytes())
    data[200:2000] = bytes(1800)
    path.write_bytes(data)

    with pytest.raises(DataError, match=r"a.parquet"):
        list(open_dataset(path).samples())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["response", "response"], "two columns are called"),
        (["", "response"], "column 1 has no name"),
        (["a", "b"], "no column is recognised"),
    ],
)
def test_unusable_columns_are_told(tmp_path, names, message):
    parquet.write_table(pa.Table.from_arrays([pa.array(["r"])] * 2, names=names), tmp_path / "a.parquet")

    with pytest.raises(DataError, match=message):
        list(open_dataset(tmp_path / "a.parquet").samples())


def test_without_pyarrow_the_extra_is_named(saved, monkeypatch):
    path = saved({"response": ["r"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"pip install .*\[parquet\]"):
        list(open_dataset(path).samples())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()), "date32"),
        (pa.array([0, 2**62], pa.timestamp("us")), "timestamp"),
        (pa.MapArray.from_arrays([0, 1, 3], pa.array(["k", "k", "k"]), pa.array([1, 2, 3])), "map"),
    ],
)
def test_a_value_that_python_does_not_have_refuses_its_row_alone(saved, values, kind):
    refused = []

    path = saved({"response": ["r", "s"], "when": values})
    (sample,) = open_dataset(path).samples(on_reject=refused.append)

    assert sample.response == "r"
    (row,) = refused
    assert row.error.line == 2
    assert row.error.message.startswith(f"the value in column 'when' ({kind}")


def test_an_unknown_time_zone_is_told_by_its_column(saved):
    path = saved({"response": ["r"], "when": pa.array([1], pa.timestamp("us", "Nowhere/Else"))})

    with pytest.raises(DataError, match="when"):
        list(open_dataset(path).samples())


def test_a_decoder_that_crashes_ends_in_an_error(saved, monkeypatch, tmp_path):
    crash = tmp_path / "crash.py"
    crash.write_text("import os\nos.abort()\n")
    path = saved({"response": ["r"]})
    monkeypatch.setattr("sgi.io.parquet.parquet_worker.__file__", str(crash))

    with pytest.raises(DataError):
        list(open_dataset(path).samples())


def test_no_module_of_the_working_folder_is_imported(saved, monkeypatch, tmp_path):
    path = saved({"response": ["r"]})
    (tmp_path / "pyarrow.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)

    assert len(list(open_dataset(path).samples())) == 1


def test_rows_of_a_large_value_are_read_a_few_at_a_time(saved, monkeypatch):
    monkeypatch.setattr("sgi.io.parquet._FREE_MEMORY", 64_000_000)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 60, pa.int32()), pa.array(["x" * 3_000_000]))

    assert sum(1 for _ in open_dataset(saved({"response": column})).samples()) == 60
