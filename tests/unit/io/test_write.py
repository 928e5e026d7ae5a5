import csv
import json
import os
import resource
import stat
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sgi.io import open_dataset, open_writer
from sgi.io.write import SUFFIXES, escape_formula
from sgi.kernel.errors import DataError, MissingExtraError, UsageError

ROWS = [
    {
        "id": "a",
        "sgi": 1.25,
        "n": 3,
        "ok": True,
        "contexts": ["x", "y"],
        "meta": {"k": [1, None]},
        "note": None,
    },
    {"id": "é🧪", "sgi": None, "n": -4, "ok": False, "contexts": [], "meta": {}, "note": 'a "quoted",\nline'},
]


def written(path, *batches):
    with open_writer(path) as out:
        for batch in batches:
            out.write(batch)
    return path


def csv_rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def test_json_lines_give_back_what_was_written(tmp_path):
    path = written(tmp_path / "out.jsonl", ROWS[:1], [], ROWS[1:])

    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == ROWS


def test_parquet_keeps_kinds_and_nests_the_rest_as_json(tmp_path):
    table = parquet.read_table(written(tmp_path / "out.parquet", ROWS))

    assert table.schema.field("sgi").type == pa.float64()
    assert table.schema.field("n").type == pa.int64()
    assert table.schema.field("ok").type == pa.bool_()
    assert table.schema.field("contexts").type == pa.list_(pa.string())
    assert table.to_pylist() == [row | {"meta": json.dumps(row["meta"])} for row in ROWS]


def test_csv_nests_as_json_and_leaves_null_empty(tmp_path):
    assert csv_rows(written(tmp_path / "out.csv", ROWS)) == [
        ["id", "sgi", "n", "ok", "contexts", "meta", "note"],
        ["a", "1.25", "3", "true", '["x", "y"]', '{"k": [1, null]}', ""],
        ["é🧪", "", "-4", "false", "[]", "{}", 'a "quoted",\nline'],
    ]


FORMULAS = [
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "\nx",
        "=HYPERLINK(1)",
        "\n=1",
        "\r\n=1",
        " =1",
        "\u3000=1",
    ),
    *(
        "＝1+1",
        "＋1",
        "－1",
        "＠SUM(A1)",
        "﹦1",
        "﹣1",
        "⁼1",
        "−1",
        " ＝1",
        "\u200b=1",
        "\ufeff=1",
        "\u202e=1",
    ),
    *("\u202e=1", "\u3000=1", "\x00=1", "\x1b=1", "\x85=1", "\u2028=1", "\xa0-1", "'=1", "''＝1", "=1\n=2"),
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_spreadsheet_would_run_is_made_harmless(tmp_path, text):
    rows = csv_rows(written(tmp_path / "out.csv", [{"response": text, text: -1.5}]))

    assert rows == [["response", f"'{text}"], [f"'{text}", "-1.5"]]


@given(st.text("'=+-@＝－\n\t \u200ba", max_size=6), st.text("'=+-@＝－\n\t \u200ba", max_size=6))
def test_no_two_texts_are_written_alike(one, other):
    assert (escape_formula(one) == escape_formula(other)) == (one == other)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_that_come_later_are_kept(tmp_path, suffix):
    path = written(tmp_path / f"out{suffix}", [{"id": "1", "a": None}], [{"id": "2", "a": "x", "b": 1}])

    if suffix == ".csv":
        assert csv_rows(path) == [["id", "a", "b"], ["1", "", ""], ["2", "x", "1"]]
    else:
        assert parquet.read_table(path).to_pylist() == [
            {"id": "1", "a": None, "b": None},
            {"id": "2", "a": "x", "b": 1},
        ]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([1, "a", None], pa.string(), ["1", "a", None]),
        ([2**70, 1], pa.string(), [str(2**70), "1"]),
        ([["a"], "b"], pa.string(), ['["a"]', "b"]),
        ([float("nan"), 1.5], pa.float64(), [None, 1.5]),
        ([["\ud800"]], pa.list_(pa.string()), [["\\ud800"]]),
    ],
)
def test_parquet_columns_of_mixed_kinds(tmp_path, values, kind, expected):
    table = parquet.read_table(written(tmp_path / "out.parquet", [{"x": value} for value in values]))

    assert table.schema.field("x").type == kind
    assert table.column("x").to_pylist() == expected


