"""Finds statements about the passages in other languages than English, such as "laut Text"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sgi.metrics.grounding.language_tables import Language

LIST_MARK = re.compile(r"^\s*(?:\(?\d{1,3}[.)]|[A-Za-z][.)]|[-*•·–])(?=\s)")
"""The mark of a list item, in any language."""


class _Patterns(NamedTuple):
    silent: re.Pattern[str]
    lead_in: re.Pattern[str]
    clause_end: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(language: Language) -> _Patterns:
    near = r"[^.!?\n]{0,80}\b"
    says_nothing = rf"(?={near}(?:{language.denial})\b)(?={near}(?:{language.telling})\b)"
    patterns = (
        rf"\b(?:{language.source})\b{says_nothing}|{language.no_answer}",
        language.lead_in,
        rf";|,?\s(?=(?:{language.contrast})\b)",
    )
    return _Patterns(*(re.compile(pattern, re.IGNORECASE) for pattern in patterns))


def statements_in(sentence: str, language: Language) -> tuple[list[tuple[int, int]], bool]:
    """Return the spans of a sentence that are about the passages, and whether nothing else is in it.

    >>> from sgi.metrics.grounding.language_tables import language_named
    >>> statements_in("Der Text nennt das Jahr nicht, aber er ist rot.", language_named("de"))
    ([(0, 29)], False)
    """
    patterns = _patterns(language)
    ends = [match.span() for match in patterns.clause_end.finditer(sentence)]
    starts = [0, *(end for _, end in ends)]
    clauses = [
        (start, end)
        for start, end in zip(starts, [*(start for start, _ in ends), len(sentence)], strict=True)
        if sentence[start:end].strip()
    ]
    silent = [
        (start, end)
        for start, end in clauses
        if patterns.silent.search(patterns.lead_in.sub("", sentence[start:end]))
    ]
    names = [
        match.span() for pattern in (LIST_MARK, patterns.lead_in) for match in pattern.finditer(sentence)
    ]
    return [*silent, *names], bool(clauses) and len(silent) == len(clauses)
