"""Escapes text for Markdown."""

from __future__ import annotations

import re

from sgi.reporting.formatting import STEERING

_REPLACEMENTS = STEERING | dict.fromkeys((9, 10, 13, 0x2028, 0x2029), " ")
# An underscore inside a word is literal; elsewhere it can begin emphasis. A bracket makes a link only
# with what follows it; signs and numbers begin a list only at the start of a line and before a space.
_MARKS = re.compile(r"([\\`*<>&|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[:])|^#|^[-+](?=[\s-]|$))")
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def escape(text: str) -> str:
    r"""Escape text for Markdown, on one line.

    >>> escape("a|b <script>\nc_d")
    'a\\|b \\<script\\> c_d'
    """
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(r"\\\1", text.translate(_REPLACEMENTS)))


def code(text: str) -> str:
    r"""Text as inline code, on one line.

    >>> code("halueval_qa.jsonl"), code("a`b")
    ('`halueval_qa.jsonl`', "`a'b`")
    """
    return f"`{text.translate(_REPLACEMENTS).replace('`', chr(39))}`"
