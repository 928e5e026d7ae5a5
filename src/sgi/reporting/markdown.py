"""Escapes text for Markdown."""

from __future__ import annotations

import re

from sgi.reporting.formatting import plain

_SPACES = str.maketrans("\t\n", "  ")
# An underscore inside a word is literal; elsewhere it can begin emphasis. A bracket makes a link only
# with what follows it; signs and numbers begin a list only at the start of a line and before a space.
_MARKS = re.compile(r"([\\`*<>&|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[:])|^#|^[-+](?=[\s-]|$))")
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def escape(text: str) -> str:
    r"""Escape text for Markdown, on one line and without control characters.

    >>> escape("a|b <script>\nc_d")
    'a\\|b \\<script\\> c_d'
    """
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(r"\\\1", plain(text).translate(_SPACES)))


def code(text: str) -> str:
    """Format text as inline code, on one line and without control characters."""
    return f"`{plain(text).translate(_SPACES).replace('`', chr(39))}`"
