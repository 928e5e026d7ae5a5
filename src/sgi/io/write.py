"""Write rows of results into a file atomically."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
import unicodedata
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import orjson

from sgi.kernel.durable_files import replacing_file
from sgi.kernel.errors import DataError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

_FORMULA = frozenset("=+-@\N{MINUS SIGN}")
_BREAKS = ("\t", "\r", "\n")
_IGNORED = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Unicode categories that spreadsheets can remove from the beginning of a cell."""
_MARK = "'"

SUFFIXES = (".jsonl", ".csv", ".parquet")
"""The file suffixes that can be written."""

_BATCH = 4096
_INT64 = 2**63


class RowWriter(Protocol):
    """Writes rows, batch by batch."""

    def write(self, rows: Iterable[Mapping[str, JsonValue]]) -> None:
        """Append these rows."""


@contextmanager
def open_writer(path: str | os.PathLike[str]) -> Iterator[RowWriter]:
    r"""Context manager that opens a writer of rows: JSON lines, CSV or Parquet, by the suffix.

    The rows go into a temporary file in the same folder, which replaces ``path`` when the block ends without
    an exception. Numbers that are not finite become null. In CSV, lists and objects are JSON, and
    `escape_formula` protects texts. In Parquet, a column of objects or of several types is JSON text.

    Raises UsageError for a path that cannot be written or an unknown suffix, MissingExtraError for Parquet
    without pyarrow, DataError if writing fails (the disk is full).

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_writer(Path(folder, "out.jsonl")) as out:
    ...         out.write([{"id": "1", "sgi": 1.25}])
    ...     Path(folder, "out.jsonl").read_text()
    '{"id":"1","sgi":1.25}\n'
    """
    name = os.fspath(path)
    target = Path(os.path.realpath(name))
    suffix = check_target(name)
    with replacing_file(target, errors=partial(_translate_errors, name)) as stream:
        if suffix == ".jsonl":
            yield _Lines(stream, name)
            return
        with _close_quietly(tempfile.TemporaryFile(dir=target.parent)) as waiting:
            table = _Table(_Lines(waiting, name))
            yield table
            with _translate_errors(name):
                finish = _write_csv if suffix == ".csv" else _write_parquet
                finish(stream, table.columns, table.rows())


