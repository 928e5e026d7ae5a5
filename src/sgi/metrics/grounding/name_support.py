"""Checks whether passages have a name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.folding import fold, folded_words, same_things, word_set
from sgi.metrics.grounding.language_tables import language_of
from sgi.metrics.grounding.value_support import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.facts import Name
    from sgi.metrics.grounding.language_tables import Language

_MIN_STEM = 4
_MIN_SIMILAR, _MIN_TWO_OFF = 5, 9  # letters of a word that may be spelt with one or two other letters
_MIN_LETTERS, _MAX_LETTERS = 2, 6  # of an initialism
_ROMAN = {
    numeral: str(number)
    for number, numeral in enumerate(
        "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split(),  # noqa: SIM905 - shorter
        start=1,
    )
}
_GENERIC = word_set(
    """
    act agency airport anti army association avenue award awards band bank bay beach board bridge
    building castle cathedral church city coast college commission committee company conference council
    county court cup department desert district eve event ex festival force forest foundation government
    group house institute island islands lake league mount mountain mountains museum navy neo non ocean
    office palace pan park party people port pre press prize program programme project province region
    republic river school sea season series service show society square stadium state states station
    street studios system team theater theatre tour tower town trophy union university valley village
    war world year
    """
)
"""Words of names that passages often leave out, or use in small letters."""


def name_support(name: Name, passages: Sequence[str], question: str = "") -> tuple[int | None, Match] | None:
    """Return the passage that has all words of a name, and where; None if no passage does.

    The last word of a name is enough if a passage has it without another first name. Order and small words
    do not matter. A word may have another ending ("Spanish", "Spain"), be an initialism, a short first name,
    or be spelt with one other letter.

    >>> from sgi.metrics.grounding.names_in_text import names_of
    >>> passage = "J. Smith of the World Health Organization met Anne-Marie Dupont."
    >>> [bool(name_support(name, [passage])) for name in names_of("The WHO met Marie Dupont and Ada Dupont.")]
    [True, True, False]
    """
    language = language_of(question)
    small = language.name_links | language.titles
    words = [_canonical(word, language) for word in name.words]
    needed = [word for word in words if word not in small and word not in _GENERIC]
    needed = words if all(map(str.isdigit, needed)) else needed
    for number, passage in enumerate(passages):
        if (found := _find(needed, name, passage, language)) is not None:
            return number, found
    if question and _find(needed, name, question, language) is not None:
        return None, Match("", 0, 0, "question")
    last = name.text.split()[-1]
    for number, passage in enumerate(passages if len(needed) > 1 and needed[-1] not in _GENERIC else ()):
        if f" {needed[-1]} " in _canonical_words(passage) and other_first_name(name, passage) is None:
            return number, _place(last, passage, "last name")
    return None


def other_first_name(name: Name, passage: str) -> Match | None:
    """Return a name with the same last word and another first name; None if a passage has that word alone.

    >>> from sgi.metrics.grounding.names_in_text import names_of
    >>> other_first_name(names_of("He met Steve Byron.")[0], "Ada Byron was there.").text
    'Ada Byron'
    """
    if len(name.words) == 1 or name.words[-1] in _GENERIC:
        return None
    last = re.escape(name.text.split()[-1])
    links = "|".join(sorted(map(re.escape, language_of(passage).name_links)))
    pattern = rf"(?:(?P<first>[^\W\d_][\w.'’-]*)[ ])?(?:\b(?:{links})[ ])*\b{last}\b"
    found = [*re.finditer(pattern, passage)]
    firsts, small = [match["first"] or "" for match in found], language_of(passage).function_words
    if not found or not all(
        first[:1].isupper() and first[1:2].islower() and first.lower() not in small for first in firsts
    ):
        return None
    return Match(found[0][0], *found[0].span(), "other name")


def _canonical(word: str, language: Language) -> str:
    """Return digits for Roman numerals and number words, and an initialism without its plural ending."""
    number = language.ordinals.get(word) or language.numbers.get(word)
    return str(number) if number else _ROMAN.get(word, word)


@once_per_text
def _canonical_words(text: str) -> str:
    language = language_of(text)
    return f" {' '.join([_canonical(word, language) for word in folded_words(text).split()])} "


def _find(needed: Sequence[str], name: Name, passage: str, language: Language) -> Match | None:
    folded = _canonical_words(passage)
    phrase = f" {' '.join([_canonical(word, language) for word in name.words])} "
    if phrase in folded:
        return _place(name.text, passage, "equal")
    joined = name.text.replace(" ", "").replace("-", "")
    for form in sorted({*same_things(phrase.strip()), fold(joined).strip()}):
        if f" {form} " in folded:
            return _place(form, passage, "same name")
    words = _vocabulary(folded)
    pairs = zip(needed, ["", *needed], strict=False)
    letters = "".join(word[0] for word in needed)
    if all(_has(word, before, words, folded, language) for word, before in pairs):
        return _place(name.text.split()[-1], passage, "same words")
    if len(letters) >= _MIN_LETTERS and f" {letters} " in folded:
        return _place(letters, passage, "initials")
    return None


def _has(word: str, before: str, words: frozenset[str], folded: str, language: Language) -> bool:
    """Return whether a passage has a word of a name, in the same or another form."""
    if word.isdigit():
        return _is_numbered(word, before, folded)
    if word in words or word.removesuffix("s") in words:
        return True
    if len(word) == 1:
        return any(other[0] == word for other in words)
    stem = language.stem(word)
    return (
        any(f" {form} " in folded for form in same_things(word))
        or (
            len(stem) >= _MIN_STEM
            and any(language.stem(other) == stem for other in words if other[:3] == word[:3])
        )
        or _spells(word, folded)
        or (
            len(word) >= _MIN_SIMILAR and any(_similar(word, other) for other in words if other[0] == word[0])
        )
    )


def _is_numbered(number: str, before: str, folded: str) -> bool:
    """Return whether a number stands next to the word before it in the name: "Apollo 11", "2nd World War"."""
    near = rf" {re.escape(before)}(?: the)? {number} | {number} (?:\w+ )?{re.escape(before)} "
    return re.search(near if before else f" {number} ", folded) is not None


def _spells(initials: str, folded: str) -> bool:
    """Return whether words in a row begin with these letters: "who" and "world health organization"."""
    if not _MIN_LETTERS < len(initials) <= _MAX_LETTERS or not initials.isalpha():
        return False
    pattern = r"\w* (?:(?:of|the|for|and|de|la|du|des|der|di|do|da) )*".join(map(re.escape, initials))
    return re.search(rf" {pattern}\w* ", folded) is not None


def _similar(word: str, other: str) -> bool:
    """Return whether two words differ by one letter, or long ones by two."""
    most = 2 if min(len(word), len(other)) >= _MIN_TWO_OFF else 1
    if abs(len(word) - len(other)) > most:
        return False
    start = next(
        (at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other))
    )
    word, other = word[start:], other[start:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) <= most or (most == 1 and word == other[::-1] and len(word) <= 2)  # noqa: PLR2004


@lru_cache(maxsize=1 << 10)
def _vocabulary(folded: str) -> frozenset[str]:
    return frozenset(folded.split())


def _place(written: str, passage: str, how: str) -> Match:
    """Return where a passage has some words, or a match without a place."""
    start = passage.casefold().find(written.casefold())
    if start < 0 or len(passage.casefold()) != len(passage):
        return Match("", 0, 0, how)
    return Match(passage[start : start + len(written)], start, start + len(written), how)
