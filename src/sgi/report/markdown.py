"""Text for Markdown files: tables and lines whose cells can hold anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.report.formatting import STEERING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_UNSEEN = STEERING | dict.fromkeys((9, 10, 13, 0x2028, 0x2029), " ")
# An underscore inside a word is only itself; anywhere else it may begin emphasis. A bracket makes a link only
# together with what follows it; signs and numbers begin a list only at the beginning and before a space.
_MARKS = re.compile(r"([\\`*<>&|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[:])|^#|^[-+](?=[\s-]|$))")
_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escaped("a|b <script>\nc_d")
    'a\\|b \\<script\\> c_d'
    """
    return _NUMBER.sub(r"\1\\\2", _MARKS.sub(r"\\\1", text.translate(_UNSEEN)))


def code(text: str) -> str:
    r"""Text as it is, on one line, in the type of code.

    >>> code("halueval_qa.jsonl"), code("a`b")
    ('`halueval_qa.jsonl`', "`a'b`")
    """
    return f"`{text.translate(_UNSEEN).replace('`', chr(39))}`"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[str] = ()) -> str:
    """A Markdown table; the first column and those in ``left`` stand to the left, numbers to the right.

    Args:
        columns: the headings.
        rows: cells, one for each column; anything in them is shown as text.
        left: columns beside the first whose cells are words.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.

    >>> print(table(["model", "AUROC"], [["minilm", "0.80"]]))
    | model | AUROC |
    |:------|------:|
    | minilm | 0.80 |
    """
    words = [place == 0 or name in left for place, name in enumerate(columns)]
    widths = (len(name) + 1 for name in columns)
    rules = (f":{'-' * n}" if word else f"{'-' * n}:" for n, word in zip(widths, words, strict=True))
    lines = [_line(columns), "|" + "|".join(rules) + "|"]
    lines += [_line(row, wanted=len(columns)) for row in rows]
    return "\n".join(lines)


def _line(cells: Sequence[str], wanted: int | None = None) -> str:
    if wanted is not None and len(cells) != wanted:
        raise ValueError(f"A row of {len(cells)} cells stands in a table of {wanted} columns.")
    return f"| {' | '.join(map(escaped, cells))} |"
