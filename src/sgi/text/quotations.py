"""Finds quotations in a text, and searches texts for them word by word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

MAX_QUOTATION = 2_000
"""Maximum number of characters of a quotation."""

_LIMIT = f"{{1,{MAX_QUOTATION}}}"
_QUOTATION = re.compile(
    rf"“([^“”\n]{_LIMIT})”|„([^„“”\n]{_LIMIT})[“”]|«([^«»\n]{_LIMIT})»"
    rf'|(?<![\w"])"(?!\s)([^"\n]{_LIMIT})(?<!\s)"(?!\w)'
)
_GAP = re.compile(r"\[\s?(?:\.{3,4}|…)\s?\]|\(\s?(?:\.{3,4}|…)\s?\)|\.{3,4}|…|\[[^\[\]\n]{2,80}\]")
_LETTER = re.compile(r"\[([^\W\d_])\]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_TOKEN = re.compile("[\\w\u00ad\u200b-\u200f\u2060\ufeff]+|[^\\w\\s]")
_SAME = str.maketrans("‘’‚‛“”„‟«»\u2010\u2011\u2012\u2013\u2014", '\'\'\'\'""""""-----')
_BREAK = "\x00"


def quotation_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of the texts in double quotation marks, without the marks.

    >>> quotation_spans('It is "very tall" and 5" wide.')
    [(7, 16)]
    """
    return [match.span(match.lastindex or 0) for match in _QUOTATION.finditer(text)]


class TokenSpan(NamedTuple):
    """A part of a text, from token ``start`` to ``end`` (exclusive), and its share of the sought tokens."""

    start: int
    end: int
    share: float


@dataclass(frozen=True, eq=False)
class QuotedTokens:
    """The words and punctuation marks of a text, normalised.

    Normalisation: Unicode NFKC, lower case, plain quotation marks and dashes, no invisible characters.

    Attributes:
        tokens: the normalised tokens.
        spans: start and end of each token in the text, in characters.
    """

    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Split a text into tokens; white space is ignored."""
        pairs = [(_normalise(match[0]), match.span()) for match in _TOKEN.finditer(text)]
        pairs = [(token, span) for token, span in pairs if token]
        return cls(tuple(token for token, _ in pairs), tuple(span for _, span in pairs))

    @cached_property
    def _joined(self) -> str:
        return _BREAK + _BREAK.join(self.tokens) + _BREAK

    @property
    def words(self) -> int:
        """The number of tokens that are words or numbers."""
        return sum(token[0].isalnum() for token in self.tokens)

    def trimmed(self) -> QuotedTokens:
        """Return the tokens without punctuation marks at the ends."""
        words = [at for at, token in enumerate(self.tokens) if token[0].isalnum()]
        part = slice(words[0], words[-1] + 1) if words else slice(0, 0)
        return QuotedTokens(self.tokens[part], self.spans[part])

    def find(self, parts: list[QuotedTokens]) -> bool:
        """Return whether the parts occur in this text in their order.

        >>> QuotedTokens.of("It is very old and tall.").find(quoted_parts("It is … Tall"))
        True
        """
        at = 0
        for part in parts:
            found = self._joined.find(part._joined, at)  # noqa: SLF001 - the same class
            if found < 0:
                return False
            at = found + len(part._joined) - 1  # noqa: SLF001 - the same class
        return True

    def nearest(self, sought: QuotedTokens) -> TokenSpan | None:
        """Return the part of as many tokens that has the most of the sought tokens; None if it has none."""
        width, best, start = len(sought.tokens), 0, 0
        missing = Counter(sought.tokens)
        shared = 0
        for at, token in enumerate(self.tokens):
            missing[token] -= 1
            shared += missing[token] >= 0
            if at >= width:
                left = self.tokens[at - width]
                shared -= missing[left] >= 0
                missing[left] += 1
            if shared > best:
                best, start = shared, max(0, at - width + 1)
        return TokenSpan(start, min(start + width, len(self.tokens)), best / width) if best else None


def quoted_parts(quotation: str) -> list[QuotedTokens]:
    """Return the parts of a quotation between omissions (``…``, ``[...]``) and insertions (``[it]``)."""
    parts = [QuotedTokens.of(part).trimmed() for part in _GAP.split(_LETTER.sub(r"\1", quotation))]
    return [part for part in parts if part.tokens]


def _normalise(token: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", token).translate(_SAME)).casefold()
