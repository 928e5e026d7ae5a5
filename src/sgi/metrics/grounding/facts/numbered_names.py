"""Compares names that end with a number: "World War II", "Rocky 3", "George IV"."""

from __future__ import annotations

import re
from typing import NamedTuple

from sgi.metrics.grounding.facts.extract import folded_words
from sgi.metrics.grounding.facts.numerals import ONES, ORDINALS

_NUMERALS = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN = {word: number for number, word in enumerate(_NUMERALS.split(), start=1)}
_WAR = ("world", "war")
_SHORT_WAR = re.compile(r"ww(\w+)")
_WARS = re.compile(r" (?:(\w+) )?world wars? (\w+)(?: and (\w+))?| ww(\w+)|(\w+) world war")
_LONGEST = 3  # digits: "Route 66", not a year


class NumberedName(NamedTuple):
    """A name without its number, and the number."""

    head: tuple[str, ...]
    number: int


def numbered(words: tuple[str, ...]) -> NumberedName | None:
    """Return the parts of a name, given by its folded words, that ends with a number; None without a number.

    >>> numbered(("world", "war", "ii")) == numbered(("second", "world", "war")) == numbered(("ww2",))
    True
    >>> numbered(("nebuchadnezzar", "the", "second"))
    NumberedName(head=('nebuchadnezzar',), number=2)
    """
    if not words:
        return None
    if len(words) == 1:
        war = _SHORT_WAR.fullmatch(words[0])
        number = _read(war[1], _WAR) if war else None
        return NumberedName(_WAR, number) if number else None
    if words[1:] == _WAR and words[0] in ORDINALS:
        return NumberedName(_WAR, ORDINALS[words[0]])
    head = words[:-1]
    if head[-1] == "the" and len(head) > 1:
        return NumberedName(head[:-1], ORDINALS[words[-1]]) if words[-1] in ORDINALS else None
    number = _read(words[-1], head)
    return NumberedName(head, number) if number else None


def numbers_in(name: NumberedName, passage: str) -> set[int]:
    """Return the numbers that a passage has after (of the world wars, also before) the name.

    >>> numbers_in(NumberedName(("rocky",), 3), "Rocky II and Rocky 4")
    {2, 4}
    """
    words = folded_words(passage)
    if f" {name.head[0]}" not in words and name.head != _WAR:
        return set()
    if name.head == _WAR:
        matches = (_WARS.finditer(words)) if " world war" in words or " ww" in words else ()
        found = [_read(word, _WAR) for match in matches for word in match.groups() if word]
    else:
        head = re.escape(" ".join(name.head))
        found = [
            ORDINALS.get(match[2]) if match[1] else _read(match[2], name.head)
            for match in re.finditer(rf" {head} (the )?(\w+)", words)
        ]
    return {number for number in found if number}


def _read(word: str, head: tuple[str, ...]) -> int | None:
    """Read the number after a name; number words count only after "world war"."""
    if word.isdecimal():
        return int(word) if len(word) <= _LONGEST else None
    if word in _ROMAN and (word != "i" or head[-1:] == ("war",)):
        return _ROMAN[word]
    return (ONES.get(word) or ORDINALS.get(word)) if head == _WAR else None
