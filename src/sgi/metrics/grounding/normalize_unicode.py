"""Normalises typography and maps positions back to the original text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLANK = r"[^\S\n\r\f\v\x1c-\x1e\x85\u2028\u2029]"
# All blanks except a single space. A blank that separates the thousands of a number stays.
_BLANKS = re.compile(rf"(?!\x20(?!{_BLANK}))(?:(?!(?<=\d)[\u00a0\u202f\u2009]\d{{3}}(?!\d)){_BLANK})+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
# The spelling of tokenised texts: "do n't", "Ada 's", "``", "-LRB-".
_SPACE_BEFORE_ENDING = r"(?P<ending>(?<=\w)\x20(?=(?:n't|'(?:s|re|ve|ll|d|m))(?!\w)))"
_TOKENS = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")", "-lrb-": "(", "-rrb-": ")"}
_TOKENISED = rf"{_SPACE_BEFORE_ENDING}|{'|'.join(_TOKENS)}"
_SIGNS = {"\u2010": "-", "\u2011": "-", "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'"}
_ODD_ASCII = re.compile(rf"  |[\t\x1f]|{_TOKENISED}")
_ODD = re.compile(  # the first class saves time: most characters are letters
    rf"(?=[\W\u02bc])(?:{_INVISIBLE.pattern}|{_TOKENISED}|{_BLANKS.pattern}|[{''.join(_SIGNS)}])"
)


@dataclass(frozen=True, eq=False)
class PlainText:
    """A text with normalised spaces, hyphens and apostrophes.

    Attributes:
        positions: position of each character in the original text, and the end of the original; None if
            nothing changed.
        source: span of the original text that the whole text stands for, if it is not a part of the original.
    """

    text: str
    positions: NDArray[np.int64] | None
    source: tuple[int, int] | None = None

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that became this span.

        >>> normalize_text("a\N{NO-BREAK SPACE} b").original_span(2, 3)
        (3, 4)
        """
        if self.source is not None:
            return self.source
        if self.positions is None:
            return start, end
        first = int(self.positions[start])
        return first, int(self.positions[end - 1]) + 1 if end > start else first


def normalize_text(text: str) -> PlainText:
    """Normalise spaces, hyphens, apostrophes and tokenised spelling; delete invisible characters.

    Line breaks stay, and so do spaces between the thousands of a number.

    >>> normalize_text("Don’t wait\N{NO-BREAK SPACE} 30\N{NON-BREAKING HYPHEN}45 minutes").text
    "Don't wait 30-45 minutes"
    >>> normalize_text("Ada 's tower does n't move -LRB- yet -RRB-").text
    "Ada's tower doesn't move ( yet )"
    """
    if text.isascii() and not _ODD_ASCII.search(text):
        return PlainText(text, None)
    parts: list[str] = []
    positions: list[int] = []
    at = 0
    for match in _ODD.finditer(text):
        sign = match[0]
        plain = _plain(match)
        if plain == sign:
            continue
        parts += (text[at : match.start()], plain)
        positions += (*range(at, match.start()), *([match.start()] if plain else ()))
        at = match.end()
    if not parts:
        return PlainText(text, None)
    positions += range(at, len(text) + 1)
    return PlainText("".join([*parts, text[at:]]), np.array(positions, dtype=np.int64))


def _plain(match: re.Match[str]) -> str:
    sign = match[0]
    if match["ending"] is not None or _INVISIBLE.fullmatch(sign):
        return ""
    return _SIGNS.get(sign) or _TOKENS.get(sign) or " "
