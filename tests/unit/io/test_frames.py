import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.sample import Sample

COLUMNS = {
    "query": ["q1", None, "q3"],
    "contexts": [["a", "b"], [], None],
    "answer": ["r1", "", None],
    "label": [True, None, False],
    "topic": ["x", None, "y"],
}
EXPECTED = [
    Sample(id="1", question="q1", contexts=("a", "b"), response="r1", label=True, metadata={"topic": "x"}),
    Sample(id="2", contexts=(), response=""),
    Sample(id="3", question="q3", label=False, metadata={"topic": "y"}),
]


def hugging_face(columns):
    return pytest.importorskip("datasets").Dataset.from_dict(columns)


MAKERS = [pd.DataFrame, pl.DataFrame, pa.table, hugging_face]


@pytest.mark.parametrize("make", MAKERS)
def test_every_kind_of_table_gives_the_same_samples(make):
    data = open_dataset(make(COLUMNS))

    for _ in range(2):
        samples = list(data.samples())
        assert samples == EXPECTED
        assert [s.model_fields_set for s in samples] == [s.model_fields_set for s in EXPECTED]


@pytest.mark.parametrize("make", MAKERS)
def test_rows_can_be_refused_and_are_numbered(make):
    bad = []
    data = open_dataset(make({"id": ["a", "b", "a"], "response": ["r", "s", "t"]}))

    samples = list(data.samples(on_reject=bad.append))

    assert [sample.id for sample in samples] == ["a", "b"]
    assert str(bad[0].error).startswith("row 3: id 'a': field 'id': row 1 has the same id")
    assert bad[0].row == {"id": "a", "response": "t"}


@pytest.mark.parametrize("make", MAKERS)
def test_columns_are_mapped_and_must_be_there(make):
    table = make({"ask": ["q"], "said": ["r"]})

    (sample,) = open_dataset(table, columns={"question": "ask", "response": "said"}).samples()

    assert (sample.question, sample.response) == ("q", "r")
    with pytest.raises(DataError, match="sad"):
        list(open_dataset(table, columns={"response": "sad"}).samples())


def test_pandas_values_that_stand_for_nothing_are_absent():
    frame = pd.DataFrame(
        {
            "response": ["r", "s", "t", "u"],
            "question": pd.Series(["q", pd.NA, None, np.nan], dtype=object),
            "label": [1.0, np.nan, 0.0, 1.0],
            "at": pd.to_datetime(["2025-01-02", None, None, None]),
            "count": pd.array([1, None, 3, 4], dtype="Int64"),
        }
    )

    samples = list(open_dataset(frame).samples())

    assert [sample.question for sample in samples] == ["q", "", "", ""]
    assert [sample.label for sample in samples] == [True, None, False, True]
    assert samples[0].metadata == {"at": "2025-01-02T00:00:00", "count": 1}
    assert samples[1].metadata == {}


def test_pandas_arrays_and_printed_lists_are_passages():
    frame = pd.DataFrame({"contexts": [np.array(["a", "b"], dtype=object), "['c', 'd']", '["e"]', "f"]})

    assert [sample.contexts for sample in open_dataset(frame).samples()] == [
        ("a", "b"),
        ("c", "d"),
        ("e",),
        ("f",),
    ]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({0: ["a"]}), "a column's name must be text, found 0"),
        (pd.DataFrame({"foo": ["a"]}), "no column is recognised: found 'foo'"),
        (pd.DataFrame([["a", "b"]], columns=["response", "response"]), "two columns are called 'response'"),
        (pd.DataFrame({"response": [3]}), "row 1: field 'response': expected text, found number 3"),
        (
            pd.DataFrame({"response": ["\ud800"]}, dtype=object),
            "row 1: field 'response': the text has a lone surrogate",
        ),
    ],
)
def test_unusable_tables_are_told(frame, message):
    with pytest.raises(DataError, match=message):
        list(open_dataset(frame).samples())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_empty_table_has_no_samples(make):
    assert list(open_dataset(make({"response": []})).samples()) == []


def test_a_selection_of_a_hugging_face_dataset_is_respected():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"answer": ["a", "b", "c"]}).select([2, 0])

    assert [sample.response for sample in open_dataset(data).samples()] == ["c", "a"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda ds, rows: ds.DatasetDict(test=rows),
            r"DatasetDict cannot be read as a table. Choose a split",
        ),
        (
            lambda _, rows: rows.to_iterable_dataset(),
            "IterableDataset cannot be read as a table. Load it without",
        ),
    ],
)
def test_other_hugging_face_objects_are_told(make, message):
    datasets = pytest.importorskip("datasets")

    with pytest.raises(UsageError, match=message):
        open_dataset(make(datasets, datasets.Dataset.from_dict({"answer": ["a"]})))


def test_a_lazy_table_is_told():
    with pytest.raises(UsageError, match=r"Call .collect\(\)"):
        open_dataset(pl.LazyFrame({"response": ["a"]}))


@pytest.mark.parametrize("column", [pd.Series(["a"]), pl.Series(["a"]), pa.chunked_array([["a"]])])
def test_a_single_column_is_told(column):
    with pytest.raises(UsageError):
        open_dataset(column)


def test_reading_lists_and_files_imports_no_table_library():
    code = (
        "import sys, sgi.io; list(sgi.io.open_dataset([{'response': 'r'}]).samples());"
        "print([name for name in ('pandas', 'polars', 'pyarrow', 'datasets') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
