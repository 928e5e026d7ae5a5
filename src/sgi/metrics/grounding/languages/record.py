"""The words and marks of a language that the detector needs to read its texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODULES = {
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}
"""The module of each language, by its code (ISO 639-1)."""

_STEMMER_LOCK = Lock()  # the stemmers of the library are not thread-safe


@dataclass(frozen=True, eq=False)
class Language:
    """A language other than English.

    All words are in small letters. Patterns are regular expressions without groups that have numbers.

    Attributes:
        code: the code of ISO 639-1, which is also that of the library sentencex.
        name: the English name, which is also that of the stemmer of snowballstemmer.
        function_words: words that claim nothing: articles, prepositions, pronouns, auxiliary verbs.
        elisions: short words that end with an apostrophe before the next word: "l", "qu".
        months: the names and short forms of each month.
        weekdays: the names of each weekday, Monday first.
        weak_months: names of months that are also other words; alone they need a preposition.
        day_link: pattern between a day and its month, and a month and its year.
        day_end: pattern behind the number of a day: "." in German.
        before_year: words before a year.
        century: pattern of a century with the group ``nth`` (digits or Roman numerals).
        decade: pattern of a decade with the group ``tens``.
        before_christ: pattern after a year before Christ.
        clock: pattern of a time of day with the groups ``hour`` and ``minute``.
        numbers: number words that are added, up to 900.
        joins: words inside a number: "und".
        hundred: words for 100 that multiply.
        scales: words that multiply, from 1000.
        four_twenties: whether 4 and 20 is 80: "quatre-vingts".
        compound: whether number words are written as one word.
        one: words for 1, which are also articles.
        ordinals: ordinal words.
        ordinal_end: pattern behind the digits of an ordinal.
        units: the canonical English unit of each spelling.
        unit_link: pattern between a scale and a unit or noun: "de".
        about: pattern of words before an approximate number.
        least: pattern before a lower bound.
        most: pattern before an upper bound.
        more: pattern after a lower bound.
        less: pattern after an upper bound.
        to: pattern between the ends of a range.
        between: words before the first end of a range with ``conjunction``.
        conjunction: word for "and".
        alternative: word for "or".
        out_of: pattern between a part and its whole.
        nouns_have_capitals: whether all nouns are capitalised, so that a capital is not a sign of a name.
        name_links: small words inside names.
        openers: words that begin a sentence, are capitalised there, and are not names.
        titles: words before the name of a person.
        not_names: capitalised words that are not names.
        subject_verbs: verbs after a name that begins a sentence: "is".
        places: names of places, where all nouns have capitals.
        place_prepositions: words before names of places, where all nouns have capitals.
        bare_nouns: nouns that also follow these prepositions without an article.
        additions: words after which another name does not contradict.
        contrast: words between a denial and a claim: "but".
        source: pattern of names of the passages: "text".
        denial: pattern of words that deny that the passages say something.
        telling: pattern of what a passage does: "mention".
        no_answer: pattern of a clause without a source that gives no answer: "is not mentioned".
        lead_in: pattern of words that name the passages: "according to the text".
    """

    code: str
    name: str
    function_words: frozenset[str]
    elisions: frozenset[str]
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    weak_months: frozenset[str]
    day_link: str
    day_end: str
    before_year: str
    century: str
    decade: str
    before_christ: str
    clock: str
    numbers: Mapping[str, int]
    joins: frozenset[str]
    hundred: frozenset[str]
    scales: Mapping[str, int]
    compound: bool
    one: frozenset[str]
    ordinals: Mapping[str, int]
    ordinal_end: str
    units: Mapping[str, str]
    unit_link: str
    about: str
    least: str
    most: str
    more: str
    less: str
    to: str
    between: str
    conjunction: str
    alternative: str
    out_of: str
    nouns_have_capitals: bool
    name_links: frozenset[str]
    openers: frozenset[str]
    titles: frozenset[str]
    not_names: frozenset[str]
    additions: str
    contrast: str
    source: str
    denial: str
    telling: str
    no_answer: str
    lead_in: str
    four_twenties: bool = False
    subject_verbs: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    place_prepositions: frozenset[str] = frozenset()
    bare_nouns: frozenset[str] = frozenset()

    @cached_property
    def month_numbers(self) -> dict[str, int]:
        """The number of each month, by its names and short forms."""
        return {name: number for number, names in enumerate(self.months, 1) for name in names.split()}

    @cached_property
    def weekday_numbers(self) -> dict[str, int]:
        """The number of each weekday from 0, by its names."""
        return {name: number for number, names in enumerate(self.weekdays) for name in names.split()}

    @cached_property
    def additions_pattern(self) -> re.Pattern[str]:
        """The compiled pattern ``additions``."""
        return re.compile(rf"\b(?:{self.additions})\b", re.IGNORECASE)

    @cached_property
    def _stemmer(self) -> Any:
        module = import_module(f"snowballstemmer.{self.name.lower()}_stemmer")
        return getattr(module, f"{self.name}Stemmer")()

    @cached_property
    def _stems(self) -> dict[str, str]:
        return {}

    def stem(self, word: str) -> str:
        """Return a word in small letters without its ending.

        Source: the stemmers of the library snowballstemmer (Porter, 2001).

        >>> language_named("de").stem("türme")
        'turm'
        """
        stem = self._stems.get(word)
        if stem is None:
            with _STEMMER_LOCK:
                stem = str(self._stemmer.stemWord(word))
            if len(self._stems) < _MAX_STEMS:
                self._stems[word] = stem
        return stem


_MAX_STEMS = 1 << 17


@lru_cache(maxsize=len(MODULES))
def language_named(code: str) -> Language:
    """Load the tables of a language by its code.

    >>> language_named("nl").name
    'Dutch'
    """
    module = import_module(f"sgi.metrics.grounding.languages.{MODULES[code]}")
    language: Language = module.LANGUAGE
    return language


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def table(text: str) -> dict[str, str]:
    """Read lines of the form "value: key key …", with underscores for spaces, as a map from key to value.

    >>> table("metre: Meter Metern")
    {'Meter': 'metre', 'Metern': 'metre'}
    """
    pairs = (line.split(":") for line in text.strip().splitlines())
    return {key.replace("_", " "): value.strip() for value, keys in pairs for key in keys.split()}


def numbered(words: str, numbers: Sequence[int]) -> dict[str, int]:
    """Return the numbers of words; a slash separates words with the same number.

    >>> numbered("ein/eins zwei", range(1, 3))
    {'ein': 1, 'eins': 1, 'zwei': 2}
    """
    return {
        word: number
        for spellings, number in zip(words.split(), numbers, strict=True)
        for word in spellings.split("/")
    }
