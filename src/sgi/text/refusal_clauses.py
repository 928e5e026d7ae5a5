"""Splits a response into clauses, and finds those that do not answer."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from sgi.metrics.grounding.meta_statements import find_meta_statements
from sgi.metrics.refusal.patterns import Patterns, refusal_patterns
from sgi.text.refusals import SHORT_FORMS, is_no_answer

_SAME = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'"})
_QUOTE = re.compile(r'"[^"\n]{1,400}"|“[^”\n]{1,400}[”“]|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»')
_INSERTED = re.compile(  # "It does not, however, say": no new clause starts there
    r"(?<=\w) (?:jedoch|allerdings|toutefois|cependant|pourtant|però|tuttavia|porém|contudo)"
    r"(?= (?:nichts?|kein\w*|pas|rien|aucun\w*|la|il|lo|le)\b)"
    r"|, (?:however|though|toutefois|cependant|sin embargo|no obstante|però|tuttavia|porém|contudo"
    r"|no entanto),",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_EDGES = " \t\r\n\"'“”„«»*_`()[]{}<>#-–—,"
_SEARCHED = 600  # characters of a clause that patterns read; some need quadratic time
_OUTSIDE = 2  # words around a quotation that make it a quotation, not a whole response in quotation marks


class Role(StrEnum):
    """What a clause of a response does."""

    UNABLE = "unable"
    """The speaker does not know, or cannot answer."""
    SILENT = "silent"
    """The passages do not say."""
    POLICY = "policy"
    """The speaker will not help, or must not."""
    HEDGE = "hedge"
    """The speaker is not sure."""
    FILLER = "filler"
    """An apology, a request for more detail, or a condition."""
    SOURCE = "source"
    """A statement that names the passages."""
    CONTENT = "content"
    """Any other statement."""


DENIALS = frozenset({Role.UNABLE, Role.SILENT, Role.POLICY, Role.HEDGE})


class Clause(NamedTuple):
    """A clause of a response.

    Attributes:
        start: offset of its first character.
        end: offset after its last character.
        words: number of words.
        contrast: whether a conjunction such as "but" introduces it.
        concluding: whether it says "therefore".
    """

    start: int
    end: int
    role: Role
    words: int
    contrast: bool = False
    concluding: bool = False


class AnalysedResponse(NamedTuple):
    """The clauses of a response, in the language in which most of them deny; blank if none denies."""

    language: str
    clauses: tuple[Clause, ...]

    @property
    def denials(self) -> list[Clause]:
        """The clauses that do not answer."""
        return [clause for clause in self.clauses if clause.role in DENIALS]


@lru_cache(maxsize=4096)
def analyse_response(text: str) -> AnalysedResponse:
    """Split a response into clauses, in the language in which most of them deny, and give each its role.

    >>> analysed = analyse_response("Sorry, the passages do not give the date. It was built in Rome.")
    >>> analysed.language, [clause.role.value for clause in analysed.clauses]
    ('en', ['silent', 'content'])
    """
    plain = _without_quotations(text.translate(_SAME))
    plain = _INSERTED.sub(lambda match: " " * len(match[0]), plain)
    best = AnalysedResponse("", ())
    for language, patterns in refusal_patterns().items():
        if patterns.denial.search(plain) or not best.clauses:
            clauses = _clauses(plain, patterns, english=language == "en")
            analysed = AnalysedResponse(language, clauses)
            if not best.clauses or len(analysed.denials) > len(best.denials):
                best = analysed
    return best if best.denials else best._replace(language="")


def _without_quotations(text: str) -> str:
    """Replace quotations by spaces, unless they are the whole text."""
    outside = _QUOTE.sub(" ", text)
    if len(_WORD.findall(outside)) < _OUTSIDE:
        return text
    return _QUOTE.sub(lambda match: "_" * len(match[0]), text)


def _clauses(text: str, patterns: Patterns, *, english: bool) -> tuple[Clause, ...]:
    clauses: list[Clause] = []
    start = 0
    about_sources = False
    for match in [*patterns.boundary.finditer(text), None]:
        end = match.start() if match else len(text)
        part = text[start:end]
        stripped = part.strip(_EDGES)
        if stripped:
            first = start + part.index(stripped)
            asks = match is not None and "?" in match[0]
            clause = _clause(stripped, first, patterns, english=english, asks=asks)
            if about_sources and clause.role is Role.CONTENT:
                clause = _follow_up(clause, stripped, patterns)
            about_sources = about_sources or clause.role is Role.SOURCE
            clauses.append(clause)
        start = match.end() if match else end
    return tuple(clauses)


def _clause(text: str, start: int, patterns: Patterns, *, english: bool, asks: bool) -> Clause:
    contrast = patterns.contrast.match(text)
    bare = text[contrast.end() :].strip(_EDGES) if contrast else text
    searched = bare[:_SEARCHED]
    role = Role.FILLER if asks or not bare else _role(searched, patterns, english=english)
    return Clause(
        start,
        start + len(text),
        role,
        len(_WORD.findall(bare)),
        contrast is not None,
        patterns.concluding.search(searched) is not None,
    )


def _follow_up(clause: Clause, text: str, patterns: Patterns) -> Clause:
    """Return a clause as a denial if it says that the passages of an earlier clause do not say something."""
    contrast = patterns.contrast.match(text)
    bare = text[contrast.end() :].strip(_EDGES) if contrast else text
    silent = patterns.follow_up.search(bare[:_SEARCHED])
    return clause._replace(role=Role.SILENT) if silent else clause


def _role(text: str, patterns: Patterns, *, english: bool) -> Role:
    if patterns.conditional.match(text):
        return Role.FILLER
    if role := _denial(text, patterns, english=english):
        return role
    if patterns.filler.match(text) or patterns.assistant.match(text) or patterns.lead_in.fullmatch(text):
        return Role.FILLER
    if patterns.search.match(text):
        return Role.SOURCE
    states = patterns.lead_in.match(text) or patterns.says_that.search(text)
    return Role.SOURCE if patterns.subject.match(text) and not states else Role.CONTENT


def _denial(text: str, patterns: Patterns, *, english: bool) -> Role | None:
    """Return how a clause denies, or None."""
    if not (patterns.denial.search(text) or (english and text.casefold() in SHORT_FORMS)):
        return None
    if patterns.reported.search(text) and not patterns.subject.match(text):
        return None
    speaks = patterns.speaker.search(text) and patterns.ability.search(text)
    tells = patterns.source.search(text) and patterns.telling.search(text)
    if (speaks or patterns.assistant.search(text)) and patterns.service.search(text):
        return Role.POLICY
    if patterns.hedge.search(text):
        return Role.HEDGE
    if speaks or patterns.unable.search(text) or (english and is_no_answer(text)):
        return Role.UNABLE
    silent = (
        tells
        or patterns.absent.search(text)
        or patterns.unstated.search(text)
        or (english and find_meta_statements(text).silent)
    )
    return Role.SILENT if silent else None
