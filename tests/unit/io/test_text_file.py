import codecs
import gzip
import io
import os

import pytest

from sgi.io.text_file import broken_text, checked_encoding, numbered_lines, open_bytes
from sgi.kernel.errors import DataError, UsageError

TEXT = "first line, naïve\n\nthird: 漢字 🧪\nlast without end"
LINES = [(1, "first line, naïve\n"), (2, "\n"), (3, "third: 漢字 🧪\n"), (4, "last without end")]


def lines(data):
    return [(number, line.decode()) for number, line in numbered_lines(io.BytesIO(data), "a.txt")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_are_known_by_their_marks(encoding):
    assert lines(TEXT.encode(encoding)) == LINES


@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_BE, "utf-32-be")]
)
def test_big_endian_text_is_read(mark, encoding):
    assert lines(mark + TEXT.encode(encoding)) == LINES


def test_long_utf_16_is_read_beyond_one_buffer():
    text = "".join(f"line {number} é\n" for number in range(20_000))

    assert "".join(line for _, line in lines(text.encode("utf-16"))) == text


def test_broken_utf_16_breaks_off_at_its_line():
    with pytest.raises(DataError, match="16"):
        lines("one\ntwo".encode("utf-16")[:-1])


@pytest.mark.parametrize(
    "data",
    [
        b"PAR1" + bytes(100),
        b"PK\x03\x04rest",
        b"\x1f\x8b\x08\x00",
        b"%PDF-1.7\n",
        bytes(range(32)) * 4,
        "no mark".encode("utf-16-le"),
    ],
)
def test_binary_data_is_told(data):
    with pytest.raises(DataError):
        lines(data)


def test_a_rare_control_character_makes_no_binary():
    assert lines(b"some words and \x00 one more\n") == [(1, "some words and \x00 one more\n")]


def test_bytes_that_are_not_utf_8_are_told():
    assert broken_text("naïve 🧪".encode()) is None
    assert broken_text(b"na\xefve") == "byte 3 (0xef) is not UTF-8"
    assert broken_text(b"a\xed\xa0\x80") == "byte 2 begins a lone surrogate, which is not a character"


def opened(path):
    with open_bytes(path) as stream:
        return stream.read()


@pytest.mark.parametrize("keep", [5, 30, -4])
def test_a_broken_packed_file_is_told(tmp_path, keep):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:keep])

    with open_bytes(path) as stream, pytest.raises(DataError, match="cannot be read"):
        list(numbered_lines(stream, "a"))


def test_a_file_that_is_not_packed_is_told(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_text("{}")

    with open_bytes(path) as stream, pytest.raises(DataError, match="Not a gzipped file"):
        list(numbered_lines(stream, "a"))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(DataError):
        opened(tmp_path / "missing.jsonl")


def test_a_folder_is_told(tmp_path):
    with pytest.raises(DataError, match="is a directory"):
        opened(tmp_path)


def test_an_empty_file_is_told(tmp_path):
    (tmp_path / "a.jsonl").touch()

    with pytest.raises(DataError, match=r"a.jsonl: is empty"):
        opened(tmp_path / "a.jsonl")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_told_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(DataError):
        opened(tmp_path / "pipe.jsonl")


def test_a_name_with_nul_is_told(tmp_path):
    with pytest.raises(DataError):
        opened(tmp_path / "a\0.jsonl")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "café “quoted” €\nend"),
        ("shift_jis", "表示\n終"),
        ("utf-16-le", "naïve\nend"),
        ("utf-8-sig", "naïve\nend"),
    ],
)
def test_a_named_encoding_is_used(encoding, text):
    found = list(numbered_lines(io.BytesIO(text.encode(encoding)), "a.txt", encoding))

    assert "".join(line.decode() for _, line in found) == text
    assert [number for number, _ in found] == [1, 2]


def test_a_mark_is_dropped_where_the_encoding_agrees_with_it():
    for encoding in ("utf-8", "UTF_8", "utf-8-sig"):
        assert list(numbered_lines(io.BytesIO(codecs.BOM_UTF8 + b"a"), "a.txt", encoding)) == [(1, b"a")]
    utf16 = codecs.BOM_UTF16_BE + "a".encode("utf-16-be")
    assert list(numbered_lines(io.BytesIO(utf16), "a.txt", "utf-16")) == [(1, b"a")]


def test_a_mark_that_contradicts_the_encoding_is_an_error():
    with pytest.raises(DataError):
        list(numbered_lines(io.BytesIO(codecs.BOM_UTF8 + b"a"), "a.txt", "cp1252"))


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"fine\nna\x81ve", "cp1252", "a.txt:2: byte 0x81 at character 3 is not cp1252"),
        (b"fine\ncaf\xe9", "ascii", "a.txt:2: byte 0xe9 at character 4 is not ascii"),
        (b"fine\n\x81", "shift_jis", "a.txt:2: byte 0x81 at character 1 is not shift_jis"),
        (
            b"a\x00b\x00c",
            "utf-16-le",
            "a.txt:1: the text cannot be decoded to its end: truncated data in utf-16-le",
        ),
        (b"+AA", "undefined", "a.txt:1: the text cannot be decoded to its end"),
    ],
)
def test_bytes_that_the_encoding_lacks_are_told_with_their_place(data, encoding, message):
    with pytest.raises(DataError) as caught:
        list(numbered_lines(io.BytesIO(data), "a.txt", encoding))

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["utf-9", "base64", "rot13", "zip", "", "utf-8\x00", "../etc"])
def test_an_unknown_encoding_is_refused(name):
    with pytest.raises(UsageError, match="Unknown encoding"):
        checked_encoding(name)


def test_a_named_encoding_leaves_the_stream_open():
    stream = io.BytesIO(b"a\nb")
    list(numbered_lines(stream, "a.txt", "cp1252"))

    assert not stream.closed
