"""Near-duplicate texts: the share of the word sequences of one text that occur in another."""

from __future__ import annotations

from sgi.text.tokenizers import word_tokens

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