def check_target(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file into which rows can be written; raises what `open_writer` would raise."""
    suffix = Path(path).suffix.casefold()
    if suffix not in SUFFIXES:
        hint = f"It can be {', '.join(SUFFIXES)}."
        raise UsageError(f"The suffix of {str(path)!r} is not a format that can be written.", hint=hint)
    check_place(path)
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("Writing Parquet", "parquet")
    return suffix


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write or replace a file atomically. Raises UsageError or DataError as `open_writer` does."""
    write_chunks(path, [content])


def write_chunks(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write a file atomically from a stream of chunks. Raises as `write_whole` does."""
    name = os.fspath(path)
    check_place(path)
    with replacing_file(Path(os.path.realpath(name)), errors=partial(_translate_errors, name)) as stream:
        for chunk in chunks:
            with _translate_errors(name):
                stream.write(chunk)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise a UsageError if the folder is missing or the path cannot be a file."""
    target = Path(os.path.realpath(path))
    with _translate_errors(os.fspath(path)):
        if not target.parent.is_dir():
            raise UsageError(
                f"{path}: the folder {str(target.parent)!r} does not exist.", hint="Create it first."
            )
        if target.exists() and not target.is_file():
            raise UsageError(f"{path} is not a regular file.", hint="Name a file.")


def escape_formula(text: str) -> str:
    r"""Prefix a text with an apostrophe if a spreadsheet could run it as a formula.

    A formula begins with ``=``, ``+``, ``-`` or ``@``, perhaps in full-width form, perhaps after white space
    or zero-width characters. A text of apostrophes and then a formula gets one more, so that removing one
    apostrophe restores every text.

    >>> [escape_formula(text) for text in ("=1+1", "1+1", " \u200b＝1", "'=1", "'tis")]
    ["'=1+1", '1+1', "' \u200b＝1", "''=1", "'tis"]
    """
    return f"{_MARK}{text}" if _is_formula(text.lstrip(_MARK)) else text


def _is_formula(text: str) -> bool:
    if not text or (text[0].isascii() and text[0].isalnum()):
        return False
    if text.startswith(_BREAKS):
        return True
    for sign in text:
        if unicodedata.category(sign) not in _IGNORED:
            return unicodedata.normalize("NFKC", sign)[0] in _FORMULA
    return False


def json_line(row: Mapping[str, JsonValue]) -> bytes:
    r"""Encode a row as a line of JSON; integers may exceed 64 bits."""
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return json.dumps(_finite(row), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def csv_lines(rows: Iterable[Iterable[JsonValue]]) -> bytes:
    r"""Encode rows as lines of CSV, with the cells that `open_writer` writes.

    >>> csv_lines([["id", "sgi"], ["=1", 0.5], [None, [1]]])
    b"id,sgi\r\n'=1,0.5\r\n,[1]\r\n"
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


class _Lines:
    """Writes JSON lines as soon as it gets the rows."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream = stream
        self.name = name
        self.plain = True

    def write(self, rows: Iterable[Mapping[str, JsonValue]]) -> None:
        for row in rows:
            line = self._dump(row)
            with _translate_errors(self.name):
                self.stream.write(line)

    def _dump(self, row: Mapping[str, JsonValue]) -> bytes:
        try:
            return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # whole numbers beyond 64 bits and lone surrogates, which Python's writer escapes
            self.plain = False
            return json_line(row)


class _Table:
    """Keeps rows on disk until all columns and their types are known."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.columns: dict[str, set[str]] = {}

    def write(self, rows: Iterable[Mapping[str, JsonValue]]) -> None:
        self.lines.write(self._record_kinds(rows))

    def rows(self) -> Iterator[dict[str, Any]]:
        self.lines.stream.seek(0)
        return map(orjson.loads if self.lines.plain else json.loads, self.lines.stream)

    def _record_kinds(self, rows: Iterable[Mapping[str, JsonValue]]) -> Iterator[Mapping[str, JsonValue]]:
        for row in rows:
            for column, value in row.items():
                self.columns.setdefault(column, set()).add(_kind(value))
            yield row


def _kind(value: JsonValue) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -_INT64 <= value < _INT64 else "json"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    return "texts" if isinstance(value, list) and all(isinstance(item, str) for item in value) else "json"


def _write_csv(stream: IO[bytes], columns: Mapping[str, set[str]], rows: Iterator[dict[str, Any]]) -> None:
    names = list(columns)
    if not names:
        return
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text)  # ends lines in CR LF, and so quotes cells with either of them
    table.writerow([escape_formula(name) for name in names])
    table.writerows([_csv_cell(row.get(name)) for name in names] for row in rows)
    text.detach()  # flushes; the caller closes the stream


def _csv_cell(value: JsonValue) -> str:
    if value is None:
        return ""
    if type(value) is float:  # faster than JSON, with the same result
        return repr(value) if math.isfinite(value) else ""
    return escape_formula(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write_parquet(
    stream: IO[bytes], columns: Mapping[str, set[str]], rows: Iterator[dict[str, Any]]
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {name: _arrow_type(kinds - {"null"}) for name, kinds in columns.items()}
    schema = pa.schema(list(types.items()))
    with parquet.ParquetWriter(stream, schema) as table:
        while batch := list(islice(rows, _BATCH)):
            arrays = [
                pa.array([_parquet_cell(row.get(name), text=kind == pa.string()) for row in batch], type=kind)
                for name, kind in types.items()
            ]
            table.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _arrow_type(kinds: set[str]) -> object:
    import pyarrow as pa

    known = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "texts": pa.list_(pa.string())}
    if kinds == {"int", "float"}:
        return pa.float64()
    return known.get(next(iter(kinds)), pa.string()) if len(kinds) == 1 else pa.string()


def _parquet_cell(value: JsonValue, *, text: bool) -> JsonValue:
    if value is None or not text:
        return [_encodable(item) for item in value] if isinstance(value, list) else value
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encodable(text: object) -> str:
    return str(text).encode("utf-8", "backslashreplace").decode()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _close_quietly(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Context manager that closes the stream; a failed flush is ignored, so that it hides no other error."""
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=name) from error
