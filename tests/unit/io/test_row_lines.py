from __future__ import annotations

import gzip

import pytest

from sgi.io.files import row_lines

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
