"""Splits a text into words, with positions and stems; words without case, accents and endings."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import compress, pairwise
from typing import TYPE_CHECKING

import numpy as np

from sgi.metrics.grounding.language_tables import ENGLISH, language_named, language_of, once_per_text
from sgi.metrics.grounding.number_words import number_of_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_RUN = 8
"""Maximum length of a sequence of words that is compared with the passages."""

_KEPT_ENDS = frozenset("abfhjkopquvwxz0123456789")
"""Last letters that no ending has that the stemmer removes or changes; it is slow."""
# A number with its marks is one word, and so are "don't", "e.g." and "U.S." The first case only saves time.
_WORD = re.compile(
    r"[^\W\d_]{2}[^\W_]*(?:['’][^\W\d_]+)*|\d+(?:[.,:'\u00a0\u202f\u2009]\d+)+(?![^\W_])"
    r"|(?<![^\W_])[^\W\d_](?:\.[^\W\d_])+(?![^\W_])|[^\W_]+(?:['’][^\W\d_]+)*"
)
_APOSTROPHE = re.compile(r"['’]")
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

    def part(self, words: slice, start: int) -> Words:
        """Return the words of a part of the text that begins at ``start``, with positions in this part."""
        starts, ends = self.starts[words] - start, self.ends[words] - start
        return Words(starts, ends, self.stems[words], self.content[words])

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
    code = language_of(text).code
    words = [
        (match.start() + start, match.start() + end, stem, is_content)
        for match in _WORD.finditer(text)
        for start, end, stem, is_content in _read(match[0], code)
    ]
    starts, ends, stems, content = zip(*words, strict=True) if words else ((),) * 4
    return Words(
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        stems,
        np.array(content, dtype=np.bool_),
    )


def distinct_stems(text: str) -> frozenset[str]:
    """Return the `Words.vocabulary` of an English text, in less time than `split_words`.

    >>> sorted(distinct_stems("The cities' towers"))
    ['citi', 'the', 'tower']
    """
    return frozenset(
        [stem for written in set(_WORD.findall(text)) for _, _, stem, _ in _read(written, ENGLISH)]
    )


@lru_cache(maxsize=1 << 16)
def _read(written: str, code: str) -> tuple[tuple[int, int, str, bool], ...]:
    """Return (start, end, stem, whether it is content) of each word in a run of letters."""
    functional = language_named(code).function_words
    return tuple(
        (start, end, _stem(word, code), word not in functional) for start, end, word in _parts(written, code)
    )


def word_parts(text: str, code: str) -> list[str]:
    """Return the words of a text in small letters, by the rules of a language.

    >>> word_parts("L'eau qu'il a", "fr")
    ['l', 'eau', 'qu', 'il', 'a']
    """
    return [word for match in _WORD.finditer(text) for _, _, word in _parts(match[0], code)]


def _parts(written: str, code: str) -> list[tuple[int, int, str]]:
    """Return (start, end, folded word) of a word, or of the two words of a short form."""
    end = len(written)
    word = written.casefold() if code == ENGLISH else written.lower()
    if "." in word and not word[0].isdigit():
        return [(0, end, _INITIALS.sub("", word))]
    if ("'" not in word and "’" not in word) or word[0].isdigit():
        return [(0, end, word)]
    if code != ENGLISH:
        return _elided(word, code)
    short = _SHORT_FORM.search(word)
    if short is None:
        return [(0, end, word)]
    middle = end - len(short[0])
    first = word[: short.start()]
    first = _WHOLE.get(first, first) if short["not"] else first
    second = "not" if short["not"] else _SECOND.get(short["other"])
    if second is None:
        return [(0, end, first)]
    return [(0, middle, first), (middle, end, second)]


def _elided(word: str, code: str) -> list[tuple[int, int, str]]:
    """Split "l'eau" into its two words."""
    elisions, parts, start = language_named(code).elisions, [], 0
    while (mark := _APOSTROPHE.search(word, start)) and word[start : mark.start()] in elisions:
        parts.append((start, mark.start(), word[start : mark.start()]))
        start = mark.end()
    rest = word[start:].removesuffix("'s").removesuffix("’s")
    return [*parts, (start, len(word), _APOSTROPHE.sub("", rest))]


def _stem(word: str, code: str) -> str:
    language = language_named(code)
    number = number_of_word(word, language)
    if number is not None:
        return str(number)
    return word if code == ENGLISH and word[-1] in _KEPT_ENDS else language.stem(word)


_JOINED_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})
_FOLDED_WORD = re.compile(r"[^\W_]+")
_POINTED_INITIALS = re.compile(r"\b(?:[^\W\d_]\.)+(?:[^\W\d_]\b\.?|(?<=\.[^\W\d_]\.))")
_POSSESSIVE = re.compile(r"['’]s?\b(?=\W|$)")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def fold(text: str) -> str:
    """Return the words of a text, casefolded, without accents and possessive endings, between spaces.

    >>> fold("The U.S. café's 2 owners")
    ' the us cafe 2 owners '
    """
    plain = text.casefold()
    if not plain.isascii():
        parted = unicodedata.normalize("NFKD", plain.translate(_JOINED_LETTERS))
        plain = "".join([sign for sign in parted if not unicodedata.combining(sign)])
    if "'" in plain or "’" in plain:
        plain = _POSSESSIVE.sub("", plain)
    if "." in plain:
        plain = _POINTED_INITIALS.sub(lambda match: match[0].replace(".", "") + " ", plain)
    return f" {' '.join(_FOLDED_WORD.findall(plain))} "


folded_words = once_per_text(fold)
"""`fold`, cached."""


def same_things(name: str) -> frozenset[str]:
    """Return the other forms of a name in ``data/same_names.txt``: peoples, initialisms, first names.

    >>> sorted(same_things("Bill"))
    ['bill', 'billy', 'will', 'william']
    """
    return _same_things().get(name.casefold(), frozenset())


@lru_cache(maxsize=1)
def _same_things() -> dict[str, frozenset[str]]:
    forms: dict[str, set[str]] = {}
    for line in (files("sgi") / "data" / "same_names.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            same = [form.replace("_", " ") for form in line.split()]
            for form in same:
                forms.setdefault(form, set()).update(same)
    return {form: frozenset(others) for form, others in forms.items()}
