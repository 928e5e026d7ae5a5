"""Splits a response into clauses, and finds those that do not answer."""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from sgi.text.refusals import DENIAL, SHORT_FORMS, SOURCE, is_no_answer, plain_apostrophes

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTE = re.compile(r'"[^"\n]{1,400}"|“[^”\n]{1,400}[”“]|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»')
_INSERTED = re.compile(  # "It does not, however, say": no new clause starts there
    r"(?<=\w) (?:jedoch|allerdings|echter|toutefois|cependant|pourtant|però|tuttavia|porém|contudo)"
    r"(?= (?:nichts?|kein\w*|niets?|geen|nergens|nooit|pas|rien|aucun\w*|la|il|lo|le)\b)"
    r"|, (?:however|though|toutefois|cependant|sin embargo|no obstante|però|tuttavia|porém|contudo"
    r"|no entanto),",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_EDGES = " \t\r\n\"'“”„«»*_`()[]{}<>#-–—,"
_SEARCHED = 600  # characters of a clause that patterns read; some need quadratic time
_DOCUMENTS = re.compile(
    r"\b(?:contexts?|passages?|texts?|documents?|sources?|articles?|excerpts?|materials|manuals?|handbooks?"
    r"|chunks?|snippets?|(?:in|of|by) them"
    r"|(?:the|these|those|this|your|my) (?:\w+ )?(?:data|information|records?|results?|reports?|knowledge"
    r" base))\b",
    re.IGNORECASE,
)
_SILENT_WORDS = ("silent", "unclear", "insufficient", "inadequate", "leave")
_QUANTIFIERS = frozenset({"no", "none", "neither", "nothing", "nowhere"})
_FAR, _NEAR = 80, 60  # characters between a source, a negation and a verb
_SUBORDINATE_WORDS = 3  # words of a clause; "however," and "that said," are none
_OUTSIDE = 2  # words around a quotation that make it a quotation, not a whole response in quotation marks


class Role(StrEnum):
    """The role of a clause in a response."""

    UNABLE = "unable"
    """The speaker does not know, or cannot answer."""
    SILENT = "silent"
    """The passages do not say."""
    POLICY = "policy"
    """The speaker will not help, or must not."""
    HEDGE = "hedge"
    """The speaker is not sure."""
    FILLER = "filler"
    """An apology, an offer, or a condition."""
    REDIRECT = "redirect"
    """A question back, or a person or page to ask; it refuses if the response has nothing else."""
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
    """The clauses of a response, and the language with most denials (clauses without an answer)."""

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
    plain = _plain(plain_apostrophes(text))
    small, bare = plain.lower(), plain.strip(_EDGES + ".!?")
    best = AnalysedResponse("", ())
    for language, patterns in refusal_patterns().items():
        if patterns.denial.search(small) or patterns.redirect.search(bare) or not best.clauses:
            clauses = _clauses(plain, patterns, english=language == "en")
            analysed = AnalysedResponse(language, clauses)
            if not best.clauses or len(analysed.denials) > len(best.denials):
                best = analysed
    return best if best.denials else best._replace(language="")


class Denials(NamedTuple):
    """The clauses of a sentence that do not answer.

    Attributes:
        spans: start and end of each, in characters.
        whole: whether the sentence has no other statement.
    """

    spans: tuple[tuple[int, int], ...]
    whole: bool


_NONE = Denials((), whole=False)


def find_denials(sentence: str, language: str = "en") -> Denials:
    """Find the clauses of a sentence that do not answer, with the patterns of one language.

    >>> find_denials("The passages do not say who built it; it is 9 m tall.")
    Denials(spans=((0, 36),), whole=False)
    >>> [find_denials(text).whole for text in ("Sorry, I don't know.", "I know no cheaper plan than Basic.")]
    [True, False]
    """
    patterns = refusal_patterns().get(language)
    if patterns is None:
        return _NONE
    if language == "en" and sentence.strip(_EDGES + ".!?").casefold() in SHORT_FORMS:
        return Denials(((0, len(sentence)),), whole=True)
    plain = plain_apostrophes(sentence)
    small = plain.lower()
    if not (patterns.denial.search(small) or patterns.redirect.search(plain.strip(_EDGES + ".!?"))):
        return _NONE
    clauses = _clauses(_plain(plain), patterns, english=language == "en")
    spans = tuple((clause.start, clause.end) for clause in clauses if clause.role in DENIALS)
    whole = bool(spans) and all(
        clause.role in DENIALS
        or (clause.role is Role.FILLER and not _DIGIT.search(sentence, clause.start, clause.end))
        for clause in clauses
    )
    return Denials(spans, whole)


def _plain(text: str) -> str:
    """Replace quotations and inserted conjunctions by characters that separate no clauses."""
    return _INSERTED.sub(lambda match: " " * len(match[0]), _without_quotations(text))


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
        asks = match is not None and "?" in match[0]
        for stripped, offset in _main_clauses(part, patterns):
            first = start + offset
            clause = _clause(stripped, first, patterns, english=english, asks=asks)
            if about_sources and clause.role is Role.CONTENT:
                clause = _follow_up(clause, stripped, patterns)
            about_sources = about_sources or clause.role is Role.SOURCE
            clauses.append(clause)
        start = match.end() if match else end
    return _with_redirects(clauses)


def _main_clauses(part: str, patterns: Patterns) -> Iterator[tuple[str, int]]:
    """Yield a clause and its offset; a subordinate clause before it ("while …, …") is yielded first."""
    bare = part.strip(_EDGES)
    if not bare:
        return
    offset = part.index(bare)
    end = bare.find(", ") if patterns.contrast.match(bare) else -1
    if end > 0 and len(_WORD.findall(bare[:end])) > _SUBORDINATE_WORDS:
        yield bare[:end], offset
        yield bare[end + 2 :], offset + end + 2
    else:
        yield bare, offset


def _with_redirects(clauses: list[Clause]) -> tuple[Clause, ...]:
    """Return the clauses without the role `Role.REDIRECT`: a redirect alone refuses."""
    alone = all(clause.role in (Role.REDIRECT, Role.FILLER) for clause in clauses)
    role = Role.UNABLE if alone else Role.FILLER
    return tuple(clause._replace(role=role) if clause.role is Role.REDIRECT else clause for clause in clauses)


def _clause(text: str, start: int, patterns: Patterns, *, english: bool, asks: bool) -> Clause:
    contrast = patterns.contrast.match(text)
    bare = text[contrast.end() :].strip(_EDGES) if contrast else text
    searched = bare[:_SEARCHED]
    if bare and patterns.redirect.search(searched):
        role = Role.REDIRECT
    else:
        empty = not bare or (asks and not patterns.fact.search(searched))
        role = Role.FILLER if empty else _role(searched, patterns, english=english)
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
    if not (patterns.denial.search(text.lower()) or (english and text.casefold() in SHORT_FORMS)):
        return None
    if patterns.fact.search(text) or (patterns.reported.search(text) and not patterns.subject.match(text)):
        return None
    speaks = patterns.speaker.search(text) and patterns.ability.search(text)
    if (speaks or patterns.assistant.search(text)) and patterns.service.search(text):
        return Role.POLICY
    if patterns.hedge.search(text):
        return Role.HEDGE
    if speaks or patterns.unable.search(text) or (english and is_no_answer(text)):
        return Role.UNABLE
    silent = (
        _tells_nothing(text, patterns, english=english)
        or patterns.absent.search(text)
        or patterns.unstated.search(text)
    )
    return Role.SILENT if silent else None


def _tells_nothing(text: str, patterns: Patterns, *, english: bool) -> bool:
    """Return whether a clause says that a source does not tell something."""
    lead_in = patterns.lead_in.match(text) if english else None
    bare = text[lead_in.end() :] if lead_in else text
    negation = patterns.negation.search(bare)
    if negation is None or not (patterns.source.search(bare) and patterns.telling.search(bare)):
        return False
    says = patterns.says_that.search(bare)
    stated = says is not None and says.start() < negation.start()
    return not stated and (not english or _in_order(bare, patterns))


def _in_order(text: str, patterns: Patterns) -> bool:
    """Return whether an English clause has a source, a negation and a verb in an order that denies.

    A source is before the negation ("the passages do not say"), or documents are after the verb ("nothing is
    said in the passages"). "They have no pool, said the article" has neither order.
    """
    for negation in patterns.negation.finditer(text):
        word = negation[0].casefold()
        verb = patterns.telling.search(text, negation.start(), negation.end() + _NEAR)
        before = text[max(0, negation.start() - _FAR) : negation.start()]
        if verb and (patterns.source.search(before) or _DOCUMENTS.search(text, verb.end())):
            return True
        if verb and word in _QUANTIFIERS and _DOCUMENTS.search(text, negation.end(), verb.start()):
            return True
        if _DOCUMENTS.search(before) and word.startswith(_SILENT_WORDS):
            return True
    return False


FILE = "refusal_words.toml"


class Patterns(NamedTuple):
    """The compiled patterns of one language; `FILE` describes them, except these.

    Attributes:
        denial: searched in small letters, since most texts have no denial and this is faster.
        negation: the alternatives of ``denial`` without the last.
        subject: the start of a clause whose subject is a source.
        says_that: what a source says: "states that".
        boundary: what separates two clauses.
    """

    denial: re.Pattern[str]
    negation: re.Pattern[str]
    source: re.Pattern[str]
    subject: re.Pattern[str]
    telling: re.Pattern[str]
    speaker: re.Pattern[str]
    ability: re.Pattern[str]
    unable: re.Pattern[str]
    unstated: re.Pattern[str]
    hedge: re.Pattern[str]
    assistant: re.Pattern[str]
    service: re.Pattern[str]
    filler: re.Pattern[str]
    contrast: re.Pattern[str]
    says_that: re.Pattern[str]
    boundary: re.Pattern[str]
    concluding: re.Pattern[str]
    conditional: re.Pattern[str]
    lead_in: re.Pattern[str]
    search: re.Pattern[str]
    follow_up: re.Pattern[str]
    absent: re.Pattern[str]
    reported: re.Pattern[str]
    fact: re.Pattern[str]
    redirect: re.Pattern[str]

    @classmethod
    def of(cls, words: dict[str, list[str]]) -> Patterns:
        """Compile the words of a language. Raises TypeError if an entry is missing or unknown."""
        joined = {name: "|".join(alternatives) for name, alternatives in words.items()}
        joined["negation"] = "|".join(words["denial"][:-1])
        parts = {
            name: part.replace("<source>", SOURCE).replace("<denial>", DENIAL)
            for name, part in joined.items()
        }
        article = r"(?:the|these|this|all|die|der|das|de|het|deze|les?|los|las|el|la|i|gli|os?|as)"
        parts["subject"] = rf"(?:{article}\s+|l')?(?:\w+\s+)?{parts['source']}"
        parts["says_that"] = rf"(?:{parts['telling']})\w*,?\s+(?:that\b|dass\b|dat\b|que\b|qu'|che\b)"
        join = parts.pop("join")
        for name in ("contrast", "conditional"):
            parts[name] = rf"(?:{parts[name]})\b"
        parts["boundary"] = (
            r"(?<![.!?…。！？;])[.!?…。！？;]+(?=\s|$|[\"'”»)])|:(?=\s)|(?<!\n)\n+|\s[-–—]\s"
            rf"|(?:,|(?<=[^\s,]))\s+(?={parts['contrast']})|,\s+(?=(?:{join})\b)"
        )
        # Each alternative begins so; to ask that first saves time.
        parts["redirect"] = rf"(?=^|\b)(?:{parts['redirect']})"
        compiled = {name: re.compile(part, re.IGNORECASE) for name, part in parts.items()}
        return cls(**compiled | {"denial": re.compile(rf"(?=\b|n't)(?:{parts['denial']})")})


@lru_cache(maxsize=1)
def refusal_patterns() -> dict[str, Patterns]:
    """Return the patterns by language code (ISO 639-1), English first."""
    table = tomllib.loads((files("sgi") / "data" / FILE).read_text(encoding="utf-8"))
    return {language: Patterns.of(words) for language, words in table.items()}
