"""Compiles the words of refusals in six languages."""

from __future__ import annotations

import re
from typing import NamedTuple

from sgi.metrics.refusal.more_words import ITALIAN, PORTUGUESE, SPANISH
from sgi.metrics.refusal.words import ENGLISH, FRENCH, GERMAN, Words

LANGUAGES = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "pt": PORTUGUESE,
}


class Patterns(NamedTuple):
    """The compiled patterns of one language; the names are those of `Words`.

    Attributes:
        subject: the start of a clause whose subject is a source.
        says_that: what a source says: "states that".
        boundary: what separates two clauses.
    """

    denial: re.Pattern[str]
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


def compile_words(words: Words) -> Patterns:
    """Compile the words of a language; ``boundary`` matches what separates two clauses."""
    parts = words._asdict()
    article = r"(?:the|these|this|all|die|der|das|les?|los|las|el|la|i|gli|os?|as)"
    parts["subject"] = rf"(?:{article}\s+|l')?(?:\w+\s+)?{words.source}"
    parts["says_that"] = rf"(?:{words.telling})\w*,?\s+(?:that\b|dass\b|que\b|qu'|che\b)"
    join = parts.pop("join")
    for name in ("contrast", "conditional"):
        parts[name] = rf"(?:{parts[name]})\b"
    boundary = (
        r"(?<![.!?…。！？;])[.!?…。！？;]+(?=\s|$|[\"'”»)])|:(?=\s)|(?<!\n)\n+|\s[-–—]\s"
        rf"|(?:,|(?<=[^\s,]))\s+(?={parts['contrast']})|,\s+(?=(?:{join})\b)"
    )
    return Patterns(
        **{name: re.compile(part, re.IGNORECASE) for name, part in (parts | {"boundary": boundary}).items()}
    )


PATTERNS = {language: compile_words(words) for language, words in LANGUAGES.items()}
"""The patterns by language code (ISO 639-1), English first."""
