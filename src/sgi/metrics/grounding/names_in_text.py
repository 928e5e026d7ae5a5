"""Extracts names: runs of capitalised words, and titles in quotation marks."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts import Name, merge_spans, overlaps
from sgi.metrics.grounding.folding import fold
from sgi.metrics.grounding.language_tables import any_of, language_of

if TYPE_CHECKING:
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
    weekdays are no names. In German, where all nouns have capitals, a name has two words. See `tells_names`.

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
