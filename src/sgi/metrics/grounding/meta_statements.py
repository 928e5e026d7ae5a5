"""Finds statements about the passages, such as "Based on passage 2" or "not mentioned"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import ENGLISH
from sgi.metrics.grounding.facts import merge_spans
from sgi.metrics.grounding.language_tables import language_of
from sgi.text.refusal_clauses import find_denials

if TYPE_CHECKING:
    from sgi.metrics.grounding.language_tables import Language

_SOURCE = (
    r"(?:passages?|contexts?|texts?|documents?|sources?|articles?|excerpts?|information|search results?)"
)
_GIVEN = r"(?:given|provided|above|following|retrieved|available|supplied|presented)"
_NUMBERS = r"(?:\s*(?:#|no\.?\s*)?\d{1,3}(?:\s*(?:,|and|&|or|to|-)\s*(?:passages?\s*)?\d{1,3}){0,9})"
_LEAD_IN = re.compile(
    rf"\b(?:based\s+(?:solely\s+|only\s+)?(?:up)?on|according\s+to|as\s+(?:stated|mentioned|described|noted|per)(?:\s+(?:in|by))?"
    rf"|from|per|in|using)\s+(?:the\s+|these\s+|this\s+|all\s+)?(?:{_GIVEN}\s+)?{_SOURCE}{_NUMBERS}?"
    rf"(?:\s+(?:{_GIVEN}|you\s+gave))?\s*[,:]?",
    re.IGNORECASE,
)
_VERB = (
    r"(?:also\s+)?(?:states?|mentions?|says?|explains?|suggests?|provides?|notes?|indicates?|describes?|adds?"
    r"|shows?)(?:\s+that)?\b"
)
_NUMBERED = re.compile(
    rf"\(?\b(?:passages?|documents?|sources?|contexts?){_NUMBERS}\b\)?(?:\s+{_VERB})?", re.IGNORECASE
)
_SAYS = re.compile(rf"\b(?:the\s+|these\s+)?(?:{_GIVEN}\s+)?{_SOURCE}\s+{_VERB}", re.IGNORECASE)
_ANSWERING = re.compile(
    r"(?=^|\b|[,:!.])(?:(?:^\W*|[,:!.]\s+)(?:so,?\s+|therefore,?\s+)?(?:the\s+|my\s+)?(?:final\s+|short\s+|correct\s+|right\s+)?answer"
    r"(?:\s+(?:is|was|would\s+be)(?:\s+that\b|\s+as\s+follows)?\s*:?|\s*:)"
    r"|\b(?:therefore,?\s+|so,?\s+|thus,?\s+)?(?:the\s+)?(?:final\s+|short\s+)?answer"
    r"\s+to\s+(?:the|your|this)\s+question"
    r"(?:\s+(?:is|would\s+be|\"[^\"\n]{0,200}\"|“[^”\n]{0,200}”)){0,2}\s*[,:]?"
    r"|\b(?:therefore,?\s+|so,?\s+)?(?:i|we)\s+(?:can|will|am\s+able\s+to)\s+(?:\w+ly\s+)?"
    r"(?:answer|provide|summari[sz]e)\b[^.!?\n]{0,60}?"
    r"(?:question|answer|steps|summary|information)(?:\s+(?:as\s+follows|below))?\s*[,:]?"
    r"|\bhere\s+(?:is|are)\s+(?:the|an?|some)\s+(?:answer|summary|steps?|information)\b[^.!?:\n]{0,60}:)",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\b(?:(?:this|these|that|which|it)\s+)?(?:information\s+|facts?\s+)?"
    r"(?:is|are|was|were|can\s+be)\s+(?:also\s+)?"
    r"(?:described|stated|mentioned|found|explained|provided|discussed|noted|listed|given)"
    rf"\s+in\s+(?:the\s+|both\s+|all\s+)?(?:{_GIVEN}\s+)?{_SOURCE}{_NUMBERS}?",
    re.IGNORECASE,
)
# Without one of these words no other pattern can match. They are searched in small letters, which is faster.
_NAMING = re.compile(
    r"passage|context|text|document|source|article|excerpt|information|result|answer|question|steps|summar|here"
)
_SAME_LETTERS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")  # also for re.IGNORECASE
_NAMED = (_ANSWERING, _DESCRIBED, _LEAD_IN, _NUMBERED, _SAYS)


LIST_MARK = re.compile(r"^\s*(?:\(?\d{1,3}[.)]|[A-Za-z][.)]|[-*•·–])(?=\s)")
"""The mark of a list item, in any language."""


class MetaStatements(NamedTuple):
    """The parts of a sentence that are about the passages.

    Attributes:
        spans: start and end of each such part, and of a list mark, in characters.
        silent: whether the sentence only says that something is not in the passages, or not known.
    """

    spans: tuple[tuple[int, int], ...]
    silent: bool


def find_meta_statements(sentence: str) -> MetaStatements:
    """Find the parts of a sentence that are about the passages.

    >>> [find_meta_statements(text).silent for text in ("The height is not mentioned.", "I don't know.")]
    [True, True]
    >>> find_meta_statements("The passages do not say who built it; it is 9 m tall.")
    MetaStatements(spans=((0, 36),), silent=False)
    """
    language = language_of(sentence)
    denials = find_denials(str(sentence), language.code)
    if language.code != ENGLISH:
        named: tuple[re.Pattern[str], ...] = (_lead_in(language),)
    else:
        small = (sentence if sentence.isascii() else sentence.translate(_SAME_LETTERS)).lower()
        named = _NAMED if _NAMING.search(small) else ()
    mark = LIST_MARK.match(sentence)
    name_spans = [mark.span()] if mark else []
    name_spans += [match.span() for pattern in named for match in pattern.finditer(sentence)]
    return MetaStatements(tuple(merge_spans([*denials.spans, *name_spans])), denials.whole)


@lru_cache(maxsize=8)
def _lead_in(language: Language) -> re.Pattern[str]:
    return re.compile(language.lead_in, re.IGNORECASE)
