"""Finds sentences that claim nothing: greetings, thanks, offers, closings and lead-ins to a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.folding import word_set

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
