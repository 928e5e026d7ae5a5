"""Extracts names: capitalised words, and titles in quotation marks."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import AnalysedText, once_per_text
from sgi.metrics.grounding.facts.dates import MONTH_WORDS, WEEKDAY_WORDS
from sgi.metrics.grounding.facts.fact import Name, merge_spans, overlaps
from sgi.metrics.grounding.facts.small_names import small_names
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, fold, word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENERS = word_set(
    """
    according accordingly actually add additional additionally afterwards alternatively answer apply
    ask avoid bake based basically bring call check choose clean click combine common consequently
    consider contact context cook cool cover create cut depending determine document drain due dr
    ensure enter essentially example examples final finally find fill firstly fold follow following
    furthermore generally good great hence hello hi hold http https include includes including
    indeed information initially interestingly item keep key lastly leave lets likewise look main
    make meanwhile mix moreover namely natural nevertheless no nonetheless note notably ok okay open
    order originally others otherwise overall part passage passages people place please possible
    pour preheat prepare press previously prior provided pull purchase push put question read
    regarding regardless remember remove repeat response return rinse rub run save secondly section
    select separate serve set similarly simply sorry source sources specifically sprinkle start step
    steps still stir stop store subsequently sure talk tap text thanks thirdly tip title turn type
    typically ultimately unable unfortunately various visit wait warning wash wear well wow write
    yeah yes oh ah speaking maybe perhaps summary conclusion today tomorrow yesterday currently recently men
    women children person man woman many several different new old high low average total number
    half both two three four five six seven eight nine ten zero hundred nearly
    almost roughly approximately yep yup yea yay nope nah hmm hm um uh wow ha haha aren isn wasn weren don
    doesn didn hasn haven hadn couldn wouldn shouldn won ain can cannot young adult adults teen teens despite
    besides unlike whereas concerning meantime
    """
)
_SHOUTED = word_set(
    """
    not and or but do don't never always must only all note no yes the a an is are if ok very
    important warning
    """
)
_ACRONYMS = word_set("us who it")
_REFUSAL = re.compile(
    r"(?:I|Unable|Sorry|Cannot|No|Not|Yes|There (?:is|was) no)\b.*[ '’][a-z]+"
    r"|The (?:passages?|text|context)s? .*\bnot\b"
)
_LIST_OF_NAMES = re.compile(r"(?:, [^\W\d_a-z]\w*)*,? and [A-Z]")
_TITLES = word_set(
    """
    dr mr mrs ms prof professor sir president king queen pope saint st captain general lord lady
    """
)
_NO_NAMES = MONTH_WORDS | WEEKDAY_WORDS | _TITLES
_NEVER_AT_EDGE = (
    (MONTH_WORDS - {"may", "march", "august", "jan"})
    | WEEKDAY_WORDS
    | word_set("passage passages step tip document documents excerpt paragraph context source")
)
_ENDS_LIKE_A_VERB = ("ly", "ing", "ed", "tion", "ness", "ment")
_AFTER_SUBJECT = re.compile(
    r"(?:['’]s)?[ ](?:is|was|has|had|did|became|won|wrote|died|born|played|directed"
    r"|starred|lies|plays|writes|taught|ruled|beat|met|sang|studied|founded|married|scored|invented|composed"
    r"|designed|painted|recorded|defeated|joined|visited)\b"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n•*▪▸►|>…。!?]|[-–—]\s|\d[.)])[\s\"'“”‘’(\[*_#-]*$")
_QUOTED = re.compile(r"[“\"«]([^\W\d_][^“”\"«»\n]{2,60}?)[,.!?]?[”\"»]")
_QUOTED_WORDS = 8
_WAR = re.compile(r"(?:First |Second )?World War(?: I\.?| One)?|(?:King|Queen|Pope|Emperor) \w+ I\.?")
_MEMBERS = re.compile(r"[A-Z][a-z]+s of (?:the )?[A-Z]")  # "Employees of the European Commission"
_HEADING_SHARE = 0.7
_FEW = 4
_NAME_WORDS = 2  # "JOHN SMITH" is a name, three words in capitals are loud
_SHORT_WORD = 3  # "Jr."
_AROUND = " .,;:!?\"'“”‘’()[]*_"
_RUN_WORD = re.compile(r"[^ \u00a0]+")
_EDGE = re.compile(r"[^\W_]")


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile patterns for a capital and for a run of capitalised words."""
    capitals = "".join(
        sign
        for sign in map(chr, range(0x80, sys.maxunicode >> 4))
        if sign.isupper() and len(sign.lower()) == 1
    )
    upper = f"[A-Z{re.escape(capitals)}]"
    short = r"(?:Dr|Mr|Mrs|Ms|St|Jr|Sr|Prof|Gen|Col|Sen|Rep|Gov|Lt|Capt|Rev|Hon|Mt|Ft|No)\."
    initials = rf"(?:{upper}\.)+(?:{upper}\b)?"
    word = rf"(?:{short}|{initials}|{upper}\w*(?:['’](?!s\b)\w+|&(?=\w)\w+|-(?=[\d]|{upper})\w+)*)"
    link = r"(?:of|de|la|le|van|von|der|den|du|del|di|da|bin|ibn|al|y|the|&)"
    run = re.compile(
        rf"{word}(?:[ \u00a0](?:{link}[ ]){{0,2}}{word}|[ ]\d{{1,4}}"
        r"(?!\d|[ ]?[-–][ ]?\d|[\w.,/:%°–-]\w|[%°]|[ ]*(?:%|°)))*"
    )
    return re.compile(rf"(?<![\w@]){upper}"), run


