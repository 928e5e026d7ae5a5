"""Finds names in text without capitals (or in capitals only), by tables of places and first names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.fact import Name
from sgi.metrics.grounding.facts.name_tables import SURE_FIRST_NAMES, SURE_PLACES
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, fold

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TITLES = frozenset({"mr", "mrs", "dr", "senator", "president", "professor"})
_TIMES = frozenset({"today", "yesterday", "tomorrow", "tonight"})
_INFLECTED = ("ed", "ing", "s")


def small_names(text: str) -> Iterator[Name]:
    """Yield the names of a text in one case: places, and first names with the word after them.

    >>> [name.text for name in small_names("ford and james labrie build trucks in alaska.")]
    ['james labrie', 'alaska']
    """
    written, text = text, text.lower()
    if len(written) != len(text):
        return
    words = list(_WORD.finditer(text))
    done = 0
    for place, match in enumerate(words):
        word = match[0].removesuffix("'s").removesuffix("’s")
        start, end = match.start(), match.start() + len(word)
        if start < done or (word not in SURE_PLACES and word not in SURE_FIRST_NAMES and word not in _TITLES):
            continue
        following = words[place + 1] if place + 1 < len(words) else None
        if word not in SURE_PLACES:
            last = _last_name(text, end, following)
            if last:
                end = last
            elif word in _TITLES:
                continue
        done = end
        yield Name(written[start:end], start, end, tuple(fold(text[start:end]).split()))


def _last_name(text: str, end: int, following: re.Match[str] | None) -> int | None:
    """Return the end of the last name behind a first name; None if the next word is another word."""
    if following is None or text[end : following.start()] != " ":
        return None
    word = following[0].removesuffix("'s").removesuffix("’s")
    last = following.start() + len(word)
    closes = not text[last:].lstrip() or text[last : last + 1] in {",", ".", ";", ")"}
    if word in FUNCTION_WORDS | _TIMES or (word.endswith(_INFLECTED) and not closes):
        return None
    return last
