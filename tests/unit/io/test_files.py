import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgi.io.files import SUFFIXES, check_readable, file_rows, open_file, require_rows, row_lines, suffix
from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError

TEXTS = {
    ".jsonl": '{"id": "a", "response": "r"}\n',
    ".ndjson": '{"id": "a", "response": "r"}\n',
    ".json": '[{"id": "a", "response": "r"}]',
    ".csv": "id,response\na,r\n",
    ".tsv": "id\tresponse\na\tr\n",
}


def save(folder, kind):
    """A file of this kind with one row."""
    path = folder / f"rows{kind}"
    table = pa.table({"id": ["a"], "response": ["r"]})
    if kind == ".parquet":
        pq.write_table(table, path)
    elif kind in {".arrow", ".feather"}:
        write = pa.ipc.new_stream if kind == ".arrow" else pa.ipc.new_file
        with write(path, table.schema) as file:
            file.write_table(table)
    else:
        path.write_text(TEXTS[kind])
    return path


@pytest.mark.parametrize("kind", [kind for kind in SUFFIXES if kind != ".xlsx"])  # test_excel.py
def test_every_kind_of_file_gives_the_same_row(tmp_path, kind):
    path = save(tmp_path, kind)

    assert [row.values for row in file_rows(path)] == [{"id": "a", "response": "r"}]
    assert [sample.response for sample in open_file(path).samples()] == ["r"]


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_every_kind_of_text_is_read_compressed(tmp_path, kind):
    path = tmp_path / f"rows{kind.upper()}.gz"
    path.write_bytes(gzip.compress(TEXTS[kind].encode()))

    check_readable(path)
    assert suffix(path) == kind
    assert [row.values for row in file_rows(path)] == [{"id": "a", "response": "r"}]


def test_a_file_is_opened_when_its_first_row_is_asked_for(tmp_path):
    rows = file_rows(tmp_path / "rows.jsonl")
    save(tmp_path, ".jsonl")

    assert next(rows).line == 1


def test_rows_are_passed_on_and_none_is_told():
    rows = [RawRow(1, {"id": "a"}), RawRow(2, {"id": "b"})]

    assert list(require_rows(iter(rows), "rows.csv")) == rows
    with pytest.raises(DataError):
        next(require_rows(iter([]), "rows.csv"))


ROWS = {
    "rows.jsonl": '{"id": "a", "answer": ""}\n\n{"id": "b", "answer": ""}\n{\n{"id": "c", "answer": ""}',
    "rows.json": '[\n{"id": "a",\n "answer": ""},\n{"id": "b", "answer": ""}\n,\n{"id": "c", "answer": ""}]',
    "rows.csv": 'id,response\na,"x\ny"\nb,y\n"c",z\n',
    "rows.tsv": "id\tresponse\na\tx\nb\ty\nc\tz\n",
}


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("rows.jsonl", {"a": 1, "b": 3, "c": 5}),
        ("rows.json", {"a": 2, "b": 4, "c": 6}),
        ("rows.csv", {"a": 2, "b": 4, "c": 5}),
        ("rows.tsv", {"a": 2, "b": 3, "c": 4}),
    ],
)
def test_lines_of_rows(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text(ROWS[name], "utf-8")
    assert row_lines(path, {"a", "b", "c", "nobody"}) == lines
    assert row_lines(path, {"b"}) == {"b": lines["b"]}


def test_rows_without_ids_are_found_by_their_number(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"answer": "x"}\n\n{"answer": "y"}\n', "utf-8")
    assert row_lines(path, {"2"}, columns={"response": "answer"}) == {"2": 3}


def test_the_lines_before_a_mistake_are_known(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[\n{"id": "a", "response": "x"},\n{"id": "b" "response"', "utf-8")
    assert row_lines(path, {"a", "b"}) == {"a": 2}


def test_a_file_without_lines_gives_none(tmp_path):
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(ROWS["rows.jsonl"].encode()))
    assert row_lines(packed, {"a"}) == {}
    assert row_lines(tmp_path / "deleted.jsonl", {"a"}) == {}
