"""Compares texts word by word: overlap of a response and its passages, near-duplicates, differences."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple

from sgi.text.tokenizers import word_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable


def token_precision(response: str, passages: Iterable[str]) -> float:
    r"""Return the share of a response's distinct words that occur in the passages; 0 if it has no words.

    Words are casefolded ``\w+``.

    >>> token_precision("Paris, in 1889, not Rome", ["The tower in Paris", "built 1889"])
    0.6
    """
    return token_precisions([(response, passages)])[0]


def token_precisions(rows: Iterable[tuple[str, Iterable[str]]]) -> list[float]:
    """Return the `token_precision` of each (response, passages) row; equal texts are tokenized once."""
    cache: dict[str, frozenset[str]] = {}

    def words_of(text: str) -> frozenset[str]:
        if text not in cache:
            cache[text] = frozenset(word_tokens(text))
        return cache[text]

    shares = []
    for response, passages in rows:
        words = words_of(response)
        passage_words = frozenset[str]().union(*map(words_of, passages))
        shares.append(len(words & passage_words) / len(words) if words else 0.0)
    return shares


def is_verbatim(response: str, passages: Iterable[str]) -> bool:
    r"""Return whether a passage contains the whole response, ignoring case and the amount of white space.

    The copy may start or end inside a word of the passage. A blank response is not verbatim.

    >>> is_verbatim("the  Eiffel\ntower", ["Paris has the Eiffel Tower."]), is_verbatim(" ", ["a b"])
    (True, False)
    """
    text = _fold(response)
    return bool(text) and any(text in _fold(passage) for passage in passages)


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


_LENGTH = 3
"""The number of words of a sequence."""


def normalised(text: str) -> str:
    r"""Return the casefolded words of a text, joined by spaces; equal texts differ only in punctuation.

    >>> normalised("Emma, by\nJane  Austen.")
    'emma by jane austen'
    """
    return " ".join(word_tokens(text))


def word_sequences(words: str) -> frozenset[str]:
    """Return the sequences of three words of a normalised text; a shorter text is one sequence.

    >>> sorted(word_sequences("emma by jane austen")), word_sequences("emma"), word_sequences("")
    (['by jane austen', 'emma by jane'], frozenset({'emma'}), frozenset())
    """
    parts = words.split()
    if len(parts) < _LENGTH:
        return frozenset({words} if words else ())
    return frozenset(" ".join(parts[at : at + _LENGTH]) for at in range(len(parts) - _LENGTH + 1))


def contained(part: frozenset[str], whole: frozenset[str]) -> float:
    """Return the share of the sequences of one text that another text has; 0 for an empty text."""
    return len(part & whole) / len(part) if part else 0.0


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
