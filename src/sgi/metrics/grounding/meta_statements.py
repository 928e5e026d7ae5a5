"""Finds statements about the passages, such as "Based on passage 2" or "not mentioned"."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from sgi.metrics.grounding.analysed_text import ENGLISH
from sgi.metrics.grounding.check import facts_of
from sgi.metrics.grounding.facts import merge_spans
from sgi.metrics.grounding.language_tables import language_of
from sgi.metrics.grounding.statements import LIST_MARK, statements_in
from sgi.text.refusals import is_no_answer

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
_SILENT = re.compile(
    rf"\b{_SOURCE}\b[^.!?\n]{{0,60}}(?:\b(?:not|no|cannot|without)\b|n[\'’]t\b)[^.!?\n]{{0,40}}"
    rf"\b(?:mention|provid|specif|contain|stat|"
    rf"includ|giv|inform|answer|discuss|say|explicit|clear|enough|detail|relat)"
    rf"|\b(?:none|neither)\s+of\s+(?:the|these|them)\b[^.!?\n]{{0,60}}"
    r"\b(?:mention|provid|specif|contain|stat|say|answer|explicit|discuss)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:unable|not\s+able|not\s+possible|impossible)\s+to\s+(?:answer|find|determine|provide)\b"
    r"|\b(?:cannot|can't|could\s+not|couldn't)\s+(?:be\s+)?(?:answer|determin|find|found|provide)"
    r"|\bno\s+(?:specific\s+|explicit\s+|relevant\s+|direct\s+)?(?:information|mention|answer)\b"
    r"|\bnot\s+(?:explicitly\s+|specifically\s+|directly\s+)?"
    r"(?:mentioned|provided|stated|specified|given|addressed)\b",
    re.IGNORECASE,
)
_ANSWERING = re.compile(
    r"^\W*(?:so,?\s+|therefore,?\s+)?(?:the\s+|my\s+)?(?:final\s+|short\s+|correct\s+|right\s+)?answer"
    r"(?:\s+(?:is|was|would\s+be)(?:\s+that\b|\s+as\s+follows)?\s*:?|\s*:)"
    r"|\b(?:therefore,?\s+|so,?\s+|thus,?\s+)?(?:the\s+)?(?:final\s+|short\s+)?answer"
    r"\s+to\s+(?:the|your|this)\s+question"
    r"(?:\s+(?:is|would\s+be|\"[^\"\n]{0,200}\"|“[^”\n]{0,200}”)){0,2}\s*[,:]?"
    r"|\b(?:therefore,?\s+|so,?\s+)?(?:i|we)\s+(?:can|will|am\s+able\s+to)\s+(?:\w+ly\s+)?"
    r"(?:answer|provide|summari[sz]e)\b[^.!?\n]{0,60}?"
    r"(?:question|answer|steps|summary|information)(?:\s+(?:as\s+follows|below))?\s*[,:]?"
    r"|\bhere\s+(?:is|are)\s+(?:the|an?|some)\s+(?:answer|summary|steps?|information)\b[^.!?:\n]{0,60}:",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"(?:\b(?:this|these|that|which|it)\s+)?(?:information\s+|facts?\s+)?"
    r"\b(?:is|are|was|were|can\s+be)\s+(?:also\s+)?"
    r"(?:described|stated|mentioned|found|explained|provided|discussed|noted|listed|given)"
    rf"\s+in\s+(?:the\s+|both\s+|all\s+)?(?:{_GIVEN}\s+)?{_SOURCE}{_NUMBERS}?",
    re.IGNORECASE,
)
# What is denied in one clause may be claimed in the next.
_CLAUSE_END = re.compile(
    r";|,?\s(?=(?:but|however|although|though|yet)\b)|,\s(?=(?:and|so|because|when|while)\b)", re.IGNORECASE
)
# Without one of these words no other pattern can match. They are searched in small letters, which is faster.
_DENYING = re.compile(
    r"\b(?:no|not|cannot|without|none|neither|unable|impossible|insufficient|unknown|null|n/a)\b|n['’]t\b"
)
_NAMING = re.compile(
    r"passage|context|text|document|source|article|excerpt|information|result|answer|question|steps|summar|here"
)
_SAME_LETTERS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")  # also for re.IGNORECASE
_NAMED = (_ANSWERING, _DESCRIBED, _LEAD_IN, _NUMBERED, _SAYS)


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
    if language.code != ENGLISH:
        spans, silent = statements_in(sentence, language)
        return MetaStatements(tuple(merge_spans(spans)), silent)
    small = (sentence if sentence.isascii() else sentence.translate(_SAME_LETTERS)).lower()
    clauses = _clauses(sentence) if _DENYING.search(small) else []
    silent_clauses = [(start, end) for start, end in clauses if _is_silent(sentence[start:end])]
    patterns = (LIST_MARK, *(_NAMED if _NAMING.search(small) else ()))
    name_spans = [match.span() for pattern in patterns for match in pattern.finditer(sentence)]
    return MetaStatements(
        tuple(merge_spans([*silent_clauses, *name_spans])),
        bool(clauses) and len(silent_clauses) == len(clauses),
    )


def _clauses(sentence: str) -> list[tuple[int, int]]:
    ends = [(0, 0), *(match.span() for match in _CLAUSE_END.finditer(sentence)), (len(sentence), 0)]
    between = ((start, end) for (_, start), (end, _) in pairwise(ends))
    return [(start, end) for start, end in between if sentence[start:end].strip()]


def _is_silent(clause: str) -> bool:
    """Return whether a clause says that something is not stated; if it names no source, it has no fact."""
    if _SILENT.search(clause) or is_no_answer(clause):
        return True
    return _DENIED.search(clause) is not None and not facts_of(clause)
