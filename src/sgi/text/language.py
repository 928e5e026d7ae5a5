"""Identifies the language of a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

LANGUAGE_NAMES: Mapping[str, str] = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "ru": "Russian", "uk": "Ukrainian", "cs": "Czech", "sk": "Slovak",
    "sl": "Slovenian", "hr": "Croatian", "sr": "Serbian", "bg": "Bulgarian", "ro": "Romanian",
    "hu": "Hungarian", "fi": "Finnish", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "nb": "Norwegian",
    "nn": "Norwegian", "is": "Icelandic", "et": "Estonian", "lv": "Latvian", "lt": "Lithuanian",
    "el": "Greek",
    "tr": "Turkish", "ar": "Arabic", "fa": "Persian", "he": "Hebrew", "hi": "Hindi", "bn": "Bengali",
    "ur": "Urdu", "ta": "Tamil", "te": "Telugu", "th": "Thai", "vi": "Vietnamese", "id": "Indonesian",
    "ms": "Malay", "ja": "Japanese", "ko": "Korean", "zh": "Chinese", "ca": "Catalan", "gl": "Galician",
    "eu": "Basque", "ga": "Irish", "cy": "Welsh", "sw": "Swahili", "af": "Afrikaans", "la": "Latin",
}  # fmt: skip
"""English names of languages by their code (ISO 639-1)."""

_VARIETIES = {"wuu": "zh", "yue": "zh", "ary": "ar", "arz": "ar"}
"""Languages that ISO 639-3 lists as part of another one: Wu and Yue Chinese, Moroccan and Egyptian Arabic."""

_SAMPLE = 500  # characters
_LIKELY = 0.5
_UNLIKELY = 0.1
_LETTER = re.compile(r"[^\W\d_]")
_NOT_LATIN = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_WORD = re.compile(r"(?<!\S)[^\W\d_]")
_ENGLISH = re.compile(r"\b(?:the|is|are|was|of|and|to|for|you|this|that|with)\b")
_FEWEST = 3


def has_other_letters(text: str) -> bool:
    """Return whether most letters of a text are not Latin.

    >>> has_other_letters("Башня красная."), has_other_letters("Die Türme sind rot.")
    (True, False)
    """
    others = 0 if text.isascii() else len(_NOT_LATIN.findall(text))
    return others > 0 and 2 * others > len(_LETTER.findall(text))


def other_language(text: str, known: Collection[str]) -> str:
    """Return the name of a text's language if it is not a known one; "" if in doubt.

    A text is in another language if most of its letters are not Latin and no known language has such letters,
    or if the known languages together have a low probability. A text without a word in small letters is in
    doubt: it may be a name. ``known`` are codes (ISO 639-1); for the name, see `language_name`.

    Source: the naive Bayes model of the library py3langid (Lui and Baldwin, 2012, ACL).

    >>> [other_language(text, ("en", "de")) for text in ("Dat weet ik niet.", "Das ist rot.", "Ada Lovelace")]
    ['Dutch', '', '']
    """
    text = text[:_SAMPLE]
    not_latin = has_other_letters(text)
    english = "en" in known and len(_ENGLISH.findall(text)) >= _FEWEST
    if not not_latin and (english or not any(map(str.islower, _WORD.findall(text)))):
        return ""
    ranked = _identifier().rank(text)
    code, probability = ranked[0]
    if code in known:
        return ""
    rest = sum(share for one, share in ranked if one in known)
    sure = code in LANGUAGE_NAMES and probability >= _LIKELY and rest < _UNLIKELY
    return _name_among(ranked, code, _LIKELY) if not_latin or sure else ""


def language_name(code: str, text: str, *, at_least: float) -> str:
    """Return the English name of the language of a text that was identified as ``code``.

    It is "another language" if the name is not known, or if its probability is below ``at_least``. Varieties
    count as the language that they are part of: a few Chinese characters can look like Wu.

    >>> texts = {"wuu": "长城全长21196公里。", "bg": "Минск"}
    >>> [language_name(code, text, at_least=0.9) for code, text in texts.items()]
    ['Chinese', 'another language']
    """
    return _name_among(_identifier().rank(text) if _name(code) else (), code, at_least)


def _name_among(ranked: Iterable[tuple[str, float]], code: str, at_least: float) -> str:
    name = _name(code)
    probability = sum(share for one, share in ranked if _name(one) == name)
    return name if name and probability >= at_least else "another language"


def _name(code: str) -> str:
    return LANGUAGE_NAMES.get(_VARIETIES.get(code, code), "")


def most_probable_language(text: str) -> tuple[str, float]:
    """Return the code (ISO 639-1) of the most probable language of a text, and its probability.

    >>> most_probable_language("Der Turm steht seit 1889 am Ufer der Seine in Paris.")[0]
    'de'
    """
    code, probability = _identifier().classify(text)
    return str(code), float(probability)


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
