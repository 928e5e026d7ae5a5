"""Tokenizers that the metrics use.

Most return the tokens joined by spaces, so that `sgi.text.token_columns` can split many texts at once.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each byte that is not a token character becomes a space.
_ROUGE_SIGNS = bytes(
    sign if chr(sign) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for sign in range(256)
)
_PUNCTUATION = re.compile(r"([{-~\[-`!-&(-+:-@/])")
# The script's substitution consumes the sign before a mark, so every second of several marks in a row stays.
_MARKS_BEHIND = re.compile(r"([.,])(?<=[^0-9].)([.,]?)")
_MARKS_BEFORE = re.compile(r"([.,])([^0-9])")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_HYPHENS = re.compile(r"(-)(?<=[0-9].)")
_WORD = re.compile(r"\w+")
_CONTENT_WORD = re.compile(r"\w{3,}")
# Scripts written without spaces between words, and the marks that join characters of one word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_DENSE = rf"{_UNSPACED}\p{{Hangul}}"
_JOINERS = r"\p{M}\u200C\u200D"
_WORD_PARTS = rf"[[\p{{L}}\p{{N}}{_JOINERS}]--[[{_UNSPACED}]--\p{{M}}]]"
_ANY_WORD = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]{_WORD_PARTS}*|[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]][{_JOINERS}]*"


def rouge_words(text: str) -> str:
    """Return ROUGE tokens: runs of a–z and digits in the lower-cased text; other characters separate them.

    Source: the tokens that the package rouge-score compares, without a stemmer.

    >>> rouge_words("Paris, the city-of-light: 2,102,650 Café").split()
    ['paris', 'the', 'city', 'of', 'light', '2', '102', '650', 'caf']
    """
    return text.lower().encode("ascii", "replace").translate(_ROUGE_SIGNS).decode("ascii")


def mteval_words(text: str) -> str:
    """Return BLEU tokens, as WMT's scoring script ``mteval-v13a`` does; case is kept.

    ASCII punctuation separates words and is a token itself, except apostrophes, hyphens that do not follow a
    digit, and full stops and commas between digits. Four XML entities are decoded.

    Source: the tokenizer ``13a`` of the package sacrebleu, with equal results.

    >>> mteval_words("It's U.S. $3.50, state-of-the-art.").split()
    ["It's", 'U', '.', 'S', '.', '$', '3.50', ',', 'state-of-the-art', '.']
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, sign)
    # Splitting and joining is faster than a substitution with a callback.
    text = " ".join(_PUNCTUATION.split(f" {text} "))
    for marks in (_MARKS_BEHIND, _MARKS_BEFORE):
        pieces = marks.split(text)  # the text before a mark, the mark, the sign after it, and so on
        rests = map(add, pieces[2::3], pieces[3::3])
        text = " ".join([pieces[0], *chain.from_iterable(zip(pieces[1::3], rests, strict=True))])
    return " ".join(" ".join(_HYPHENS.split(text)).split())


def normalise_answer(text: str) -> str:
    r"""Return an answer in small letters, without ASCII punctuation, *a*, *an*, *the* and extra white space.

    Source: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    >>> normalise_answer("  The Eiffel\tTower, in a  U.S. city!")
    'eiffel tower in us city'
    """
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def unicode_words(text: str) -> str:
    """Return tokens of any script: words if the script separates them by spaces, otherwise characters.

    The text is normalised (NFKC) and casefolded. A token is a run of letters, digits and their combining
    marks; in Chinese, Japanese, Thai, Lao, Khmer and Burmese script, which put no spaces between words, it is
    one letter with its marks. Punctuation, symbols and emoji separate tokens.

    Source: Unicode Standard Annexes 15 (normalisation forms) and 24 (scripts).

    >>> unicode_words("東京は Ｔokyo, Straße 12!").split()
    ['東', '京', 'は', 'tokyo', 'strasse', '12']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_pattern(_ANY_WORD).findall(folded))


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each token of `unicode_words`, in the text as it is.

    >>> [*word_spans("Tokyo 東京")]
    [(0, 5), (6, 7), (7, 8)]
    """
    return (word.span() for word in _pattern(_ANY_WORD).finditer(text))


def content_words(text: str) -> str:
    r"""Return the casefolded words of three characters or more that are not all digits.

    A word is a run of letters, digits, underscores and combining marks, which Hindi has within words. Words
    of scripts with syllables or words in one character, such as Korean and Chinese, may be shorter.

    >>> content_words("It is in the Capital: Paris, 1889.").split(), content_words("यह कीमत, 京都")
    (['the', 'capital', 'paris'], 'कीमत 京都')
    """
    folded = text.casefold()
    if text.isascii() or not _pattern(rf"[\p{{M}}{_DENSE}]").search(folded):
        words = _CONTENT_WORD.findall(folded)
    else:
        word = rf"[\w\p{{M}}]{{3,}}|[\w\p{{M}}]*[{_DENSE}][\w\p{{M}}]*"
        words = _pattern(word).findall(unicodedata.normalize("NFC", folded))
    return " ".join([word for word in words if not word.isdigit()])


def unicode_content_words(text: str) -> str:
    """Return the words of `unicode_words` that are as long as `content_words` requires and not numbers.

    >>> unicode_content_words("東京 is in Japan, 1889.").split()
    ['東', '京', 'japan']
    """
    content = _pattern(rf"[\w\p{{M}}]{{3,}}|\w*[{_DENSE}]")
    return " ".join([w for w in unicode_words(text).split() if content.match(w) and not w.isdigit()])


def word_tokens(text: str) -> list[str]:
    r"""Return the casefolded words (``\w+``) of any length, including numbers, as a list.

    >>> word_tokens("In 1889, L'Étoile opened.")
    ['in', '1889', 'l', 'étoile', 'opened']
    """
    return _WORD.findall(text.casefold())


@cache
def _pattern(pattern: str) -> Any:
    """Compile a pattern with classes for scripts and marks, which the module re does not have."""
    import regex  # type: ignore[import-untyped]  # ships no types

    return regex.compile(pattern, regex.V1)
