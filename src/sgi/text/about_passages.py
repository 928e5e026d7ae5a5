"""What a response says of its passages and not of the world: "Based on passage 2", "not mentioned"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sgi.text.uncertainty import is_no_answer

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
    rf"|\b(?:unable|not\s+able|not\s+possible|impossible)\s+to\s+(?:answer|find|determine|provide)\b"
    rf"|\b(?:cannot|can't|could\s+not|couldn't)\s+(?:be\s+)?(?:answer|determin|find|found|provide)"
    rf"|\bno\s+(?:specific\s+|explicit\s+|relevant\s+|direct\s+)?(?:information|mention|answer)\b"
    rf"|\bnot\s+(?:explicitly\s+|specifically\s+|directly\s+)?"
    r"(?:mentioned|provided|stated|specified|given|addressed)\b",
    re.IGNORECASE,
)
_ANSWERING = re.compile(
    r"^\s*(?:the\s+)?(?:final\s+|short\s+)?answer(?:\s+is)?(?:\s+that\b|\s+as\s+follows)?\s*:"
    r"|\b(?:therefore,?\s+|so,?\s+|thus,?\s+)?(?:the\s+)?(?:final\s+|short\s+)?answer"
    r"\s+to\s+(?:the|your|this)\s+question"
    r"(?:\s+(?:is|would\s+be|\"[^\"\n]{0,200}\"|“[^”\n]{0,200}”)){0,2}\s*[,:]?"
    r"|\b(?:therefore,?\s+|so,?\s+)?(?:i|we)\s+(?:can|will|am\s+able\s+to)\s+(?:\w+ly\s+)?"
    r"(?:answer|provide|summari[sz]e)\b[^.!?\n]{0,60}?"
    r"(?:question|answer|steps|summary|information)(?:\s+(?:as\s+follows|below))?\s*[,:]?"
    r"|\bhere\s+(?:is|are)\s+(?:the|an?|some)\s+(?:answer|summary|steps?|information)\b[^.!?:\n]{0,60}:",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"^\s*(?:\(?\d{1,3}[.)]|[A-Za-z][.)]|[-*•·–])(?=\s)")
_KEPT = 8192


class Said(NamedTuple):
    """What a sentence says of the passages themselves."""

    spans: tuple[tuple[int, int], ...]
    """Where it names them, and the mark of a list, as start and end in characters."""
    silent: bool
    """Whether it says that something does not stand in them, or that it is not known."""


@lru_cache(maxsize=_KEPT)
def about_passages(sentence: str) -> Said:
    """Where a sentence speaks of the passages, and whether it says that they are silent. English only.

    Such words are no claim about the world, and are not looked for in the passages.

    >>> said = about_passages("Based on passage 2, it opened in 1889.")
    >>> said.spans, said.silent
    (((0, 19),), False)
    >>> [about_passages(text).silent for text in ("The height is not mentioned.", "I don't know.")]
    [True, True]
    """
    found = sorted(
        match.span()
        for pattern in (_LIST_MARK, _ANSWERING, _LEAD_IN, _NUMBERED, _SAYS)
        for match in pattern.finditer(sentence)
    )
    apart: list[tuple[int, int]] = []
    for start, end in found:
        if apart and start <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return Said(tuple(apart), _SILENT.search(sentence) is not None or is_no_answer(sentence))
