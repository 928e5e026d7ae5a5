"""Splits texts of other languages than English into words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.languages.number_words import number_of_word

if TYPE_CHECKING:
    from sgi.metrics.grounding.languages.record import Language

# A number with its marks is one word, and so are "aujourd'hui" and "S.p.A."
_WORD = re.compile(
    r"\d+(?:[.,:'\u00a0\u202f\u2009]\d+)+(?![^\W_])|(?<![^\W_])[^\W\d_](?:\.[^\W\d_])+(?![^\W_])"
    r"|[^\W_]+(?:['’][^\W\d_]+)*"
)
_MARKS = re.compile(r"[.'’\u00a0\u202f\u2009]")
_APOSTROPHE = re.compile(r"['’]")


def word_parts(text: str, language: Language) -> list[tuple[int, int, str]]:
    """Return (start, end, word in small letters) of each word; "l'eau" is two words.

    >>> from sgi.metrics.grounding.languages.record import language_named
    >>> word_parts("L'eau qu'il a", language_named("fr"))
    [(0, 1, 'l'), (2, 5, 'eau'), (6, 8, 'qu'), (9, 11, 'il'), (12, 13, 'a')]
    """
    parts = []
    for match in _WORD.finditer(text):
        word, start = match[0].lower(), match.start()
        if "'" in word or "’" in word:
            end = match.end()
            while (mark := _APOSTROPHE.search(text, start, end)) and (
                text[start : mark.start()].lower() in language.elisions
            ):
                parts.append((start, mark.start(), text[start : mark.start()].lower()))
                start = mark.end()
            word = text[start:end].lower()
        parts.append((start, match.end(), _plain(word)))
    return parts


def stem_of(word: str, language: Language) -> str:
    """Return the stem of a word in small letters; a number word in digits."""
    number = number_of_word(word, language)
    return language.stem(word) if number is None else str(number)


def _plain(word: str) -> str:
    """Remove the points of initials and possessive endings, and the marks that group thousands."""
    if word[0].isdigit():
        return word
    return _MARKS.sub("", word.removesuffix("'s").removesuffix("’s"))
