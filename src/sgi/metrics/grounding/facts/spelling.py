"""Finds words that differ in one or two letters, as misspelt names do."""

from __future__ import annotations

import re

_DOUBLE = re.compile(r"(.)\1")
_SHORTEST, _LONG, _LONGEST = 5, 8, 40
_ONE, _TWO = 1, 2
_ALIKE = frozenset({"ck", "kc", "gq", "qg"})


def similar(word: str, other: str) -> bool:
    """Return whether two words of five letters or more differ in one letter, long ones in up to two.

    An exchange of neighbours counts as one. The first letter is the same (or c and k, g and q).
    Doubled letters do not count.

    >>> [similar(*pair.split()) for pair in ("phillips philips", "stevenson stephenson", "mead reed")]
    [True, True, False]
    """
    if word == other or (word[:1] != other[:1] and word[:1] + other[:1] not in _ALIKE):
        return False
    if len(word) >= _SHORTEST and _DOUBLE.sub(r"\1", word) == _DOUBLE.sub(r"\1", other):
        return True
    shorter = min(len(word), len(other))
    most = _ONE if shorter < _LONG else _TWO
    if not _SHORTEST <= shorter <= _LONGEST or abs(len(word) - len(other)) > most:
        return False
    return distance(word, other) <= most


def distance(word: str, other: str) -> int:
    """Return the least number of inserted, removed, replaced or exchanged letters.

    >>> distance("gorbachev", "gorbachov"), distance("ronald", "roland"), distance("regan", "reagan")
    (1, 2, 1)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(word, start=1):
        earlier, before, row = before, row, [place]
        for at, sign in enumerate(other, start=1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != sign))
            if place > 1 and at > 1 and letter == other[at - 2] and word[place - 2] == sign:
                cost = min(cost, earlier[at - 2] + 1)
            row.append(cost)
    return row[-1]
