"""Chooses the language in which a row is read, from its response and its passages."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.language_tables import CODES, ENGLISH, AnalysedText, language_named, once_per_text
from sgi.metrics.grounding.words import split_words, word_parts
from sgi.text.language import LANGUAGE_NAMES, has_other_letters, language_name, most_probable_language

if TYPE_CHECKING:
    from collections.abc import Sequence

_OTHERS = CODES[1:]

_PROSE = 0.3  # share of function words in prose of a language
_CLOSE = 0.2  # share of function words of a closely related language
_SAMPLE = 2_000  # characters


class RowLanguage(NamedTuple):
    """The language of a row, or the reason why the row cannot be read."""

    code: str
    reason: str


class PassageLanguages:
    """The languages of passages, computed once for all responses."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def forget(self) -> None:
        """Drop what was computed."""
        for name in ("all_foreign", "_joined", "_sizes"):
            self.__dict__.pop(name, None)

    @cached_property
    def all_foreign(self) -> bool:
        """Whether no passage is English; those in doubt are judged together."""
        # Asked first, because function words need no language model.
        if any(_english_or_unknown(text) == ENGLISH and not is_foreign(text) for text in self.texts):
            return False
        if all(map(is_foreign, self.texts)):
            return True
        if any(_english_or_unknown(text) == ENGLISH for text in self.texts):
            return False
        return _is_foreign_together(self._joined)

    def sizes(self, spoken: str) -> Counter[str]:
        """Return the number of characters in each language; "" for passages too short to tell.

        Passages that are all too short are read as English if a response in another language was ``spoken``
        and they have more English words than words of that.
        """
        if set(self._sizes) == {""} and spoken in _OTHERS and _is_english(self._joined, spoken):
            return Counter({ENGLISH: len(self._joined)})
        return self._sizes

    def name(self, code: str) -> str:
        """Return the name of a language of the passages, by the longest passage in it."""
        texts = [text for text in self.texts if is_foreign(text) and _identify(text) == code]
        return _name(code, max(texts, key=len, default=self._joined))

    @cached_property
    def _sizes(self) -> Counter[str]:
        sizes: Counter[str] = Counter()
        for text in self.texts:
            sizes[_identify(text) if is_foreign(text) else _english_or_unknown(text)] += len(text)
        if set(sizes) == {""} and _is_foreign_together(self._joined):
            return Counter({_identify(self._joined): len(self._joined)})
        if len(sizes) > 1:
            del sizes[""]
        return sizes

    @cached_property
    def _joined(self) -> AnalysedText:
        return AnalysedText.of("\n".join(self.texts))


def choose_language(response: str, passages: Sequence[str] | PassageLanguages) -> RowLanguage:
    """Choose the language of a row.

    A row is English unless the response or all passages are clearly in another language (`is_foreign`). The
    passages decide if the response is too short to tell. There is no language if response and passages are in
    different languages, or in one that is not covered.

    >>> choose_language("Er ist rot.", ["Der Turm steht seit 1889 am Ufer der Seine und ist rot."]).code
    'de'
    >>> choose_language("Der Turm steht seit 1889 am Ufer der Seine.", ["It is the red one."]).reason
    'the response is in German, the passages in English; grounding needs one language'
    """
    spoken = _identify(response) if is_foreign(response) else ""
    known = passages if isinstance(passages, PassageLanguages) else PassageLanguages(passages)
    if not known.texts or (not spoken and not known.all_foreign):
        return RowLanguage(ENGLISH, "")
    written = known.sizes(spoken)
    if spoken:
        return _language_of_response(response, spoken, written, known)
    code = max(written, key=lambda one: written[one])
    if code not in CODES:
        return RowLanguage(ENGLISH, f"the passages are in {known.name(code)}; {_coverage()}")
    if _is_english(response, code):
        return _different(ENGLISH, code, known)
    return RowLanguage(code, "")


@once_per_text
def _is_foreign_together(text: str) -> bool:
    """Return whether passages in doubt are foreign: by `is_foreign`, or by their function words."""
    if is_foreign(text):
        return True
    code = most_probable_language(text)[0]
    return code in _OTHERS and _share(text, code) >= _PROSE and not _is_english(text, code)


