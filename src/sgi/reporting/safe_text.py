"""Makes untrusted texts safe to print: on the terminal, in Markdown and in JSON."""

from __future__ import annotations

import re
from typing import Any

REPLACED = "\N{REPLACEMENT CHARACTER}"
_STEERING = (range(9), range(11, 32), range(127, 160), range(0x202A, 0x202F), range(0x2066, 0x206A))
_UNWRITABLE = (range(0xD800, 0xE000), range(0xFFFE, 0x10000))
_UNSEEN = re.compile(f"[{''.join(f'{chr(part[0])}-{chr(part[-1])}' for part in _STEERING + _UNWRITABLE)}]")
STEERING = dict.fromkeys((code for part in _STEERING for code in part), REPLACED)
"""Replacements of control characters (except tab and line feed) and direction overrides."""
_STEERING_AND_BREAKS = STEERING | dict.fromkeys((9, 10, 0x2028, 0x2029), REPLACED)
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_BREAKS = re.compile("\r\n?|[\u2028\u2029]")
_NOT_PLAIN = re.compile(f"{_UNSEEN.pattern}|[\r\u2028\u2029]")
_SPACES = str.maketrans("\t\n", "  ")
# An underscore inside a word is literal; elsewhere it can begin emphasis. A bracket makes a link only
# with what follows it; signs and numbers begin a list only at the start of a line and before a space.
_MARKS = re.compile(r"([\\`*<>&|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[:])|^#|^[-+](?=[\s-]|$))")
# GitHub makes links of plain addresses, and mentions and references to issues, which notify people, of @name
# and #1. A backslash stops the first; the others are found after escapes, so they get a zero-width space.
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_MENTION = re.compile(r"(@(?=\w)|#(?=\d)|\bGH-(?=\d))", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def plain(text: str) -> str:
    r"""Replace control characters, direction overrides and surrogates; line breaks become ``\n``.

    >>> plain("a\x00b\u202ec\r\nd")
    'a�b�c\nd'
    """
    if _NOT_PLAIN.search(text) is None:
        return text
    return _UNSEEN.sub(REPLACED, _BREAKS.sub("\n", text))


def plain_json(value: Any) -> Any:
    r"""Apply `plain` to all texts of a JSON value.

    >>> plain_json({"a\x00": ["b\x1b", 1]})
    {'a�': ['b�', 1]}
    """
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(key)): plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    return value


def escaped_json(text: str) -> str:
    r"""Escape the invisible and controlling characters in JSON; the value stays the same.

    These are control characters beyond ASCII, direction marks, zero-width characters and line separators;
    JSON itself escapes the control characters of ASCII.

    >>> escaped_json('{"a": "x\u202ey\x9b"}')
    '{"a": "x\\u202ey\\u009b"}'
    """
    return _INVISIBLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def escape(text: str) -> str:
    r"""Escape text for Markdown, on one line, without control characters, links and mentions.

    >>> escape("a|b <script>\nc_d")
    'a\\|b \\<script\\> c_d'
    """
    escaped = _ADDRESS.sub(r"\\\g<0>", _MARKS.sub(r"\\\1", plain(text).translate(_SPACES)))
    return _LIST_NUMBER.sub(r"\1\\\2", _MENTION.sub(r"\1&#8203;", escaped))


def code(text: str) -> str:
    """Format text as inline code of Markdown, on one line and without control characters."""
    return f"`{plain(text).translate(_SPACES).replace('`', chr(39))}`"


def one_line(text: str, *, longest: int = 60) -> str:
    """Put a text on one line for the terminal, without control characters, and shorten it."""
    shown = text.translate(_STEERING_AND_BREAKS)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
