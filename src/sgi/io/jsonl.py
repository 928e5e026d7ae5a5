"""JSON lines, one object a line, read in constant memory; and JSON files, which hold one list of objects."""

from __future__ import annotations

import json
import math
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import orjson

from sgi.io import cells
from sgi.io.look_ahead import MAX_ROWS
from sgi.io.rows import RawRow, read_rows
from sgi.io.text_file import NOT_UTF8, broken_text, checked_encoding, numbered_lines
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.io.column_use import ReportColumns
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

_LISTS = ("data", "rows", "samples")
_BLANK = " \t\r\n"


def stream_rows(
    lines: BinaryIO,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    on_reject: Reject | None = None,
    on_columns: ReportColumns | None = None,
    encoding: str | None = None,
    ahead: int = MAX_ROWS,
) -> Iterator[Sample]:
    """The samples of a stream of JSON lines, as they arrive.

    Args:
        lines: a binary stream, such as ``sys.stdin.buffer``.
        name: what messages call it.
        columns: field → column, where names are not recognised.
        on_reject: is given each bad row; without it the first one raises.
        on_columns: is given the use of columns so far whenever it changes.
        encoding: of the text; None for UTF-8, or what its byte order mark says.
        ahead: how many rows may be read ahead to find columns that hold nothing.

    >>> import io
    >>> [sample.question for sample in stream_rows(io.BytesIO(b'{"query": "Who?"}'), name="stdin")]
    ['Who?']

    Raises:
        DataError: a bad row, or a stream that is not text.
        UsageError: there is no such encoding.
    """
    rows = json_lines(numbered_lines(lines, name, checked_encoding(encoding)))
    return read_rows(
        rows, file=name, columns=columns, on_reject=on_reject, on_columns=on_columns, ahead=ahead
    )


def json_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[RawRow]:
    """One raw row for each line that is not blank."""
    for number, line in lines:
        if line.isspace():
            continue
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield RawRow(number, _why(line, error), _shown(line))
            continue
        if type(values) is dict:
            yield RawRow(number, values)
        else:
            hint = 'Each line holds one object: {"question": …, "response": …}'
            refused = DataError(f"expected an object, found {cells.found(values)}", hint=hint)
            yield RawRow(number, refused, _shown(line))


def json_file(stream: IO[bytes], file: str, encoding: str | None = None) -> Iterator[RawRow]:
    """The rows of a ``.json`` file: a list of objects, an object with such a list, or JSON lines after all.

    Raises:
        DataError: the file is not JSON; what follows a mistake in a list cannot be trusted.
    """
    lines = list(numbered_lines(stream, file, encoding))
    filled = [line for _, line in lines if not line.isspace()]
    if len(filled) > 1 and _is_object(filled[0]):
        yield from json_lines(lines)
        return
    document = b"".join(line for _, line in lines)
    if wrong := broken_text(document):
        number, line = next((number, line) for number, line in lines if broken_text(line))
        raise DataError(broken_text(line) or wrong, file=file, line=number, hint=NOT_UTF8)
    yield from _Scan(document.decode(), file).rows()


class _Scan:
    """A walk through a JSON text value by value, which knows its line: loading all at once forgets it."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.decoder = json.JSONDecoder(parse_constant=_no_constant)
        self.rewind()

    def rewind(self) -> None:
        """Go back to the beginning."""
        self.at = 0
        self.line = 1
        self.counted = 0

    def rows(self) -> Iterator[RawRow]:
        """The objects of the list, or the one object there is."""
        if self._take("["):
            yield from self._items()
        elif self._take("{") and self._find_list():
            yield from self._items()
            if self._take(","):
                self._find_list()
            self._expect("}")
        else:
            self.rewind()
            yield self._row()
        if self._peek():
            raise self._error(self.at, "invalid JSON: something follows the end")

    def _find_list(self) -> bool:
        """Walk on through an object's members until inside the list of rows, or to the object's end."""
        while self._peek() == '"':
            key = self.value()
            self._expect(":")
            if key in _LISTS and self._take("["):
                return True
            self.value()
            if not self._take(","):
                break
        return False

    def _items(self) -> Iterator[RawRow]:
        if self._take("]"):
            return
        yield self._row()
        while not self._take("]"):
            self._expect(",")
            yield self._row()

    def _row(self) -> RawRow:
        """The next value as a row."""
        self._peek()
        begin, line = self.at, self._line_at(self.at)
        values = self.value()
        if isinstance(values, dict):
            return RawRow(line, values)
        refused = DataError(f"expected an object, found {cells.found(values)}")
        return RawRow(line, refused, self.text[begin : self.at])

    def value(self) -> Any:
        """The next value of any kind."""
        self._peek()
        try:
            value, self.at = self.decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise self._error(error.pos, f"invalid JSON: {error.msg[0].lower()}{error.msg[1:]}") from None
        except RecursionError:
            raise self._error(self.at, "invalid JSON: nested too deeply") from None
        except ValueError as error:
            raise self._error(self.at, f"invalid JSON: {error}") from None
        return value

    def _peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        text, at = self.text, self.at
        while at < len(text) and text[at] in _BLANK:
            at += 1
        self.at = at
        return text[at : at + 1]

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self.at += taken
        return taken

    def _expect(self, character: str) -> None:
        if not self._take(character):
            raise self._error(self.at, f"invalid JSON: expected {character!r}")

    def _error(self, at: int, message: str) -> DataError:
        return DataError(message, file=self.file, line=self._line_at(max(at, self.counted)))

    def _line_at(self, at: int) -> int:
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line


def _why(line: bytes, error: orjson.JSONDecodeError) -> DataError:
    """Why a line is not JSON, as exactly as can be known."""
    if wrong := broken_text(line):
        return DataError(wrong, hint=NOT_UTF8)
    try:
        mistake = _mistake(json.loads(line))
    except (ValueError, RecursionError):
        mistake = None
    return mistake or DataError(f"invalid JSON: {error.msg} (column {error.colno})")


def _mistake(values: Any) -> DataError | None:
    """What Python's reader accepts and JSON does not have, with the first key whose value holds it."""
    for key, value in values.items() if isinstance(values, dict) else [(None, values)]:
        try:
            cells.as_text(key or "")
            _refuse_not_finite(value)
            cells.as_json(value)
        except DataError as error:
            field = None if key is None else str(cells.loosely_json(key))
            return DataError(error.message, field=field, sample_id=_id_of(values), hint=error.hint)
    return None


def _id_of(values: Any) -> str | None:
    try:
        return cells.as_id(values["id"])
    except (DataError, KeyError, TypeError):
        return None


def _refuse_not_finite(value: Any) -> None:
    """Refuse NaN and infinities, which elsewhere stand for absent values but are no JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"JSON has no number {value}", hint="Write null where there is no value.")
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_not_finite(item)


def _no_constant(name: str) -> None:
    raise ValueError(f"there is no number {name}")


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace").rstrip("\r\n")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False
