from __future__ import annotations

import io

import pytest

from sgi.engine.plan import MAX_BATCH_BYTES, batches
from sgi.io import open_dataset
from sgi.io.columns import recognise_header
from sgi.io.empty_columns import MAX_BYTES, look_ahead
from sgi.io.jsonl import json_file, stream_rows
from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.input_limits import input_limits, size_text
from sgi.kernel.sample import Sample


class Name(str):
    """A column's name that counts its comparisons."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(columns: int) -> int:
    Name.compared = 0
    recognise_header([Name("question"), *(Name(f"c{k}") for k in range(columns))], ())
    return Name.compared


def test_recognising_a_header_takes_work_that_is_linear_in_its_columns():
    assert comparisons(4000) < 3 * comparisons(2000) + 1000


def rows(name: str, text: bytes, tmp_path):
    (tmp_path / name).write_bytes(text)
    refused = []
    found = list(open_dataset(tmp_path / name).samples(on_reject=refused.append))
    return found, [str(row.error).removeprefix(f"{tmp_path}/") for row in refused]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", b'{"response": "r"}\n{"response": "%s"}\n' % (b"x" * 2000)),
        ("a.json", b'[{"response": "r"},\n{"response": "%s"}]' % (b"x" * 2000)),
        ("a.csv", b"response,x\nr,\n%s,\n" % (b"x" * 2000)),
    ],
)
def test_a_row_beyond_the_limit_stops_the_reading_and_names_the_option(tmp_path, monkeypatch, name, text):
    monkeypatch.setenv("SGI_MAX_ROW", "1KB")
    with pytest.raises(DataError, match=rf"{name}:\d: the row is larger than 1 KB.*--max-row.*SGI_MAX_ROW"):
        rows(name, text, tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", b'{"response": "r"}\n{"response": "%s"}\n{"response": "s"}' % (b"x" * 2000)),
        ("a.json", b'[{"response": "r"},\n{"response": "%s"},\n{"response": "s"}]' % (b"x" * 2000)),
        ("a.csv", b"response,x\nr,\n%s,\ns,\n" % (b"x" * 2000)),
    ],
)
def test_a_value_beyond_the_limit_refuses_its_row_and_names_the_column(tmp_path, monkeypatch, name, text):
    monkeypatch.setenv("SGI_MAX_CELL", "1KB")
    found, refused = rows(name, text, tmp_path)

    assert [sample.response for sample in found] == ["r", "s"]
    (error,) = refused
    assert error.startswith((f"{name}:2: the value in", f"{name}:3: the value in"))
    assert "column 'response' is larger than 1 KB" in error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", b"response,b,c,d\n1,2,3,4\n"),
        ("a.tsv", b"response\tb\tc\td\n1\t2\t3\t4\n"),
        ("a.jsonl", b'{"response": "r", "b": 1, "c": 2, "d": 3}'),
        ("a.json", b'{"response": "r", "b": 1, "c": 2, "d": 3}'),
    ],
)
def test_too_many_columns_are_refused(tmp_path, monkeypatch, name, text):
    monkeypatch.setenv("SGI_MAX_COLUMNS", "3")
    try:
        _, refused = rows(name, text, tmp_path)
    except DataError as error:
        refused = [str(error)]
    assert "4 columns are more than 3" in refused[0]
    assert "--max-columns" in refused[0]


def test_a_json_document_is_read_as_its_text_arrives():
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            part = b'[{"response": "r"}' if not self.given else b',\n{"response": "s"}'
            self.given += 1
            buffer[: len(part)] = part
            return len(part)

    stream = Endless()
    found = json_file(io.BufferedReader(stream), "a.json")

    assert [next(found).values["response"] for _ in range(3)] == ["r", "s", "s"]
    assert stream.given < 100_000


@pytest.mark.parametrize("size", [1, 7, 200])
def test_values_that_are_cut_between_two_pieces_are_read_whole(monkeypatch, size):
    monkeypatch.setattr("sgi.io.text_file._PIECE", size)
    text = '[{"response": "naïve é", "x": -12.5e3, "y": true}, {"response": "\\u00e9", "x": [1, 22, null]}]'

    found = [row.values for row in json_file(io.BytesIO(text.encode()), "a.json")]

    assert found == [
        {"response": "naïve é", "x": -12500.0, "y": True},
        {"response": "é", "x": [1, 22, None]},
    ]


def test_batches_are_bounded_by_bytes_as_well_as_by_rows():
    large = [Sample(id=str(k), response="x" * (MAX_BATCH_BYTES // 4)) for k in range(9)]
    small = [Sample(id=f"s{k}", response="r") for k in range(300)]

    assert [len(batch) for batch in batches([*large, *small])] == [4, 4, 256, 45]


def test_rows_that_are_read_ahead_are_bounded_by_bytes():
    def many():
        for number in range(1, 1000):
            yield RawRow(number, {"contexts": None, "context": None, "x": "y" * 1_000_000, "response": "r"})

    stream = many()
    _, null = look_ahead(stream, ())

    assert next(stream).line <= MAX_BYTES // 1_000_000 + 2
    assert null.rows is not None


def test_a_limit_that_is_no_size_is_refused(monkeypatch):
    monkeypatch.setenv("SGI_MAX_ROW", "many")
    with pytest.raises(UsageError, match="many"):
        next(stream_rows(io.BytesIO(b"{}"), name="a"))


def test_the_option_of_the_command_sets_the_limit(tmp_path, monkeypatch, capsys):
    from support.command import exit_code

    monkeypatch.setenv("SGI_MAX_ROW", "8MB")  # so that it is set back afterwards
    (tmp_path / "a.jsonl").write_bytes(b'{"response": "%s", "reference": "r"}\n' % (b"x" * 2000))

    assert exit_code("--max-row", "1KB", "score", tmp_path / "a.jsonl", "-m", "rouge_l") == 2
    assert "the row is larger than 1 KB" in capsys.readouterr().err
    assert input_limits().row == 1000
    assert size_text(input_limits().row) == "1 KB"