def test_parquet_is_written_in_row_groups(tmp_path):
    path = written(tmp_path / "out.parquet", ({"n": number} for number in range(10_000)))

    assert parquet.ParquetFile(path).num_row_groups == 3
    assert parquet.read_table(path).column("n").to_pylist() == list(range(10_000))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf"), 2**70]])
def test_numbers_that_are_not_finite_are_null(tmp_path, value):
    line = written(tmp_path / "out.jsonl", [{"x": value}]).read_text()

    assert json.loads(line) == {"x": [None, 2**70] if isinstance(value, list) else None}


def test_what_json_cannot_hold_plainly_is_escaped(tmp_path):
    row = {"big": 2**70, "half": "\ud800", "nested": {"n": [-(2**65)]}}

    assert json.loads(written(tmp_path / "out.jsonl", [row]).read_text()) == row


def test_csv_holds_big_numbers_and_halves_of_characters(tmp_path):
    assert csv_rows(written(tmp_path / "out.csv", [{"big": 2**70, "half": "a\ud800"}])) == [
        ["big", "half"],
        [str(2**70), "a\\ud800"],
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows_make_an_empty_file(tmp_path, suffix):
    path = written(tmp_path / f"out{suffix}")

    assert path.exists()
    assert suffix == ".parquet" or path.read_bytes() == b""
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_until_the_end_the_old_file_stands(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    with open_writer(path) as out:
        out.write(ROWS)
        assert path.read_text() == "old"

    assert path.read_bytes() != b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_an_exception_leaves_everything_as_it_was(tmp_path, suffix, error):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    def rows():
        yield from ROWS
        raise error("mine")

    with pytest.raises(error, match="mine"):
        written(path, ROWS, rows())

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path, suffix):
    # A limit on file size gives the same real failure of a write as a full disk.
    path = tmp_path / f"out{suffix}"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DataError, match=rf"out{suffix}: cannot be written: File too large"):
            written(path, ({"n": number, "text": os.urandom(50).hex()} for number in range(10_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_mode_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        path = written(tmp_path / "out.jsonl", ROWS)
    finally:
        os.umask(old)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "out.jsonl"
    real.write_text("old")
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)

    written(link, [{"id": "1"}])

    assert link.is_symlink()
    assert real.read_text() == '{"id":"1"}\n'


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(UsageError):
        written(tmp_path / "none" / "out.jsonl")


def test_a_folder_of_that_name_is_told(tmp_path):
    (tmp_path / "out.jsonl").mkdir()

    with pytest.raises(UsageError):
        written(tmp_path / "out.jsonl")


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "out.jsonl")

    with pytest.raises(UsageError):
        written(tmp_path / "out.jsonl")


@pytest.mark.parametrize("name", ["out", "out.txt", "out.json", "out.jsonl.gz", ".csv"])
def test_an_unknown_suffix_is_told_with_the_known_ones(tmp_path, name):
    with pytest.raises(UsageError):
        written(tmp_path / name)


def test_without_pyarrow_the_extra_is_named_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match="parquet"):
        written(tmp_path / "out.parquet")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_can_be_read(tmp_path, suffix):
    rows = [
        {
            "id": "a",
            "question": "q",
            "contexts": ["x", "[y]"],
            "response": "r",
            "label": True,
            "metadata": {"k": [1]},
        },
        {"id": "b", "question": "q\n2", "contexts": [], "response": "", "label": None, "metadata": {}},
    ]

    samples = list(open_dataset(written(tmp_path / f"out{suffix}", rows)).samples())

    assert [sample.model_dump(include=set(rows[0]), mode="json") for sample in samples] == rows
