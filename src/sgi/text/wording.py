"""A text as words: where each stands, its stem, and whether it carries content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.text.facts.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_RUN = 8
"""Words of a copied run beyond which no more is counted."""

_KEPT = 4096  # texts; one of 150 words takes some 60 kilobytes with its runs
# A number with its marks is one word, and so is "don't",
# and "e.g." and "U.S.".
_WORD = re.compile(
    r"\d+(?:[.,:]\d+)+(?![^\W_])|(?<![^\W_])[^\W\d_](?:\.[^\W\d_])+(?![^\W_])|[^\W_]+(?:['’][^\W\d_]+)*"
)
_INITIALS = re.compile(r"(?<=[^\W\d_])\.")
_ENGLISH_MARK = re.compile(r"['’](?:s|re|ve|ll|d|m)?$")


@dataclass(frozen=True, eq=False)
class Wording:
    """The words of a text.

    Attributes:
        starts: where each word begins, in characters, shape (n,).
        ends: where it ends, shape (n,).
        stems: each word casefolded and without its ending.
        content: whether it is more than a function word, shape (n,).

    >>> words = wording("The cities' towers")
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
        """The stems there are."""
        return frozenset(self.stems)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The stems of content words that follow one another, function words left out between them."""
        carrying = [stem for stem, carries in zip(self.stems, self.content.tolist(), strict=True) if carries]
        return frozenset(pairwise(carrying))

    @cached_property
    def runs(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """All runs of one word, of two, and so on up to `LONGEST_RUN`, as stems, each by its first word."""
        shifted = [self.stems[start:] for start in range(LONGEST_RUN)]
        return tuple(tuple(zip(*shifted[:length], strict=False)) for length in range(1, LONGEST_RUN + 1))

    @cached_property
    def run_sets(self) -> tuple[frozenset[tuple[str, ...]], ...]:
        """The runs without their places."""
        return tuple(map(frozenset, self.runs))


@lru_cache(maxsize=_KEPT)
def wording(text: str) -> Wording:
    """The words of a text, read once however often it is asked for.

    A word is a run of letters with apostrophes inside, or a number with its marks. English endings are cut
    and English function words told from content; in another language words are compared nearly as written,
    and every word counts as content.

    Args:
        text: any text.

    Source: the English stemmer of the library snowballstemmer (Porter, 2001).

    >>> wording("Don't pay 2,500.50!").stems
    ("don't", 'pay', '2,500.50')
    """
    found = list(_WORD.finditer(text))
    words = [_ENGLISH_MARK.sub("", _INITIALS.sub("", match[0].casefold())) for match in found]
    return Wording(
        np.array([match.start() for match in found], dtype=np.int64),
        np.array([match.end() for match in found], dtype=np.int64),
        tuple([_stem(word) for word in words]),
        np.array([word not in FUNCTION_WORDS for word in words], dtype=np.bool_),
    )


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    stemmed: str = _stemmer().stemWord(word)
    return stemmed


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")
