"""Splits a text into words, with positions and stems."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.numerals import ONES
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS
from sgi.metrics.grounding.languages.of_text import tables_of
from sgi.metrics.grounding.languages.word_parts import stem_of, word_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_RUN = 8
"""Maximum length of a sequence of words that is compared with the passages."""

_KEPT_ENDS = frozenset("abfhjkopquvwxz0123456789")
"""Last letters that no ending has that the stemmer removes or changes; it is slow."""
_ONE_AT_A_TIME = Lock()  # the stemmer is not thread-safe
# A number with its marks is one word, and so are "don't", "e.g." and "U.S."
_WORD = re.compile(
    r"\d+(?:[.,:]\d+)+(?![^\W_])|(?<![^\W_])[^\W\d_](?:\.[^\W\d_])+(?![^\W_])|[^\W_]+(?:['’][^\W\d_]+)*"
)
_INITIALS = re.compile(r"(?<=[^\W\d_])\.")
_SHORT_FORM = re.compile(r"(?<=.)(?:(?P<not>n['’]t)|['’](?P<other>s|re|ve|ll|d|m))$")
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}
_SECOND = {"re": "are", "ve": "have", "ll": "will", "m": "am"}


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a text.

    Attributes:
        starts: start of each word in characters, shape (n,).
        ends: end of each word, shape (n,).
        stems: each word casefolded and without its ending.
        content: whether each word is not a function word, shape (n,).

    >>> words = split_words("The cities' towers")
    >>> words.stems, words.content.tolist(), words.ends.tolist()
    (('the', 'citi', 'tower'), [False, True, True], [3, 10, 18])
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    stems: tuple[str, ...]
    content: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.stems)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct stems."""
        return frozenset(self.stems)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of consecutive content words, as stems; function words between them are left out."""
        return frozenset(pairwise(compress(self.stems, self.content.tolist())))


@once_per_text
def split_words(text: str) -> Words:
    """Split a text into words.

    A word is a run of letters, or a number with its marks. "Don't" becomes "do not", and a possessive loses
    its ending. Words are stemmed, number words become digits, and function words are not content, by the
    rules of the text's language (`AnalysedText.language`).

    Source: the English stemmer of the library snowballstemmer (Porter, 2001).

    >>> split_words("Don't pay the city's 2,500.50 U.S. dollars!").stems
    ('do', 'not', 'pay', 'the', 'citi', '2,500.50', 'us', 'dollar')
    """
    language = tables_of(text)
    if language is not None:
        others = word_parts(text, language)
        is_content = [word not in language.function_words for _, _, word in others]
        return Words(
            np.array([start for start, _, _ in others], dtype=np.int64),
            np.array([end for _, end, _ in others], dtype=np.int64),
            tuple([stem_of(word, language) for _, _, word in others]),
            np.array(is_content, dtype=np.bool_),
        )
    parts = [
        part
        for match in _WORD.finditer(text)
        for part in (((*match.span(), match[0].casefold()),) if match[0].isalnum() else _parts(match))
    ]
    starts, ends, words = zip(*parts, strict=True) if parts else ((), (), ())
    return Words(
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        tuple(map(_stem, words)),
        np.array([word not in FUNCTION_WORDS for word in words], dtype=np.bool_),
    )


def _parts(match: re.Match[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, folded word) of a word, or of the two words of a short form."""
    start, end = match.span()
    word = match[0].casefold()
    if "." in word:
        return [(start, end, _INITIALS.sub("", word))]
    short = _SHORT_FORM.search(word) if "'" in word or "’" in word else None
    if short is None:
        return [(start, end, word)]
    middle = end - len(short[0])
    first = (
        _WHOLE.get(word[: short.start()], word[: short.start()]) if short["not"] else word[: short.start()]
    )
    second = "not" if short["not"] else _SECOND.get(short["other"])
    if second is None:
        return [(start, end, first)]
    return [(start, middle, first), (middle, end, second)]


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    if word in ONES:
        return str(ONES[word])
    if word[-1] in _KEPT_ENDS:
        return word
    with _ONE_AT_A_TIME:
        stemmed: str = _stemmer().stemWord(word)
    return stemmed


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from sgi.metrics.grounding.stemmer import FastStemmer

    return FastStemmer()
