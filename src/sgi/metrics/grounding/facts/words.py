"""Function words, stems and word folding."""

from __future__ import annotations

import re
import unicodedata


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """
    a about above across after again against all almost along also although always am among an and
    another any are around as at away back be became because become been before began being below
    between both but by came can cannot could did do does doing done down during each eg either else
    enough etc even ever every few first for from further gave get gets give given go goes got had has
    have having he hence her here hers him himself his how however i ie if in instead into is it its
    itself just last later least less let like made make makes many may me might more most much must
    my near need neither never next no nor not now of off often on once one only onto or other
    others our out over own per quite rather same she should since so some such take takes than that
    the their them then there these they this those though through thus to together too took toward
    towards under until unto up upon us use used uses using usually very was we well went were what
    when where whether which while who whom whose why will with within without would yes yet you your
    """
)
"""English function words."""

_JOINED_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})
_FOLDED_WORD = re.compile(r"[^\W_]+")
_POINTED_INITIALS = re.compile(r"\b(?:[^\W\d_]\.)+(?:[^\W\d_]\b\.?|(?<=\.[^\W\d_]\.))")
_POSSESSIVE = re.compile(r"['’]s?\b(?=\W|$)")


def stem(word: str) -> str:
    """Remove the plural ending of a casefolded word, by simple rules.

    >>> stem("cities"), stem("boxes"), stem("glass"), stem("minutes")
    ('city', 'box', 'glass', 'minute')
    """
    if len(word) < 4 or word[-1] != "s" or word.endswith(("ss", "us", "is")):  # noqa: PLR2004 - "bus", "gas"
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1]


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


def content(words: list[str]) -> frozenset[str]:
    """Return the stems of the folded words that are neither function words nor numbers."""
    return frozenset([stem(word) for word in words if word not in FUNCTION_WORDS and not word.isdigit()])
