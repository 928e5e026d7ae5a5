"""Texts as lists of tokens, one function for each definition that a metric names."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"\w+")
_CONTENT_LENGTH = 3
# Scripts written without spaces between words, and the marks that join characters of one word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_JOINERS = r"\p{M}\u200C\u200D"


def rouge_tokens(text: str) -> list[str]:
    """Runs of the letters a–z and digits in the lower-cased text: the tokens of the ROUGE metrics.

    Everything else separates, also letters with accents; a text in another script has no tokens.

    Source: the tokens that the package rouge-score compares, without a stemmer.

    >>> rouge_tokens("Paris, the city-of-light: 2,102,650 Café")
    ['paris', 'the', 'city', 'of', 'light', '2', '102', '650', 'caf']
    """
    return _ROUGE_TOKEN.findall(text.lower())


def unicode_tokens(text: str) -> list[str]:
    """Tokens in any script: words where words are spaced, else characters.

    The text is brought to Unicode form NFKC and casefolded. A token is a run of letters, digits and their
    combining marks; in Chinese, Japanese, Thai, Lao, Khmer and Burmese script, which put no spaces between
    words, it is one letter with its marks. Punctuation, symbols and emoji separate.

    Source: Unicode Standard Annexes 15 (normalisation forms) and 24 (scripts).

    >>> unicode_tokens("東京は Ｔokyo, Straße 12!")
    ['東', '京', 'は', 'tokyo', 'strasse', '12']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _any_script().findall(folded)  # type: ignore[no-any-return]  # regex ships no types


def content_tokens(text: str) -> list[str]:
    r"""Casefolded words (``\w+``) of three characters or more that are not all digits.

    The length keeps most function words of English out; there is no list of stop words.

    >>> content_tokens("It is in the Capital: Paris, 1889.")
    ['the', 'capital', 'paris']
    """
    words = _WORD.findall(text.casefold())
    return [word for word in words if len(word) >= _CONTENT_LENGTH and not word.isdigit()]


def word_tokens(text: str) -> list[str]:
    r"""Casefolded words (``\w+``) of any length, numbers among them.

    >>> word_tokens("In 1889, L'Étoile opened.")
    ['in', '1889', 'l', 'étoile', 'opened']
    """
    return _WORD.findall(text.casefold())


def _any_script() -> Any:
    """One token of ``unicode_tokens``; Python's own patterns know neither scripts nor marks."""
    import regex  # type: ignore[import-untyped]  # ships no types

    spaced = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
    joined = rf"[[\p{{L}}\p{{N}}{_JOINERS}]--[[{_UNSPACED}]--\p{{M}}]]"
    return regex.compile(rf"{spaced}{joined}*|[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]][{_JOINERS}]*", regex.V1)
