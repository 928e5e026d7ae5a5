"""The words of each language besides English that negate, or that limit a negation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.languages.of_text import tables_of

if TYPE_CHECKING:
    from sgi.metrics.grounding.languages.record import Language


class NegationWords(NamedTuple):
    """The words of a language that negate, or that limit a negation.

    Attributes:
        negates: words that negate the next content word.
        before: words that also make the polarity of the word before them unknown.
        nouns: words that negate without a word after them: "nothing".
        partly: words after a negation that limit it: "only".
        unasserted: words of clauses that assert nothing: "if".
        question: first words of questions without a question mark.
        ends_scope: words at which a negation ends: "but".
        intensifies: content words between a negation and its word: "very".
        inverts: stems that negate without "not": "prevent".
        adverb_end: the ending of adverbs, which are negated together with the next word.
        first: the first words of negations in two parts: "ne"; alone they do not negate.
        second: the second words of these negations: "pas".
        may_follow: whether a negation at the end of its clause negates the word before it.
    """

    negates: frozenset[str]
    before: frozenset[str]
    nouns: frozenset[str]
    partly: frozenset[str]
    unasserted: frozenset[str]
    question: frozenset[str]
    ends_scope: frozenset[str]
    intensifies: frozenset[str]
    inverts: frozenset[str]
    adverb_end: str
    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    may_follow: bool = False


def negation_words_of(text: str) -> NegationWords:
    """Return the words of the language of a text, which is not English."""
    language = tables_of(text)
    if language is None:
        raise ValueError("English negations are read by sgi.metrics.grounding.claim_checks")
    return _words_of(language)


@lru_cache(maxsize=8)
def _words_of(language: Language) -> NegationWords:
    none: frozenset[str] = frozenset()
    return NegationWords(
        negates=language.negations,
        before=none,
        nouns=none,
        partly=language.partly,
        unasserted=language.unasserted,
        question=none,
        ends_scope=language.scope_ends,
        intensifies=none,
        inverts=none,
        adverb_end=language.adverb_end,
        first=language.first_negations,
        second=language.second_negations,
        may_follow=language.free_negation,
    )
