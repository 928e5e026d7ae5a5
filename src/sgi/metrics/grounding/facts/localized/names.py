"""Extracts names from texts of other languages than English."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts.fact import Name
from sgi.metrics.grounding.facts.name_tables import SURE_FIRST_NAMES
from sgi.metrics.grounding.facts.words import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.languages.record import Language

_WORD = re.compile(r"[^\W_]+(?:[.&](?=[^\W\d_])[^\W_]+|-[^\W_]+)*(?:['’][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n•*…>]|[-–—][ ])[\s\"'“”„«»‘’(\[*_#¿¡-]*$")
_QUOTED = re.compile(r"[“„\"«][ \u00a0]?([^\W\d_][^“”„\"«»\n]{2,60}?)[,.!?]?[ \u00a0]?[”“\"»]")
_QUOTED_WORDS = 8
_ROMAN = re.compile(r"[IVX]+e?")
_JOINED = frozenset({" ", "\u00a0"})
_LOOK_BACK = 6
_HEADING_SHARE, _MANY = 0.7, 8
_MOST_LINKS, _LONGEST_NUMBER, _TWO_BEFORE = 2, 4, 3
_APOSTROPHE = re.compile(r"['’]")
_UNIT_AFTER = re.compile(r"[ ]?[%°€$]|[.,:/-]\d")
_ADJECTIVE_ENDS = ("e", "er", "es", "en", "em")
_NOUN_ENDS = ("ung", "ungen", "heit", "keit", "schaft", "ion", "ionen", "tät", "ismus", "ern", "nis")


def names_in(text: str, language: Language) -> tuple[Name, ...]:
    """Return the names of a text in order: capitalised words, acronyms, and quoted titles.

    A single capitalised word at the start of a sentence is a name only if a verb follows or the text has it
    elsewhere too. Where all nouns are capitalised (German), a single word is a name only if it is an acronym
    or a known place, or follows a title or a preposition such as "nach"; two words together are a name.

    >>> from sgi.metrics.grounding.languages.record import language_named
    >>> [name.text for name in names_in("L'Italie et Victor Hugo à Paris.", language_named("fr"))]
    ['Italie', 'Victor Hugo', 'Paris']
    """
    if text.islower() or text.isupper() or _is_heading(text, language):
        return ()
    titles = list(_titles(text))
    ends = [(title.start, title.end) for title in titles]
    runs = [
        name
        for name in _runs(text, language)
        if not any(start < name.end and name.start < end for start, end in ends)
    ]
    return tuple(sorted([*titles, *runs], key=lambda name: name.start))


class _Token(NamedTuple):
    start: int
    end: int
    text: str


def _titles(text: str) -> Iterator[Name]:
    """Yield the titles in quotation marks: they begin with a capital and have one inside."""
    for match in _QUOTED.finditer(text):
        words = match[1].split()
        inside = [word for word in words[1:] if word[0].isupper()]
        if words[0][0].isupper() and len(words) <= _QUOTED_WORDS and (inside or len(words) == 1):
            yield _name(text, *match.span(1))


def _is_heading(text: str, language: Language) -> bool:
    """Return whether most words of a longer text are capitalised; German has many nouns."""
    words = [word for word in text.split() if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return not language.nouns_have_capitals and len(words) >= _MANY and capitals > _HEADING_SHARE * len(words)


def _tokens(text: str, language: Language) -> list[_Token]:
    """Return the words of a text; an elided article is a word of its own."""
    tokens = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while (mark := _APOSTROPHE.search(text, start, end)) and (
            text[start : mark.start()].lower() in language.elisions
        ):
            tokens.append(_Token(start, mark.start(), text[start : mark.start()]))
            start = mark.end()
        tokens.append(_Token(start, end, text[start:end]))
    return tokens


def _is_inside(text: str, tokens: Sequence[_Token], word: str) -> bool:
    """Return whether a word also occurs where no sentence begins."""
    return any(token.text == word and not _opens_sentence(text, token.start) for token in tokens)


def _opens_sentence(text: str, start: int) -> bool:
    return _SENTENCE_START.search(text[max(0, start - _LOOK_BACK) : start]) is not None


def _runs(text: str, language: Language) -> Iterator[Name]:
    """Yield the names in runs of capitalised words."""
    tokens = _tokens(text, language)
    place = 0
    while place < len(tokens):
        if not tokens[place].text[0].isupper() or _is_common(tokens[place], language):
            place += 1
            continue
        last = _end_of_run(text, tokens, place, language)
        first = place
        place = last + 1
        name = _name_of(text, tokens, first, last, language)
        if name is not None:
            yield name


def _is_common(token: _Token, language: Language) -> bool:
    """Return whether a capitalised word is never part of a name."""
    word = token.text.lower()
    if token.text.isupper() and len(word) > 1:
        return False
    return (
        word in language.function_words
        or word in language.openers
        or word in language.not_names
        or word in language.titles
        or word.rstrip(".") in language.month_numbers
        or word in language.weekday_numbers
        or word in language.units
    )


def _end_of_run(text: str, tokens: Sequence[_Token], place: int, language: Language) -> int:
    """Return the index of the last word of the name that begins at this word."""
    last = place
    at = place + 1
    while at < len(tokens):
        between = text[tokens[at - 1].end : tokens[at].start]
        token = tokens[at]
        is_initial = between == ". " and len(tokens[at - 1].text) == 1
        if between not in _JOINED and not is_initial and between not in {"'", "’"}:
            break
        if token.text[0].isupper() and not _is_common(token, language):
            last = at
        elif token.text.isdecimal() and at == last + 1 and len(token.text) <= _LONGEST_NUMBER:
            return at if not _UNIT_AFTER.match(text, token.end) else last
        elif token.text.lower() not in language.name_links or at - last > _MOST_LINKS:
            break
        at += 1
    return last


def _name_of(text: str, tokens: Sequence[_Token], first: int, last: int, language: Language) -> Name | None:
    opens = _opens_sentence(text, tokens[first].start)
    if (
        opens
        and last > first
        and _is_adjective(tokens[first], language)
        and tokens[first + 1].text[0].isupper()
    ):
        first, opens = first + 1, False
    words = sum(not token.text.isdecimal() for token in tokens[first : last + 1])
    if words == 1 and not _is_single_name(text, tokens, first, language, opens=opens):
        return None
    return _name(text, tokens[first].start, tokens[last].end)


def _is_adjective(token: _Token, language: Language) -> bool:
    """Return whether a German word at the start of a sentence may be an adjective before a noun."""
    word = token.text.lower()
    return language.nouns_have_capitals and word.endswith(_ADJECTIVE_ENDS) and word not in SURE_FIRST_NAMES


def _is_single_name(text: str, tokens: Sequence[_Token], at: int, language: Language, *, opens: bool) -> bool:
    """Return whether a single capitalised word is a name."""
    word = tokens[at].text
    if _ROMAN.fullmatch(word):
        return False
    adjacent = at > 0 and text[tokens[at - 1].end : tokens[at].start] in {" ", "\u00a0", ". "}
    before = tokens[at - 1].text.lower() if adjacent else ""
    if word[1:] != word[1:].lower() or any(map(str.isdigit, word)) or before in language.titles:
        return True
    if language.nouns_have_capitals:
        if before == language.conjunction and at > 1 and tokens[at - 2].text[0].isupper():
            before = (
                tokens[at - _TWO_BEFORE].text.lower() if at > _TWO_BEFORE - 1 else ""
            )  # "in Chur und Bern"
        return _is_place(word.lower(), before, language)
    follower = tokens[at + 1].text.lower() if at + 1 < len(tokens) else ""
    if not opens or (not follower and at == 0):
        return True
    return _is_inside(text, tokens, word) or (
        follower in language.subject_verbs and text[tokens[at].end : tokens[at + 1].start] == " "
    )


def _is_place(word: str, before: str, language: Language) -> bool:
    """Return whether a noun is a place, where all nouns have capitals; ``before`` is the word before it."""
    if word in language.places or word.removesuffix("s") in language.places:
        return True
    is_bare = word in language.bare_nouns or word.endswith(_NOUN_ENDS)
    return before in language.place_prepositions and not is_bare


def _name(text: str, start: int, end: int) -> Name:
    return Name(text[start:end], start, end, tuple(fold(text[start:end]).split()))
