"""Bring texts to plain typography, and map positions back to the original."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A blank between the thousands of a number stays as it is.
_BLANKS = re.compile(r"(?:(?!(?<=\d)[\u00a0\u202f\u2009]\d{3}(?!\d))[^\S\n\r\f\v\x1c-\x1e\x85\u2028\u2029])+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_SIGNS = {"\u2010": "-", "\u2011": "-", "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'"}
_ODD = re.compile(f"{_UNSEEN.pattern}|{_BLANKS.pattern}|[{''.join(_SIGNS)}]")


@dataclass(frozen=True, eq=False)
class PlainText:
    """A text in plain typography.

    Attributes:
        text: with single blanks, plain hyphens and apostrophes, and without what cannot be seen.
        places: the position of each of its characters in the original text, and the end of the original; None
            where nothing was changed.
    """

    text: str
    places: NDArray[np.int64] | None

    def written(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that became this span.

        >>> normalize_text("a\N{NO-BREAK SPACE} b").written(2, 3)
        (3, 4)
        """
        if self.places is None:
            return start, end
        first = int(self.places[start])
        return first, int(self.places[end - 1]) + 1 if end > start else first


def normalize_text(text: str) -> PlainText:
    """Bring a text to plain typography.

    Runs of blanks become one, hyphens that do not break and typographic apostrophes plain ones, and soft
    hyphens, joiners and marks of direction vanish. Line breaks stay, and so do blanks that part thousands.

    >>> normalize_text("Don’t wait\N{NO-BREAK SPACE} 30\N{NON-BREAKING HYPHEN}45 minutes").text
    "Don't wait 30-45 minutes"
    """
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for match in _ODD.finditer(text):
        sign = match[0]
        plain = _SIGNS.get(sign) or ("" if _UNSEEN.fullmatch(sign) else " ")
        if plain == sign:
            continue
        parts += (text[at : match.start()], plain)
        places += (*range(at, match.start()), *([match.start()] if plain else ()))
        at = match.end()
    if not parts:
        return PlainText(text, None)
    places += range(at, len(text) + 1)
    return PlainText("".join([*parts, text[at:]]), np.array(places, dtype=np.int64))
