"""Finds sentences that claim nothing: greetings, thanks, offers, closings and lead-ins to a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.words import word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_AGREEMENT = (
    r"(?:yes|yeah|yep|yup|sure(?: thing)?|ok|okay|of course|certainly|absolutely|definitely|right|exactly"
    r"|indeed|great|good|nice|cool|awesome|wow|oh|ah|hmm|well|haha|lol|i (?:totally |completely )?agree"
    r"|i see|i understand|got it|sounds (?:good|great)|(?:great|good|excellent) (?:question|choice|idea|point)"
    r"|that(?:'s| is| sounds) (?:so |very |really |a )?(?:right|true|correct|great|good|cool|nice|awesome"
    r"|interesting|funny|amazing|fine|(?:great|good) (?:question|choice|idea|point)))"
)
_CLOSING = (
    r"(?:please )?(?:feel free|let me know|do not hesitate|don't hesitate)\b[^.!?]{0,150}"
    r"|(?:i )?hope (?:this|that|it|these|you)\b[^.!?]{0,40}\b(?:helps?|useful|helpful|answers?|enjoy|day)\b"
    r"[^.!?]{0,40}"
    r"|if you (?:have|need|want|would like)\b[^.!?]{0,60}\b(?:questions?|help|assistance|information"
    r"|clarification|details|concerns?)\b[^.!?]{0,100}"
    r"|(?:i(?:'m| am)|we(?:'re| are)) (?:here|happy|glad|pleased) to (?:help|assist|answer)\b[^.!?]{0,60}"
    r"|(?:happy|glad|pleased) to (?:help|assist)\b[^.!?]{0,40}|have a (?:\w{1,12} )?(?:day|evening|weekend|trip)"
    r"|enjoy(?: your (?:meal|trip|day|stay))?"
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


def claims_nothing(sentence: str, content: Iterable[str], question: frozenset[str]) -> bool:
    """Return whether a sentence claims nothing about the world.

    It is a greeting, thanks, an agreement, an offer or a closing; or a lead-in to a list, which ends with a
    colon and has only content words of the question, or words like "steps" and "following".

    Args:
        sentence: the sentence.
        content: its content words, as stems.
        question: the stems of the question.

    >>> claims_nothing("Sure! I hope this helps.", ["sure", "hope", "help"], frozenset())
    True
    >>> claims_nothing("The steps to boil an egg are:", ["step", "boil", "egg"], frozenset({"boil", "egg"}))
    True
    >>> claims_nothing("It hopes to help.", ["hope", "help"], frozenset())
    False
    """
    text = sentence.strip()
    if len(text) > _LONGEST:
        return False
    if text.endswith(":"):
        return all(stem in question or stem in _LEAD_IN_STEMS for stem in content)
    return _ALONE.fullmatch(text) is not None
