"""Detects responses that say that they cannot answer the question."""

from __future__ import annotations

import re

PHRASES = (
    "i don't know",
    "i do not know",
    "unknown",
    "not sure",
    "cannot determine",
    "no information",
    "insufficient data",
    "unable to answer",
    "cannot answer",
    "don't have enough information",
    "not available",
    "no data",
)
"""The phrases of document 002, section 11."""

SHORT_FORMS = ("unknown", "n/a", "none", "null")
"""Words that mean "no answer" in a text of fewer than 10 characters."""

_SHORT = 10

_SAME = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'"})
_INSIDE_A_WORD = re.compile(r"(?<=[^\W\d_])[`\u00b4\u2032\u201b](?=[^\W\d_])")
_CLAUSE = re.compile(r"[.!?;:,\n…。！？、，；：—–]+|\s-+\s|\b(?:but|however|though|although)\b")
_EDGE_SIGNS = " \t\r\f\v\"'“”«»*_`()[]{}<>#-"

SOURCE = (
    r"(?:contexts?|passages?|texts?|documents?|sources?|articles?|excerpts?|information|data|materials?"
    r"|knowledge|question|details?|answers?|records?)"
)
"""Names of what was given to answer from, as a pattern."""
_WE = r"(?:i|we)"
_BE = r"(?:is|are|was|were|remains?|be)"
_HOW = r"(?: (?:really|honestly|just|simply|currently|still|quite|entirely|completely|also))?"
_ABOUT = (
    r"(?: (?:what|who|whom|whose|when|where|which|why|how|if|whether|about|of|because|since|as|the answer"
    rf"|(?:from|in|given|based on|with|using) .*\b{SOURCE})\b.*| (?:that|this|it|either))?"
)
_GIVEN = (
    r"(?: (?:available|found|given|provided|present|here))?"
    r"(?: (?:about|on|regarding|for|to|that|in|from)\b.*)?"
)
_LAST = (
    r"(?: (?:at (?:this|the) (?:time|moment)|at present|to (?:me|us)"
    rf"|(?:from|in|within|based on) .*\b{SOURCE}\b.*))?"
)
_NO_INFORMATION = (
    rf"(?:there(?:'s| is| was| are){_HOW} |{_WE} (?:have|found|find|see) |the .*\b{SOURCE} \w+ )?"
    rf"(?:no information|no data|insufficient data)(?: {_BE})?{_GIVEN}"
)

_UNCERTAIN = re.compile(
    "|".join(
        [
            rf"{_WE}{_HOW} (?:don't|do not){_HOW} know{_ABOUT}",
            rf"(?:{_WE}(?:'m|'re| am| are)?{_HOW} )?not{_HOW} sure{_ABOUT}",
            rf"(?:{_WE} )?cannot{_HOW} (?:determine|answer)\b.*",
            rf"(?:{_WE}(?:'m|'re| am| are)?{_HOW} )?unable to answer\b.*",
            rf"(?:(?:{_WE}|the .*\b{SOURCE}){_HOW} )?don't{_HOW} have enough information\b.*",
            rf"(?:(?:\S+ ){{1,8}}{_BE}{_HOW} )?(?:unknown|not available){_LAST}",
            _NO_INFORMATION,
        ]
    )
)
DENIAL = r"\b(?:not|no(?!-)|nothing|none|never|without|lacks?|missing|cannot|neither|nor|unable)\b|n't\b"
"""Negations, as a pattern."""

_TELLING = (
    rf"\b{SOURCE}\b|\b(?:say|said|state|mention|specif|provid|contain|give|indicat|includ|find|found"
    r"|tell|told|describe|discuss|address|cover|help|assist)"
)
_COURTESY = re.compile(
    r"(?:i'm |i am |we're |we are )?(?:so |very |really )?(?:sorry|afraid)|unfortunately|my apologies"
    r"|(?:i|we) apologi[sz]e|(?:the )?(?:final |short )?answer|thanks?(?: you)?"
    r"|(?:please|let me know|if you|if more|could you|can you|would you)\b.*"
    rf"|(?:based on|according to|from|given|in|with) .*\b{SOURCE}|as an? (?:ai|language model|assistant)\b.*"
)
_CONJUNCTION = re.compile(r"(?:and|so|or|because|since|as|that|then)\s+")


def plain_apostrophes(text: str) -> str:
    """Replace typographic apostrophes, and other signs for one inside a word, by ``'``; the length is kept.

    >>> plain_apostrophes("I don’t know, can`t, won´t, `x`")
    "I don't know, can't, won't, `x`"
    """
    return _INSIDE_A_WORD.sub("'", text.translate(_SAME))


def is_no_answer(text: str) -> bool:
    r"""Return whether an English text only says that it has no answer; False in doubtful cases.

    One clause must have one of `PHRASES` as predicate (not as in "the unknown soldier"), and all other
    clauses must only apologise or explain ("sorry", "the context does not say"). A text that is one of
    `SHORT_FORMS` also has no answer.

    Source: the phrases are those of document 002, section 11; the rule is our own.

    >>> [is_no_answer(text) for text in ("I don’t know. The context does not say.", "The unknown soldier")]
    [True, False]
    """
    plain = " ".join(plain_apostrophes(text.strip()).casefold().replace("\n", " ; ").split())
    plain = re.sub(r"\bcan(?:'t| not)\b", "cannot", plain)
    bare = plain.strip(_EDGE_SIGNS + ".!?")
    if len(bare) < _SHORT and bare in SHORT_FORMS:
        return True
    clauses = [stripped for clause in _CLAUSE.split(plain) if (stripped := clause.strip(_EDGE_SIGNS))]
    clauses = [
        _CONJUNCTION.sub("", clause, count=1) if _CONJUNCTION.match(clause) else clause for clause in clauses
    ]
    uncertain = [bool(_UNCERTAIN.fullmatch(clause)) for clause in clauses]
    return any(uncertain) and all(map(_adds_nothing, clauses, uncertain))


def _adds_nothing(clause: str, uncertain: bool) -> bool:
    denies = bool(re.search(DENIAL, clause) and re.search(_TELLING, clause))
    return uncertain or denies or bool(_COURTESY.fullmatch(clause))


def mentions_uncertainty(text: str) -> bool:
    """Return whether a text contains one of `PHRASES`, or one of `SHORT_FORMS` in under 10 characters.

    Source: document 002, section 11, which has only the apostrophe ``'``.

    >>> [mentions_uncertainty(text) for text in ("The Unknown Soldier", "I don’t know", "He knew")]
    [True, True, False]
    """
    plain = plain_apostrophes(text).lower().strip()
    short = len(plain) < _SHORT and any(word in plain for word in SHORT_FORMS)
    return short or any(phrase in plain for phrase in PHRASES)
