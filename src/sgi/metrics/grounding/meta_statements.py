"""Finds sentences that claim nothing, and statements about the passages, such as "Based on passage 2"."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts import merge_spans
from sgi.metrics.grounding.language_tables import ENGLISH, language_of
from sgi.metrics.grounding.words import word_set
from sgi.text.refusal_clauses import find_denials

if TYPE_CHECKING:
    from collections.abc import Iterable

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


_LONGEST = 300  # characters of such a sentence
_GREETING = (
    r"(?:hi|hello|hey|greetings|welcome|good (?:morning|afternoon|evening|day|night)|bye|goodbye)"
    r"(?: (?:there|everyone|all|again|back))?"
)
_THANKS = (
    r"(?:many |no )?(?:thanks|thank you|thankyou)(?: (?:so|very|a) (?:much|lot))?(?: again)?"
    r"(?: for (?:asking|your \w{1,20}|the question|sharing|that|letting me know))?"
    r"|you(?:'re| are) (?:very |most )?welcome|no problem|my pleasure|don't mention it"
)
_GOOD = (
    r"(?:right|true|correct|great|good|cool|nice|neat|awesome|interesting|funny|amazing|fine|impressive"
    r"|crazy|wonderful|fantastic|fascinating|sad|too bad"
    r"|(?:great|good|excellent) (?:question|choice|idea|point|one))"
)
_AGREEMENT = (
    r"(?:yes|yeah|yea|yep|yup|sure(?: thing)?|ok|okay|of course|certainly|absolutely|definitely|exactly"
    r"|indeed|wow|oh|ah|hmm|well|haha|lol|i (?:totally |completely |also |do )?agree"
    r"(?: with (?:you|that|this))?(?: on (?:this|that))?|i (?:see|know|understand)"
    r"|i (?:think|guess|believe) so(?: too)?|me too|got it"
    rf"|sounds {_GOOD}|{_GOOD}"
    rf"|(?:that|this|it)(?:'s| is| was| sounds) (?:all |so |very |really |pretty |quite |a |too )?{_GOOD})"
)
_CLOSING = (
    r"(?:please )?(?:feel free|let me know|do not hesitate|don't hesitate)\b[^.!?]{0,150}"
    r"|(?:i )?hope (?:this|that|it|these|you)\b[^.!?]{0,40}\b(?:helps?|useful|helpful|answers?|enjoy|day)\b"
    r"[^.!?]{0,40}"
    r"|if you (?:have|need|want|would like)\b[^.!?]{0,60}\b(?:questions?|help|assistance|information"
    r"|clarification|details|concerns?)\b[^.!?]{0,100}"
    r"|(?:i(?:'m| am)|we(?:'re| are)) (?:here|happy|glad|pleased) to (?:help|assist|answer)\b[^.!?]{0,60}"
    r"|(?:happy|glad|pleased) to (?:help|assist)\b[^.!?]{0,40}|have a (?:\w{1,12} )?"
    r"(?:day|evening|weekend|trip)|enjoy(?: your (?:meal|trip|day|stay))?"
)
_OFFER = (
    r"(?:would you like|do you want|shall i|should i|can i|may i|could i)\b[^?]{0,150}\?"
    r"|(?:how|what) (?:else )?(?:can|may|could) i (?:help|assist|do)\b[^?]{0,100}\?"
    r"|is there (?:anything|something) else\b[^?]{0,100}\?"
)
_ALONE = re.compile(
    rf"\W*(?:(?:{_AGREEMENT}|{_GREETING}|{_THANKS})[\s,!.;-]{{1,5}}){{0,3}}"
    rf"(?:{_AGREEMENT}|{_GREETING}|{_THANKS}|{_CLOSING}|{_OFFER})[\s!.,:;)-]*",
    re.IGNORECASE,
)
_COLON_AT_END = re.compile(r":\s{0,9}(?:\d{1,3}[.)]|[-*•])?\s{0,9}$")  # the mark of the first item may follow
_LEAD_IN_STEMS = word_set(
    """
    accord addit addition advantag answer approach base basic benefit brief can caus common consider
    consid context cover
    describ descript detail differ disadvantag discuss effect exampl explain explan fact factor
    feature follow general give given guid guidelin here includ inform instruct key list main major
    mention method note option order other overview passag point possibl process procedur provid question
    reason recommend see sever side simpl some sourc specif start state step sum summar summari text tip
    type variou way
    """
)


def is_small_talk(sentence: str) -> bool:
    """Return whether a sentence is a greeting, thanks, an agreement, an offer or a closing.

    >>> [is_small_talk(text) for text in ("Sure! I hope this helps.", "It hopes to help.")]
    [True, False]
    """
    return len(sentence) <= _LONGEST and _ALONE.fullmatch(sentence) is not None


def is_lead_in(sentence: str, content: Iterable[str], question: frozenset[str]) -> bool:
    """Return whether a sentence only leads in to a list.

    It ends with a colon, and has only content words of the question or words like "steps" and "following".

    Args:
        sentence: the sentence.
        content: its content words, as stems.
        question: the stems of the question.

    >>> is_lead_in("The steps to boil an egg are:", ["step", "boil", "egg"], frozenset({"boil", "egg"}))
    True
    """
    return _COLON_AT_END.search(sentence) is not None and all(
        stem in question or stem in _LEAD_IN_STEMS or stem.isdigit() for stem in content
    )
