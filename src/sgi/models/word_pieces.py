"""BERT's uncased tokenization into word pieces."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import regex  # type: ignore[import-untyped]  # ships no types

from sgi.text.read_share import reads_enough

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CLS, SEP = "[CLS]", "[SEP]"
UNKNOWN = "[UNK]"
_SPECIAL = ("[PAD]", UNKNOWN, CLS, SEP, "[MASK]")
_MAX_WORD = 100
"""A longer word is unknown."""
_CACHED_WORDS = 1 << 16
_CJK = (
    r"\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    r"\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
)
_PUNCTUATION = r"\p{P}!-/:-@\[-`{-~"
_REMOVED = regex.compile(r"(?V1)[\x00\ufffd[\p{Cc}\p{Cf}\p{Co}--[\t\n\r]]]")
_MARKS = regex.compile(r"\p{Mn}+")
_SPECIAL_WORDS = regex.compile("({})".format("|".join(map(regex.escape, _SPECIAL))))
_WORDS = regex.compile(rf"[{_CJK}{_PUNCTUATION}]|[^\s{_CJK}{_PUNCTUATION}]+")


class WordPieces:
    """Splits texts into the pieces of a vocabulary.

    It converts to lower case, removes accents and control characters, separates punctuation and CJK
    characters, and takes the longest pieces from the beginning of each word. A word of more than 100
    characters, or with a part that has no piece, is unknown. Special tokens in a text are read as such.

    The ids are those of the package tokenizers, except for characters that are newer than its tables of
    Unicode. Source: Devlin et al. (2018), arXiv:1810.04805, and the tokenizer that its authors published.

    Args:
        pieces: the vocabulary; a piece within a word begins with ``##``. The position is the id.

    Raises KeyError if the vocabulary lacks a special token.

    >>> pieces = WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "cafe", "!"])
    >>> list(pieces.tokenize("Unable, Café!"))
    [5, 6, 1, 7, 8]
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self.ids = {piece: position for position, piece in enumerate(pieces)}
        self._special = {word: self.ids[word] for word in _SPECIAL}
        self._of_word = lru_cache(_CACHED_WORDS)(self._split)

    def tokenize(self, text: str, limit: int | None = None) -> Iterator[int]:
        """Yield the ids of a text, or only the first ``limit`` of them.

        Raises TypeError if the text is not a str, UnicodeEncodeError if it is not valid Unicode.
        """
        if not isinstance(text, str):
            raise TypeError(text)
        if not text.isascii():
            text.encode()
        return islice(self._all(text), limit)

    def reads(self, text: str) -> bool:
        """Return whether enough of a text is in words with pieces; see `sgi.text.read_share.reads_enough`.

        >>> WordPieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cafe"]).reads("Café ab")
        False
        """
        unknown = (self.ids[UNKNOWN],)
        words = [(f"{unicodedata.normalize('NFC', word)} ", pieces) for word, pieces in self._words(text)]
        unread = [pieces == unknown for word, pieces in words for _ in word]
        return reads_enough("".join(word for word, _ in words), unread)

    def _all(self, text: str) -> Iterator[int]:
        for _, pieces in self._words(text):
            yield from pieces

    def _words(self, text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        for part in _SPECIAL_WORDS.split(text) if "[" in text else (text,):
            if part in self._special:
                yield part, (self._special[part],)
                continue
            for word in _WORDS.finditer(_normalize(part)):
                yield word[0], self._of_word(word[0])

    def _split(self, word: str) -> tuple[int, ...]:
        unknown = (self.ids[UNKNOWN],)
        if len(word) > _MAX_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None:
                return unknown
            found.append(self.ids[prefix + word[start:end]])
            start = end
        return tuple(found)


def _normalize(text: str) -> str:
    if text.isascii() and text.isprintable():  # the common case
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFD", _REMOVED.sub("", text)))
    return "".join(map(str.lower, plain))  # letter by letter: the form of a letter depends on no other
