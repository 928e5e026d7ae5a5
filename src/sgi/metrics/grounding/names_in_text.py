"""Extracts names (capitalised words, titles in quotation marks), and checks whether passages have them."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts import Name, merge_spans, overlaps
from sgi.metrics.grounding.language_tables import any_of, language_of, once_per_text
from sgi.metrics.grounding.value_support import Match
from sgi.metrics.grounding.words import fold, folded_words, same_things, word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.language_tables import Language

_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n•*▪▸►|>…。!?]|[-–—]\s|\d[.)])[\s\"'“”‘’(\[*_#-]*$")
_QUOTED = re.compile(r"[“\"«]([^\W\d_][^“”\"«»\n]{2,60}?)[,.!?]?[”\"»]")
_QUOTED_WORDS = 8
_HEADING_SHARE, _FEW, _LOUD_WORDS = 0.7, 8, 2  # "JOHN SMITH" is a name, three words in capitals are loud
_SHORT_WORD = 3  # "Jr."
_ENDS_LIKE_A_VERB = ("ly", "ing", "ed", "tion", "ness", "ment")
_AROUND = " .,;:!?\"'“”‘’()[]*_"
_RUN_WORD = re.compile(r"[^ \u00a0]+")


@lru_cache(maxsize=8)
def _runs(language: Language) -> re.Pattern[str]:
    """Compile a pattern of a run of capitalised words."""
    capitals = "".join(
        sign
        for sign in map(chr, range(0x80, sys.maxunicode >> 4))
        if sign.isupper() and len(sign.lower()) == 1
    )
    upper = f"[A-Z{re.escape(capitals)}]"
    short = r"(?:Dr|Mr|Mrs|Ms|St|Jr|Sr|Prof|Gen|Col|Sen|Rep|Gov|Lt|Capt|Rev|Hon|Mt|Ft|No)\."
    initials = rf"(?:{upper}\.)+(?:{upper}\b)?"
    word = rf"(?:{short}|{initials}|{upper}\w*(?:['’](?!s\b)\w+|&(?=\w)\w+|-(?=[\d]|{upper})\w+)*)"
    link = any_of(map(re.escape, language.name_links))
    return re.compile(
        rf"(?<![\w@\u0300-\u036f])(?={upper}){word}(?:[ \u00a0](?:(?:{link})[ ]){{0,2}}{word})*"
        r"(?:[ ]\d{1,2}(?![\w%°]|[.,:/–-]\d|[ ]?[%°]))?"
    )


def tells_names(text: str) -> bool:
    """Return whether capitals identify names in a text.

    False for text in small letters, in capitals, in title case, or in a script without case.

    >>> [tells_names(text) for text in ("He met Ada.", "he met ada.", "HE MET ADA.", "他见了艾达")]
    [True, False, False, False]
    """
    initials = [word[0] for word in text.split()]
    words = sum(map(str.isalpha, initials))
    capitals = sum(map(str.isupper, initials))
    small = sum(map(str.islower, initials))
    is_sentence = small > 1 and text.rstrip()[-1:] == "."
    if not capitals or (words >= _FEW and capitals > _HEADING_SHARE * (capitals + small) and not is_sentence):
        return any(map(str.isupper, text)) and not text.isupper() and words < _FEW
    return not (text.isupper() and words > _LOUD_WORDS)


@once_per_text
def names_of(text: str) -> tuple[Name, ...]:
    """Return the names of a text in order: runs of capitalised words, acronyms, and quoted titles.

    A word that only begins its sentence is not a name, unless the text capitalises it elsewhere. Months and
    weekdays are not names. In German, where all nouns have capitals, a name has two words. See `tells_names`.

    >>> text = 'However, J. K. Polk of the U.S. read "The Raven" in New York-based NASA labs.'
    >>> [name.text for name in names_of(text)]
    ['J. K. Polk of the U.S.', 'The Raven', 'New York', 'NASA']
    """
    if not tells_names(text):
        return ()
    language = language_of(text)
    titles = [name for match in _QUOTED.finditer(text) if (name := _title(text, match, language))]
    covered = merge_spans([match.span(1) for match in _QUOTED.finditer(text)])
    runs = [
        name
        for match in _runs(language).finditer(text)
        if not overlaps(*match.span(), covered) and (name := _name_of(text, match, language))
    ]
    return tuple(sorted([*titles, *runs], key=lambda name: name.start))


def _title(text: str, match: re.Match[str], language: Language) -> Name | None:
    """Return a quoted title: it has a capital besides the first one, or it is one word."""
    words = match[1].split()
    inside = [word for word in words[1:] if word.lower() not in language.function_words]
    is_title = words[0][0].isupper() and (len(words) == 1 or any(word[0].isupper() for word in inside))
    return _name(text, *match.span(1)) if is_title and len(words) <= _QUOTED_WORDS else None


def _name_of(text: str, match: re.Match[str], language: Language) -> Name | None:
    """Return the name in a run, without words that are capitalised for another reason."""
    start, end = match.span()
    if text[end - 1] == "." and "." not in match[0][:-1] and len(match[0]) > _SHORT_WORD:
        end -= 1
    before = text[max(0, start - 6) : start]
    follows_word = before[-1:] == " " and before[-2:-1].isalpha()  # as most runs do
    opens = not follows_word and _SENTENCE_START.search(before) is not None
    if opens and (text[end : end + 1] == ":" or text[end : end + 3] == "**:"):
        return None
    words = list(_RUN_WORD.finditer(text[start:end]))
    while words and _is_common(words[0][0], language, opening=opens):
        words.pop(0)
        opens = False
        while words and not (words[0][0][0].isupper() or words[0][0][0].isdigit()):
            words.pop(0)
    while (
        words
        and _is_common(words[-1][0], language, opening=False)
        and (len(words) == 1 or words[-1][0] != "I")
    ):
        words.pop()
    if opens and len(words) == 2 and words[1][0].isdigit():  # noqa: PLR2004 - "Wrote 32 books"
        words.pop()
    if not words or words[0][0][0].isdigit() or (language.nouns_have_capitals and len(words) == 1):
        return None
    first, last = start + words[0].start(), start + words[-1].end()
    elided = words[0][0].partition("'")[0]
    if elided.lower() in language.elisions:  # "L'Italie"
        first += len(elided) + 1
    if len(words) == 1 and opens and not _may_open(text, words[0][0]):
        return None
    name = _name(text, first, last)
    return name if name and not (language.titles | language.calendar_words).issuperset(name.words) else None


def _is_common(word: str, language: Language, *, opening: bool) -> bool:
    """Return whether a capitalised word at the edge of a run is not part of the name."""
    bare = word.rstrip(".").casefold().partition("'")[0].partition("’")[0]
    if word.isupper() and len(word) > 1:
        return bare in language.function_words and bare not in {"us", "who", "it"}
    if (bare in language.ordinals or bare in language.numbers) and not opening:
        return False  # "the First World War", "Formula One"
    if opening and bare not in language.titles and bare in language.openers:
        return True
    return bare in language.function_words or bare in language.calendar_words or bare in language.labels


def _may_open(text: str, word: str) -> bool:
    """Return whether a single word at the beginning of a sentence is a name."""
    if word[1:] != word[1:].lower() or any(sign.isdigit() for sign in word):
        return True  # "NASA", "McDonald"
    everywhere, inside = _words(text)
    if word.casefold() in everywhere:
        return False
    return word in inside or (text.strip(_AROUND) == word and not word.lower().endswith(_ENDS_LIKE_A_VERB))


@once_per_text
def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a text without punctuation, and those that do not begin a sentence."""
    words = text.split()
    bare = [word.strip(_AROUND) for word in words]
    inside = [
        word
        for earlier, word in zip(words, bare[1:], strict=False)
        if earlier[-1].islower() or earlier[-1] == ","
    ]
    return frozenset(bare), frozenset(inside)


def _name(text: str, start: int, end: int) -> Name | None:
    words = tuple(fold(text[start:end]).split())
    return Name(text[start:end], start, end, words) if words else None


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
    """Return whether a number is next to the word before it in the name: "Apollo 11", "2nd World War"."""
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