def _runs(text: str) -> Iterator[re.Match[str]]:
    """Return the runs of capitalised words."""
    capital, run = _patterns()
    done = 0
    for hit in capital.finditer(text):
        start = hit.start()
        if start < done:
            continue
        match = run.match(text, start)
        if match:
            done = match.end()
            yield match


def tells_names(text: str) -> bool:
    """Return whether capitals identify names in a text.

    False for text in small letters, in capitals, in title case, or in a script without case (Chinese, Arabic,
    Hindi …). In German every noun is capitalised, so too many names are found.

    >>> [tells_names(text) for text in ("He met Ada.", "he met ada.", "HE MET ADA.", "他见了艾达")]
    [True, False, False, False]
    """
    initials = [word[0] for word in text.split()]
    words = sum(map(str.isalpha, initials))
    capitals = sum(map(str.isupper, initials))
    small = sum(map(str.islower, initials))
    is_sentence = small > 1 and text.rstrip()[-1:] == "."
    if not capitals or (
        words >= 2 * _FEW and capitals > _HEADING_SHARE * (capitals + small) and not is_sentence
    ):
        has_capital_inside = any(map(str.isupper, text)) and not text.isupper()
        return has_capital_inside and words < 2 * _FEW
    return not (text.isupper() and words > _NAME_WORDS)


def names(text: str) -> tuple[Name, ...]:
    """Return the names of a text in order: runs of capitalised words, acronyms, and quoted titles.

    A word that only begins its sentence is not a name, unless the text capitalises it elsewhere or a verb
    after it marks a subject ("Paris is …"). Months and weekdays are dates. See `tells_names`.

    >>> text = 'However, President J. K. Polk of the U.S. read "The Raven" in New York-based NASA labs.'
    >>> [name.text for name in names(text)]
    ['President J. K. Polk of the U.S.', 'The Raven', 'New York', 'NASA']
    """
    text = AnalysedText.of(text)
    if not tells_names(text):
        return tuple(small_names(text)) if text.islower() or text.isupper() else ()
    titles = list(_titles(text))
    covered = merge_spans([(title.start, title.end) for title in titles] + _refusals(text))
    runs = [
        name
        for match in _runs(text)
        if not overlaps(*match.span(), covered)
        for name in _name_of(text, match)
    ]
    return tuple(sorted([*titles, *runs], key=lambda name: name.start))


