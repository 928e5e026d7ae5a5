"""Detects texts that are not in English."""

from __future__ import annotations

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.words import split_words
from sgi.text.language import has_other_letters, most_probable_language

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
    if has_other_letters(text):
        return True
    words = split_words(text)
    functional = 1 - words.content.mean() if len(words) else 1.0
    if len(words) < FEWEST_WORDS or functional >= _ENGLISH_SHARE:
        return False
    if functional >= _SOME_SHARE and len(_SURELY_ENGLISH & words.vocabulary) >= _FEWEST_SURE:
        return False
    language, sure = most_probable_language(text)
    return bool(language != "en" and sure > _SURE)
