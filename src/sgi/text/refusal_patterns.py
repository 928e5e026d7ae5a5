"""Compiles the words of refusals in seven languages."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from sgi.text.refusals import DENIAL, SOURCE

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
