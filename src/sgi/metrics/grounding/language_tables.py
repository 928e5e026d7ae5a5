"""The words and patterns of a language that the detector needs to read its texts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from importlib import import_module
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sgi.metrics.grounding.facts import Unit, symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

ENGLISH = "en"
"""The code of English."""


class AnalysedText(str):
    """A text with its language, that caches the results of functions marked `once_per_text`.

    Attributes:
        language: the code of the language (ISO 639-1). A plain str is English.
    """

    __slots__ = ("language", "results")

    results: dict[object, Any]
    language: str

    @classmethod
    def of(cls, text: str, language: str = ENGLISH) -> Self:
        """Return the text as an `AnalysedText`, or the same object if it already is one."""
        if isinstance(text, cls):
            return text
        wrapped = cls(text)
        wrapped.results = {}
        wrapped.language = language
        return wrapped

    def in_language(self, code: str) -> AnalysedText:
        """Return the text as one of another language; the same object each time."""
        if code == self.language:
            return self
        if code not in self.results:
            self.results[code] = AnalysedText.of(str(self), code)
        found: AnalysedText = self.results[code]
        return found

    def part(self, start: int, end: int) -> AnalysedText:
        """Return a part of the text, in the same language; a slice is a plain str, which is English."""
        return AnalysedText.of(self[start:end], self.language)

    def remember(self, compute: Callable[[str], T], result: T) -> None:
        """Store a result of a function marked `once_per_text`, if it was computed for a larger text."""
        self.results[compute.__wrapped__] = result  # type: ignore[attr-defined]  # set by functools.wraps


def once_per_text(compute: Callable[[str], T]) -> Callable[[str], T]:
    """Decorate a function of a text so that an `AnalysedText` caches its result; a plain str does not.

    >>> @once_per_text
    ... def words(text: str) -> list[str]:
    ...     return text.split()
    >>> text = AnalysedText.of("It is red.")
    >>> words(text) is words(text), words("It is red.") is words("It is red.")
    (True, False)
    """

    @wraps(compute)
    def compute_once(text: str) -> T:
        if not isinstance(text, AnalysedText):
            return compute(text)
        if compute not in text.results:
            text.results[compute] = compute(text)
        result: T = text.results[compute]
        return result

    return compute_once


CODES = (ENGLISH, "de", "fr", "es", "it", "pt", "nl")
"""The codes (ISO 639-1) of the languages with a file of tables, ``data/languages/CODE.toml``."""

_STEMMER_LOCK = Lock()  # the stemmers of the library are not thread-safe
_MAX_STEMS = 1 << 17


@dataclass(frozen=True, eq=False, kw_only=True)
class Language:
    """A language with its tables. Words are in small letters; patterns have no numbered groups.

    Attributes:
        name: the English name, which snowballstemmer also uses for its stemmer.
        function_words: words that claim nothing: articles, prepositions, pronouns, auxiliary verbs.
        elisions: short words that end with an apostrophe before the next word: "l", "qu".
        months: the names and short forms of each month.
        weekdays: the names of each weekday.
        day_end, day_link: patterns behind the number of a day, and between a day and its month.
        century, decade: patterns with the groups ``nth`` and ``tens``.
        before_christ: pattern after a year before Christ.
        clock: pattern of a time of day with the groups ``hour`` and ``minute``, or "".
        numbers: number words that are added.
        joins: words inside a number: "and".
        hundred: words for 100 that multiply.
        scales: words that multiply, from 1000.
        compound: whether number words are written as one word.
        four_twenties: whether 4 and 20 is 80: "quatre-vingts".
        one: words for 1, which may also be articles.
        ordinals: ordinal words.
        ordinal_end: pattern behind the digits of an ordinal.
        units: the unit of each spelling; a spelling may have several.
        unit_link: pattern between a scale and a unit: "de".
        per: pattern between an amount and the unit of its rate: "per".
        out_of: pattern between a part and its whole: "3 out of 4".
        sums, differences: patterns of words in a sentence that adds or compares two values.
        labels: words before a number that only names a part of a text: "step 2".
        parts: words for a half, a third ...
        about, least, most: patterns before an approximate number, a lower and an upper bound.
        more, less: patterns after a lower and an upper bound.
        to: pattern between the ends of a range.
        between, conjunction: words around the ends of a range: "between", "and".
        alternative: word between two neighbouring numbers: "2 or 3 days".
        nouns_have_capitals: whether all nouns are capitalised, so that a capital is not a sign of a name.
        name_links: small words inside names.
        openers: words that begin a sentence, are capitalised there, and are not names.
        titles: words before the name of a person.
        negations: words that negate a clause.
        lead_in: pattern of words that name the passages: "according to the text".
        aside: pattern of words that deny, compare, sum up or set a condition: what a sentence mentions with
            them is not what it states of a row of a table.
    """

    code: str
    name: str
    function_words: frozenset[str]
    elisions: frozenset[str] = frozenset()
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    day_end: str
    day_link: str
    century: str
    decade: str
    before_christ: str
    clock: str = ""
    numbers: Mapping[str, int]
    joins: frozenset[str] = frozenset()
    hundred: frozenset[str] = frozenset()
    scales: Mapping[str, int]
    compound: bool = False
    four_twenties: bool = False
    one: frozenset[str]
    ordinals: Mapping[str, int]
    ordinal_end: str
    units: Mapping[str, tuple[Unit, ...]]
    unit_link: str = ""
    per: str
    out_of: str
    sums: str
    differences: str
    labels: frozenset[str]
    parts: Mapping[str, int]
    about: str
    least: str
    most: str
    more: str
    less: str
    to: str
    between: str
    conjunction: str
    alternative: str
    nouns_have_capitals: bool = False
    name_links: frozenset[str]
    openers: frozenset[str]
    titles: frozenset[str]
    negations: frozenset[str]
    lead_in: str = ""
    aside: str
    _stems: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, code: str) -> Self:
        """Read the tables of a language from its file."""
        text = (files("sgi") / "data" / "languages" / f"{code}.toml").read_text(encoding="utf-8")
        tables: dict[str, Any] = tomllib.loads(text)
        sets = {key: frozenset(value.split()) for key, value in tables.items() if "frozenset" in _TYPES[key]}
        counts = {key: _by_word(tables[key]) for key in ("numbers", "ordinals", "parts")}
        lists = {key: tuple(tables[key]) for key in ("months", "weekdays")}
        return cls(code=code, **{**tables, **sets, **counts, **lists, "units": _units(tables["units"])})

    @cached_property
    def month_numbers(self) -> dict[str, int]:
        """The number of each month, by its names and short forms."""
        return {name: number for number, names in enumerate(self.months, 1) for name in names.split()}

    @cached_property
    def calendar_words(self) -> frozenset[str]:
        """The names of months and weekdays."""
        return frozenset(" ".join((*self.months, *self.weekdays)).split())

    @cached_property
    def _stemmer(self) -> Any:
        module = import_module(f"snowballstemmer.{self.name.lower()}_stemmer")
        return getattr(module, f"{self.name}Stemmer")()

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


_TYPES = Language.__annotations__


def _by_word(table: Mapping[str, str]) -> dict[str, int]:
    return {word: int(number) for number, words in table.items() for word in words.split()}


def _units(words: Mapping[str, str]) -> dict[str, tuple[Unit, ...]]:
    by_name = {unit.name: unit for units in symbols().values() for unit in units}
    spellings = {spelling: [*units] for spelling, units in symbols().items()}
    for name, written in words.items():
        for spelling in written.split():
            spellings.setdefault(spelling.replace("_", " "), []).append(by_name[name])
    return {spelling: tuple(dict.fromkeys(units)) for spelling, units in spellings.items()}


def any_of(words: Iterable[str]) -> str:
    """Return a pattern of any of these words; the longest come first, because the first match counts.

    >>> any_of(["ten", "tenth"])
    'tenth|ten'
    """
    return "|".join(sorted(words, key=len, reverse=True))


def first_letters(words: Iterable[str]) -> str:
    """Return the first letters of words, for a class of characters in a pattern.

    A pattern of many words is searched several times faster if such a class comes before it.

    >>> first_letters(["ten", "tenth", "one"])
    'ot'
    """
    return "".join(sorted({word[0] for word in words}))


@lru_cache(maxsize=len(CODES))
def _aside(language: Language) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{language.aside})\b", re.IGNORECASE)


@lru_cache(maxsize=len(CODES))
def language_named(code: str) -> Language:
    """Load the tables of a language by its code.

    >>> language_named("nl").name
    'Dutch'
    """
    return Language.read(code)


def language_of(text: str) -> Language:
    """Return the tables of the language of a text; a plain str is English.

    >>> language_of(AnalysedText.of("Er ist rot.", "de")).name
    'German'
    """
    return language_named(text.language if isinstance(text, AnalysedText) else ENGLISH)


@once_per_text
def has_aside(text: str) -> bool:
    """Return whether a text has a word of `Language.aside`, cached for speed.

    >>> [has_aside(text) for text in ("Pro costs $49.", "Unlike Plus, Pro costs $49.")]
    [False, True]
    """
    return _aside(language_of(text)).search(text) is not None
