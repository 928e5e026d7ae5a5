"""Identifies the language of a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

_SAMPLE = 500  # characters
_LIKELY = 0.5
_UNLIKELY = 0.1
_LETTER = re.compile(r"[^\W\d_]")
_NOT_LATIN = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_WORD = re.compile(r"(?<!\S)[^\W\d_]")
_ISO_639_1 = 2  # letters of a code; codes of three letters are creoles and dialects
_ENGLISH = re.compile(r"\b(?:the|is|are|was|of|and|to|for|you|this|that|with)\b")
_FEWEST = 3


def other_language(text: str, known: Collection[str]) -> str:
    """Return the code (ISO 639-1) of the language of a text that is not in a known one; "" if in doubt.

    A text is in another language if most of its letters are not Latin and no known language has such letters,
    or if the known languages together have a low probability. A text without a word in small letters is in
    doubt: it may be a name.

    Source: the naive Bayes model of the library py3langid (Lui and Baldwin, 2012, ACL).

    >>> [other_language(text, ("en", "de")) for text in ("Dat weet ik niet.", "Das ist rot.", "Ada Lovelace")]
    ['nl', '', '']
    """
    text = text[:_SAMPLE]
    others = 0 if text.isascii() else len(_NOT_LATIN.findall(text))
    not_latin = 2 * others > len(_LETTER.findall(text))
    english = "en" in known and len(_ENGLISH.findall(text)) >= _FEWEST
    if not not_latin and (english or not any(map(str.islower, _WORD.findall(text)))):
        return ""
    ranked = _identifier().rank(text)
    code, probability = ranked[0]
    if code in known or len(code) > _ISO_639_1:
        return ""
    if not_latin:
        return str(code)
    rest = sum(share for one, share in ranked if one in known)
    return str(code) if probability >= _LIKELY and rest < _UNLIKELY else ""


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
