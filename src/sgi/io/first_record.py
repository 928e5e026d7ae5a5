"""Read the first record at the beginning of a file, which may be cut off anywhere."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

from sgi.io.json_scan import LISTS
from sgi.io.parquet import parquet_rows
from sgi.io.raw_rows import chat_columns
from sgi.kernel.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.io.parquet import Form

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_ARROW = (".arrow", ".feather")
_COLUMNS = (
    *(b"parent_observation_id", b"parentObservationId", b"run_type", b"execution_duration", b"perf_json"),
    *(b"execution_time_ms", b"record_attributes", b"custom_column_key_values", b"messages", b"user_input"),
    *(b"custom_id", b"context.trace_id"),
)
"""Columns of Parquet and Arrow files of exports: at least one is in each."""
_FOOTER = 8
_MAX_FOOTER = 16_000_000
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},"]', re.DOTALL)
_LIST_BEGIN = re.compile(r"\[\s*(?=\{)")


def first_record(path: Path, head: bytes) -> dict[str, Any] | None:
    """Return the first record of a file of JSON or a table, as far as the head of the file holds it.

    None for other files, and for those whose first record is not an object.
    """
    name = path.name.casefold().removesuffix(".gz")
    if head[:4] == b"PAR1":
        return _export_record(path, _footer(path), "Parquet") if name.endswith(".parquet") else None
    if name.endswith(_ARROW):
        return _export_record(path, head, "Arrow")  # the schema comes first
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head).lstrip()
    if name.endswith(_TABLES):
        return _table_record(text, "\t" if name.endswith(".tsv") else None)
    if text[:1] not in {"{", "["}:
        return None
    begin = None if name.endswith(_LINES) else _LIST_BEGIN.match(text)
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin.end() if begin else 0)
    except (ValueError, RecursionError):
        value = _parse_truncated(text)
    return chat_columns(value) if name.endswith(_LINES) and isinstance(value, list) else _record_in(value)


def _record_in(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        value = value[0] if value else None
    elif isinstance(value, dict):
        rows = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
        value = rows[0] if rows else value
    return value if isinstance(value, dict) else chat_columns(value)


def _parse_truncated(text: str) -> Any:
    """Parse JSON that is cut off, up to its last complete item."""
    waiting: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == '"':  # a text that is cut off
            break
        if mark in "[{":
            waiting.append("]" if mark == "[" else "}")
        elif mark in "]}" and (not waiting or waiting.pop() != mark):
            return None
        if mark[0] != '"':
            end = token.start() if mark == "," else token.end()
        if not waiting:
            break
    try:
        return json.loads(text[:end] + "".join(reversed(waiting)))
    except (ValueError, RecursionError):
        return None


def _table_record(text: str, delimiter: str | None) -> dict[str, Any] | None:
    first = text.partition("\n")[0]
    delimiter = delimiter or max(",;\t", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter)
        header, cells = next(reader, []), next(reader, [])
    except csv.Error:
        return None
    cells += [""] * (len(header) - len(cells))
    return (
        {column.strip(): cell or None for column, cell in zip(header, cells, strict=False)}
        if header
        else None
    )


def _export_record(path: Path, schema: bytes, form: Form) -> dict[str, Any] | None:
    """Return the first row of a file whose schema has a column of an export; reading it starts a process."""
    if not any(name in schema for name in _COLUMNS):
        return None
    try:
        values = next((row.values for row in parquet_rows(path, mapping=None, form=form)), None)
    except (DataError, MissingExtraError):  # reading the file raises the same error
        return None
    return values if isinstance(values, dict) else None


def _footer(path: Path) -> bytes:
    """Return the end of a Parquet file, which has the names of its columns; empty for other files."""
    with path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        if size < 3 * _FOOTER:
            return b""
        stream.seek(size - _FOOTER)
        length, magic = int.from_bytes(stream.read(4), "little"), stream.read(4)
        if magic != b"PAR1" or not 0 < length <= min(size - _FOOTER, _MAX_FOOTER):
            return b""
        stream.seek(size - _FOOTER - length)
        return stream.read(length)
