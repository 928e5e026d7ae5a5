"""Tables of words and their replacements, written as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def word_pairs(pairs: str, separator: str | None = None) -> dict[str, str]:
    """Parse pairs ``old/new``, separated by white space or by ``separator``.

    >>> word_pairs("is not/isn't; cannot/can't", ";")
    {'is not': "isn't", 'cannot': "can't"}
    """
    parts = (pair.strip().partition("/") for pair in pairs.split(separator))
    return {old: new for old, _, new in parts}


def both_ways(pairs: str) -> dict[str, str]:
    """Parse pairs, and add the reverse of each; the last one of several reverses counts.

    >>> both_ways("big/small large/small")
    {'small': 'large', 'big': 'small', 'large': 'small'}
    """
    table = word_pairs(pairs)
    return {new: old for old, new in table.items()} | table


def any_of(words: Iterable[str]) -> str:
    """Return a regular expression that matches any of these texts, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


NEGATIVES = word_pairs("""
possible/impossible common/uncommon likely/unlikely necessary/unnecessary known/unknown usual/unusual
safe/unsafe correct/incorrect legal/illegal complete/incomplete accurate/inaccurate able/unable
effective/ineffective sufficient/insufficient successful/unsuccessful popular/unpopular
available/unavailable important/unimportant active/inactive""")
"""Adjectives, and the same with a negative prefix."""
