"""Escapes text for Markdown."""

from __future__ import annotations

import re

from sgi.reporting.formatting import plain

_SPACES = str.maketrans("\t\n", "  ")
# An underscore inside a word is literal; elsewhere it can begin emphasis. A bracket makes a link only
# with what follows it; signs and numbers begin a list only at the start of a line and before a space.
_MARKS = re.compile(r"([\\`*<>&|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[:])|^#|^[-+](?=[\s-]|$))")
# GitHub makes links of plain addresses, and mentions and references to issues, which notify people, of @name
# and #1. A backslash stops the first; the others are found after escapes, so they get a zero-width space.
_ADDRESS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_MENTION = re.compile(r"(@(?=\w)|#(?=\d)|\bGH-(?=\d))", re.IGNORECASE)
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def escape(text: str) -> str:
    r"""Escape text for Markdown, on one line, without control characters, links and mentions.

    >>> escape("a|b <script>\nc_d")
    'a\\|b \\<script\\> c_d'
    """
    escaped = _ADDRESS.sub(r"\\\g<0>", _MARKS.sub(r"\\\1", plain(text).translate(_SPACES)))
    return _NUMBER.sub(r"\1\\\2", _MENTION.sub(r"\1&#8203;", escaped))


def code(text: str) -> str:
    """Format text as inline code, on one line and without control characters."""
    return f"`{plain(text).translate(_SPACES).replace('`', chr(39))}`"