def _titles(text: str) -> Iterator[Name]:
    for match in _QUOTED.finditer(text):
        title = match[1]
        if (
            title[0].isupper()
            and len(title.split()) <= _QUOTED_WORDS
            and not _is_refusal(title)
            and (name := _name(text, *match.span(1)))
        ):
            yield name


def _refusals(text: str) -> list[tuple[int, int]]:
    """Return the positions of quoted words that refuse; none of them is a name."""
    return [match.span(1) for match in _QUOTED.finditer(text) if _is_refusal(match[1])]


def _is_refusal(title: str) -> bool:
    """Return whether quoted words refuse or deny ("I don't know"): titles have capitals inside."""
    inside = [word for word in title.split()[1:] if word not in FUNCTION_WORDS]
    return bool(_REFUSAL.match(title)) and not any(word[0].isupper() for word in inside)


def _name_of(text: str, match: re.Match[str]) -> Iterator[Name]:
    """Yield the name in a run of capitalised words, without words that are capitalised for another reason."""
    start, end = match.span()
    if (
        text[end - 1] == "."
        and not match[0][-3:-1].isupper()
        and "." not in match[0][:-1]
        and len(match[0]) > _SHORT_WORD
    ):
        end -= 1
    before = text[max(0, start - 6) : start]
    follows_word = before[-1:] == " " and before[-2:-1].isalpha()  # as most runs do
    starts_sentence = not follows_word and _SENTENCE_START.search(before) is not None
    heads_line = text[end : end + 1] == ":" or text[end : end + 3] == "**:"
    if starts_sentence and heads_line:
        return
    words = list(_RUN_WORD.finditer(text[start:end]))
    members = starts_sentence and _MEMBERS.match(text, start) is not None
    starts_sentence = _trim(words, opening=starts_sentence, members=members)
    if not words or words[0][0][0].isdigit():
        return
    first, last = start + words[0].start(), start + words[-1].end()
    if len(words) == 1 and starts_sentence and not _may_open(text, words[0][0], last):
        return
    name = _name(text, first, last)
    if name and not _NO_NAMES.issuperset(name.words):
        yield name


def _trim(words: list[re.Match[str]], *, opening: bool, members: bool) -> bool:
    """Remove words that are not part of a name from both ends; return whether it still opens a sentence."""
    while words and (members or _is_common(words[0][0], opening=opening)):
        if _WAR.fullmatch(" ".join([word[0] for word in words])):
            return opening
        words.pop(0)
        opening = members = False
        while words and not (words[0][0][0].isupper() or words[0][0][0].isdigit()):
            words.pop(0)
    while words and _is_common(words[-1][0], opening=False):
        if _WAR.fullmatch(" ".join([word[0] for word in words])):
            break
        words.pop()
    return opening


def _is_common(word: str, *, opening: bool) -> bool:
    """Return whether a capitalised word at the edge of a run is not part of the name."""
    bare = word.rstrip(".").casefold().partition("'")[0].partition("’")[0]
    if word.isupper() and len(word) > 1:
        return bare in _SHOUTED or (bare in FUNCTION_WORDS and bare not in _ACRONYMS)
    if opening and bare not in _TITLES and (bare in FUNCTION_WORDS or bare in _OPENERS):
        return True
    return bare in FUNCTION_WORDS or bare in _NEVER_AT_EDGE


def _may_open(text: str, word: str, end: int) -> bool:
    """Return whether a single word at the beginning of a sentence is a name."""
    if word[1:] != word[1:].lower() or any(sign.isdigit() for sign in word):
        return True  # "NASA", "McDonald", "iPhone 5"
    lowered = word.casefold()
    everywhere, inside = _words(text)
    if lowered in everywhere:
        return False
    if word in inside:
        return True
    if lowered.endswith(_ENDS_LIKE_A_VERB):
        return False
    if _LIST_OF_NAMES.match(text, end):
        return True
    alone = not _EDGE.search(text, end) and text[:end].strip(_AROUND) == word
    return alone or bool(_AFTER_SUBJECT.match(text, end))


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
