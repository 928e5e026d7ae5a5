"""Parse lists of texts in a table cell: JSON, or what Python and NumPy print.

NumPy separates items by white space, and Python joins adjacent strings: to Python, ``['a' 'b']`` is one
text. So printed lists have their own parser, which evaluates nothing. The separator is the same throughout a
list:

.. code-block:: text

    list    = "[" [ item { separator item } [","] ] "]" | ("array" | "list") "(" list [", dtype=" name] ")"
    item    = string | "np.str_(" string ")" | number | list | object | "None" | "True" | "False" | "nan"
    object  = "{" [ string ":" item { "," string ":" item } ] "}"
    separator = "," | white space
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 20
_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"""'([^'\\\n]*(?:\\.[^'\\\n]*)*)'|"([^"\\\n]*(?:\\.[^"\\\n]*)*)\"""")
_MAX_DIGITS = 20  # of a number of 64 bits
_NUMBER = re.compile(r"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+(?![\w.])")  # never goes back
_WORD = re.compile(r"(?:None|True|False|nan)\b")
_WORDS = {"None": None, "True": True, "False": False, "nan": None}
_ARRAY = re.compile(r"(?:array|list)\(\s*(?=\[)")
_ARRAY_END = re.compile(r"(?:\s*,\s*dtype=(?:[\w.]+|'[^'\n]*'))?\s*\)")
_NUMPY_TEXT = "np.str_("
_GOES_ON = re.compile(r"""\s*(?:\Z|\.\.\.|,\s*(?:\Z|\.\.\.|['"]))|\s+['"]""")
"""The text that follows the first item of a list."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_CHARACTERS = dict(zip("\\'\"nrtabfv0", "\\'\"\n\r\t\a\b\f\v\0", strict=True))


def read_list(cell: str) -> list[object] | None:
    """Parse the list in a cell; None if the cell is plain text.

    A list without text or object, such as ``[1]``, is plain text: citations look like this. Raises
    ValueError for a list with at least one complete text that is truncated, shortened (``...``) or broken.

    >>> read_list('["a", "b"]'), read_list("['a' 'b']"), read_list("array(['a'], dtype=object)")
    (['a', 'b'], ['a', 'b'], ['a'])
    >>> read_list("[1]"), read_list("[Editor's note]")
    (None, None)
    """
    text = cell.strip()
    if not text.startswith(("[", "array(", "list(")):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = _parse_printed(text)
    if not isinstance(value, list):
        return None
    texts = not value or any(isinstance(item, (str, dict)) or _holds_text(item) for item in value)
    return value if texts else None


def parse_printed(text: str) -> object:
    """Parse a list or an object as Python prints it; None if the text is not one.

    >>> parse_printed("[{'a': 1, 'b': [None, True]}]"), parse_printed("[sic]")
    ([{'a': 1, 'b': [None, True]}], None)
    """
    try:
        return _Reader(text.strip()).whole()
    except _BrokenListError:
        return None


def _holds_text(item: object) -> bool:
    return isinstance(item, list) and any(isinstance(inner, str) for inner in item)


def _parse_printed(text: str) -> object:
    reader = _Reader(text)
    try:
        return reader.whole()
    except _BrokenListError as error:
        if reader.is_list:
            raise ValueError(f"a printed list {error} at character {reader.at + 1}") from None
        return None


class _BrokenListError(Exception):
    """The text does not follow the grammar of this module."""


class _Reader:
    """Parses one text by the grammar of this module.

    Attributes:
        at: the index of the next character.
        is_list: whether a complete text and a separator were read, so that the cell is meant as a list.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_list = False

    def whole(self) -> Any:
        value = self._object(0) if self._has("{") else self._list(0)
        if self.at < len(self.text):
            raise _BrokenListError("is followed by more text")
        return value

    def _list(self, depth: int) -> Any:
        if array := _ARRAY.match(self.text, self.at):
            self.at = array.end()
            value = self._list(depth + 1)
            self._match(_ARRAY_END)
            return value
        self._take("[")
        items: list[Any] = []
        separators: set[str] = set()
        self._match(_SPACE)
        while not self._has("]"):
            items.append(self._item(depth))
            spaces = self._match(_SPACE)
            if self._has("]"):
                break
            comma = self._has(",")
            if not (comma or spaces):
                raise self._error()
            separators.add("," if comma else " ")
            if len(separators) > 1:
                raise _BrokenListError("has both commas and spaces between its items")
            self.at += comma
            self._match(_SPACE)
        self._take("]")
        return items

    def _item(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise _BrokenListError(f"is nested deeper than {MAX_DEPTH} levels")
        sign = self.text[self.at : self.at + 1]
        if sign and sign in "'\"":
            return self._string()
        if sign == "{":
            return self._object(depth + 1)
        if sign == "[" or _ARRAY.match(self.text, self.at):
            return self._list(depth + 1)
        if self._has(_NUMPY_TEXT):
            self.at += len(_NUMPY_TEXT)
            value = self._string()
            self._take(")")
            return value
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return _WORDS[word[0]]
        number = self._match(_NUMBER)
        is_whole = number.lstrip("+-").isdecimal() and len(number) <= _MAX_DIGITS
        return int(number) if is_whole else float(number)

    def _object(self, depth: int) -> dict[str, Any]:
        self._take("{")
        values: dict[str, Any] = {}
        self._match(_SPACE)
        while not self._has("}"):
            key = self._string()
            self._match(_SPACE)
            self._take(":")
            self.is_list = True
            self._match(_SPACE)
            values[key] = self._item(depth)
            self._match(_SPACE)
            if self._has("}"):
                break
            self._take(",")
            self._match(_SPACE)
        self._take("}")
        return values

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self._error()
        value = match[1] if match[1] is not None else match[2]
        if "\\" in value:
            value = _ESCAPE.sub(_character, value)
        self.at = match.end()
        self.is_list = self.is_list or _GOES_ON.match(self.text, self.at) is not None
        return value

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise self._error()
        self.at = match.end()
        return match[0]

    def _has(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> None:
        if not self._has(text):
            raise self._error()
        self.at += len(text)

    def _error(self) -> _BrokenListError:
        if self._has("..."):
            return _BrokenListError("was shortened when it was printed ('...')")
        if self.at >= len(self.text):
            return _BrokenListError("is cut off")
        unclosed = self.text[self.at] in "'\""
        return _BrokenListError("has a text without closing quote" if unclosed else "is broken")


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None and escape[4] in _CHARACTERS:
        return _CHARACTERS[escape[4]]
    try:
        return chr(int(code or "", 16))
    except (ValueError, OverflowError):
        raise _BrokenListError(f"has the unknown escape {escape[0]!r}") from None
