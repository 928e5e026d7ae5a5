"""Passages of documents, and the blocks that Markdown, HTML, PDF and plain text are split into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PASSAGE = 1500
"""The largest number of characters of a passage of running text."""


@dataclass(frozen=True)
class Passage:
    """A part of a document that a question can be about.

    Attributes:
        source: the file, relative to the folder that was read.
        number: position in the file, from 0.
        text: the exact text of the source, with its markup.
        plain: the text without markup and with single spaces; code is between backticks.
        headings: the headings above it, the outermost first.
        cells: the rows of a table, with the header first.
        steps: the items of a numbered list.
        items: the items of another list.
        is_first: whether it is directly below its heading.
        is_code: whether it is a block of code, which is searched and not asked about.
        id: the id that the data gives; None if it has none.
    """

    source: str
    number: int
    text: str
    plain: str
    headings: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    steps: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    is_first: bool = False
    is_code: bool = False
    id: str | None = None

    @property
    def place(self) -> str:
        """Return the file and the innermost heading."""
        return f"{self.source} > {self.headings[-1]}" if self.headings else self.source


def squeezed(text: str) -> str:
    r"""Return the text with single spaces, without soft hyphens and line-end hyphenation.

    >>> squeezed("an ex-\n  ample  text")
    'an example text'
    """
    joined = re.sub(r"(?<=[a-z])-\n\s*(?=[a-z])", "", text.replace("\u00ad", ""))
    return " ".join(joined.split())


def text_parts(text: str) -> Iterator[str]:
    """Split running text at blank lines, and long paragraphs after a sentence; parts are exact substrings."""
    for paragraph in re.split(r"\n[^\S\n]*\n", text):
        part = paragraph.strip()
        while len(part) > MAX_PASSAGE:
            end = max(part.rfind(sign, 0, MAX_PASSAGE) for sign in (". ", ".\n", "? ", "! "))
            end = end + 1 if end > MAX_PASSAGE // 3 else MAX_PASSAGE
            yield part[:end].strip()
            part = part[end:].strip()
        if part:
            yield part
