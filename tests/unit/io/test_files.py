import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgi.io.files import SUFFIXES, check_readable, file_rows, open_file, require_rows, suffix
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
