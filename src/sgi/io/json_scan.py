"""Parse a JSON document value by value as its text arrives, in bounded memory."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any

from sgi.io.column_names import NAMES
from sgi.io.raw_rows import RawRow, chat_columns, oversized_error, too_many_columns, with_place
from sgi.io.text_file import NOT_UTF8, broken_text, row_too_large
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import input_limits, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LISTS = ("data", "rows", "samples", "results")
"""The lists of an object that have rows."""
_TEXTS = (*NAMES["question"], *NAMES["response"])
_BLANK = " \t\r\n"
_TAIL = 16
"""Characters at the end of the text in which a number or a word may be incomplete."""


class JsonScan:
    """Parses JSON value by value with line numbers.

    ``parts`` come from `sgi.io.text_file.pieces`. In a file with one object, the first of its lists with a
    name in `LISTS` has the rows, as objects, or as lists with the names of a list ``columns`` before it; or
    all of its lists with names in ``lists``; or the list at the dotted path ``at``. An object of columns is a
    table.
    """

    def __init__(
        self,
        parts: Iterable[tuple[int, bytes]],
        file: str,
        lists: tuple[str, ...] | None = None,
        at: str = "",
    ) -> None:
        self._lists = lists
        self._path = at.split(".") if at else []
        self._parts = iter(parts)
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder(parse_constant=_no_constant)
        self._limits = input_limits()
        self._most = self._limits.row
        self._text = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        self._size = 0
        self._number, self._before = 1, 0
        self._header: list[str] = []

    def rows(self) -> Iterator[RawRow]:
        """Yield the objects of the list, or the single object."""
        opening = self._peek()
        if self._path:
            yield from self._list_at(self._path)
        elif opening == "[":
            self._at += 1
            yield from self._items()
        elif opening == "{":
            yield from self._members()
        else:
            yield self._row()
        if self._peek():
            raise self._error(self._at, "invalid JSON: something follows the end")

    def _list_at(self, path: list[str]) -> Iterator[RawRow]:
        """Yield the objects of the list at a path, and skip the values beside it."""
        if not path and self._take("["):
            yield from self._items()
            return
        if not path or not self._take("{"):
            raise self._error(self._at, f"has no list at {'.'.join(self._path)!r}")
        found = False
        while self._peek() != "}":
            key = self._value()
            self._expect(":")
            if key == path[0]:
                found = True
                yield from self._list_at(path[1:])
            else:
                self._value()
            if not self._take(","):
                break
        self._expect("}")
        if not found:
            raise self._error(self._at, f"has no list at {'.'.join(self._path)!r}")

    def _members(self) -> Iterator[RawRow]:
        self._at += 1
        members: dict[str, Any] = {}
        line, size, has_rows = self._line_at(self._at), 0, False
        while self._peek() != "}":
            if self._peek() != '"':
                raise self._error(self._at, "invalid JSON: expected a key in quotation marks")
            key = self._value()
            self._expect(":")
            is_list = key in LISTS and not has_rows if self._lists is None else key in self._lists
            if is_list and self._take("["):
                has_rows = True
                self._header = _names(members.get("columns"))
                yield from self._items()
            else:
                members[key] = self._value()
                size += self._size
                if size > self._most:
                    raise row_too_large(self._file, line)
                if len(members) > self._limits.columns:
                    raise with_place(too_many_columns(len(members)), file=self._file, line=line)
            if not self._take(","):
                break
        self._expect("}")
        if has_rows:
            return
        table = _rows_of_columns(members) if self._lists is None else []
        if not table:
            yield self._raw_row(line, members, size)
        for number, values in enumerate(table, 1):
            yield self._raw_row(number, values, size_of(values, self._limits.row))

    def _items(self) -> Iterator[RawRow]:
        if self._take("]"):
            return
        yield self._row()
        while not self._take("]"):
            self._expect(",")
            yield self._row()

    def _row(self) -> RawRow:
        self._peek()
        line = self._line_at(self._at)
        values = self._value()
        if isinstance(values, list):
            has_names = self._header and len(self._header) == len(values)
            named = dict(zip(self._header, values, strict=True)) if has_names else None
            values = named or chat_columns(values) or values
        if isinstance(values, dict):
            return self._raw_row(line, values, self._size)
        refused = DataError(f"expected an object, found {raw_values.describe(values)}")
        return RawRow(line, refused, json.dumps(values, ensure_ascii=False))

    def _raw_row(self, line: int, values: dict[str, object], size: int) -> RawRow:
        refused = oversized_error(values, size, self._limits)
        return RawRow(line, values if refused is None else refused)

    def _value(self) -> Any:
        self._peek()
        self._forget()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.pos >= len(self._text) - _TAIL or error.msg.startswith("Unterminated")
                if is_cut and self._more():
                    continue
                problem = f"invalid JSON: {error.msg[0].lower()}{error.msg[1:]}"
                raise self._error(error.pos, problem) from None
            except RecursionError:
                raise self._error(self._at, "invalid JSON: nested too deeply") from None
            except ValueError as error:
                raise self._error(self._at, f"invalid JSON: {error}") from None
            if end > len(self._text) - _TAIL and self._more():
                continue
            self._size = end - self._at
            self._at = end
            return value

    def _peek(self) -> str:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            self._forget()
            if not self._more():
                return ""

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self._at += taken
        return taken

    def _expect(self, character: str) -> None:
        if not self._take(character):
            raise self._error(self._at, f"invalid JSON: expected {character!r}")

    def _more(self) -> bool:
        """Read at least as much as is buffered, so that long values take linear time."""
        held = len(self._text) - self._at
        if held > self._most:
            raise row_too_large(self._file, self._line_at(self._at))
        added: list[str] = []
        size = 0
        while size <= held:
            number, part = next(self._parts, (0, b""))
            added.append(self._decode_part(part, number))
            size += len(added[-1])
            if not number:
                break
        self._text += "".join(added)
        return size > 0

    def _decode_part(self, part: bytes, number: int) -> str:
        if number != self._number:
            self._number, self._before = number or self._number, 0
        try:
            text = self._decode.decode(part, final=not number)
        except UnicodeDecodeError as error:
            before = self._before + len(part) - len(error.object)
            wrong = broken_text(error.object, max(before, 0)) or "the text is not UTF-8"
            raise DataError(wrong, file=self._file, line=self._number, hint=NOT_UTF8) from None
        self._before += len(part)
        return text

    def _forget(self) -> None:
        if self._at > self._most // 8 or self._at == len(self._text):
            self._line_at(self._at)
            self._text = self._text[self._at :]
            self._at = self._counted = 0

    def _error(self, at: int, message: str) -> DataError:
        return DataError(message, file=self._file, line=self._line_at(max(at, self._counted)))

    def _line_at(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line


def _names(value: Any) -> list[str]:
    is_header = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return value if is_header else []


def _rows_of_columns(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object of columns, which are lists or, from pandas, objects by row.

    The list is empty for an object that is a row: its question and its response are texts.
    """
    columns = [*values.values()]
    text = next((values[name] for name in _TEXTS if name in values), None)
    if not isinstance(text, (list, dict)) or any(type(column) is not type(text) for column in columns):
        return []
    if isinstance(text, list):
        same = len({len(column) for column in columns}) == 1
        return [dict(zip(values, row, strict=True)) for row in zip(*columns, strict=True)] if same else []
    keys = text.keys()
    if any(column.keys() != keys for column in columns):
        return []
    return [{name: column[key] for name, column in values.items()} for key in keys]


def _no_constant(name: str) -> None:
    raise ValueError(f"there is no number {name}")
