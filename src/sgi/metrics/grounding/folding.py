"""Words without case, accents and possessive endings, and names of the same thing."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

from sgi.metrics.grounding.analysed_text import once_per_text

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
