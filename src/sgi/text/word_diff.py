"""Differences of two texts, word by word."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MAX_WORDS = 300
"""The longest text that is compared, in words; the time grows with the square of the length."""
MAX_PAIRS = 4000
"""Maximum number of pairs of equal words in the two texts; 300 words of prose have about 1,000."""
_WORD = re.compile(r"\s*\S+")


class Part(NamedTuple):
    """A part of two texts: in both, only in the first (removed), or only in the second (added)."""

    kind: Literal["same", "removed", "added"]
    text: str


def word_diff(first: str, second: str) -> tuple[Part, ...] | None:
    """Return the parts of two texts in order; None if they are too long or repeat words too often.

    The same and the added parts together are the second text, without white space at its end. White space
    alone does not make a difference.

    >>> [tuple(part) for part in word_diff("built in 1932 here", "built in 1955 here")]
    [('same', 'built in'), ('removed', ' 1932'), ('added', ' 1955'), ('same', ' here')]
    """
    before, after = _WORD.findall(first), _WORD.findall(second)
    if max(len(before), len(after)) > MAX_WORDS:
        return None
    first_words, second_words = ([word.strip() for word in text] for text in (before, after))
    counts = Counter(first_words)
    if sum(counts[word] for word in second_words) > MAX_PAIRS:
        return None
    matcher = SequenceMatcher(None, first_words, second_words, autojunk=False)
    parts: list[Part] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            parts.append(Part("same", "".join(after[k:m])))
            continue
        removed, added = "".join(before[i:j]), "".join(after[k:m])
        parts += [Part("removed", removed)] if removed else []
        parts += [Part("added", added)] if added else []
    return tuple(parts)