def _language_of_response(
    response: str, spoken: str, written: Counter[str], passages: PassageLanguages
) -> RowLanguage:
    known = [code for code in written if code]
    if spoken in known or (not known and spoken in CODES):
        return RowLanguage(spoken, "") if spoken in CODES else _uncovered(spoken, response)
    # Short texts in close languages are confused: the passages decide.
    close = [code for code in known if code in _OTHERS and _share(response, code) >= _CLOSE]
    if close:
        return RowLanguage(max(close, key=lambda code: _share(response, code)), "")
    if spoken not in CODES:
        return _uncovered(spoken, response)
    return _different(spoken, max(written, key=lambda one: written[one]), passages)


def _uncovered(code: str, response: str) -> RowLanguage:
    return RowLanguage(ENGLISH, f"the response is in {_name(code, response)}; {_coverage()}")


def _different(spoken: str, written: str, passages: PassageLanguages) -> RowLanguage:
    return RowLanguage(
        ENGLISH,
        f"the response is in {LANGUAGE_NAMES[spoken]}, the passages in {passages.name(written)}; "
        "grounding needs one language",
    )


def _english_or_unknown(text: str) -> str:
    words = split_words(text)
    return ENGLISH if len(words) >= FEWEST_WORDS and 1 - words.content.mean() >= _PROSE else ""


def _is_english(text: str, code: str) -> bool:
    """Return whether a text has more English function words than function words of any other language."""
    words = split_words(text)
    english = float(1 - words.content.mean()) if len(words) else 0.0
    return english >= _PROSE and english > _share(text, code)


@once_per_text
def _identify(text: str) -> str:
    """Return the language of a text that is not English."""
    code = most_probable_language(text)[0]
    if code in _OTHERS:
        return code
    shares = {other: _share(text, other) for other in _OTHERS}
    best = max(shares, key=lambda other: shares[other])
    return best if shares[best] >= _PROSE else code


def _share(text: str, code: str) -> float:
    """Return the share of words that are function words of a language."""
    functional = language_named(code).function_words
    words = word_parts(text[:_SAMPLE], code)
    return sum(word in functional for word in words) / len(words) if words else 0.0


def _name(code: str, text: str) -> str:
    return LANGUAGE_NAMES[code] if code in CODES else language_name(code, text, at_least=_SURE)


def _coverage() -> str:
    return f"grounding covers {', '.join(LANGUAGE_NAMES[code] for code in CODES)}"


FEWEST_WORDS = 8
"""Number of words below which the language of a text is in doubt."""

_ENGLISH_SHARE = 0.3  # of function words; English prose has 0.3 to 0.6, a list of names 0
_SOME_SHARE, _FEWEST_SURE = 0.15, 3
_SURELY_ENGLISH = frozenset({"the", "and", "with", "that", "this", "you", "from", "by", "of", "to", "are"})
_SURE = 0.9


@once_per_text
def is_foreign(text: str) -> bool:
    """Return whether a text is not in English; False in doubtful cases, such as names, lists and code.

    A text is not in English if most of its letters are not Latin; or if it has at least eight words, few
    English function words, and another language has a probability above 0.9. A text with three different
    words that hardly another language has, such as "the" and "with", needs no model, which is slow to load.

    Source: the naive Bayes model of the library py3langid (Lui and Baldwin, 2012, ACL).

    >>> is_foreign("Ada Lovelace"), is_foreign("Der Turm steht seit 1889 am Ufer der Seine in Paris.")
    (False, True)
    """
    if not may_be_foreign(text):
        return False
    if has_other_letters(text):
        return True
    language, sure = most_probable_language(text)
    return bool(language != "en" and sure > _SURE)


def may_be_foreign(text: str) -> bool:
    """Return whether only a model can tell that a text is in English, or its letters are not Latin."""
    if has_other_letters(text):
        return True
    words = split_words(text)
    functional = 1 - words.content.mean() if len(words) else 1.0
    if len(words) < FEWEST_WORDS or functional >= _ENGLISH_SHARE:
        return False
    return functional < _SOME_SHARE or len(_SURELY_ENGLISH & words.vocabulary) < _FEWEST_SURE
