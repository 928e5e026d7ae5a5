"""The metric ``standalone_question``: whether the last question can be understood without the history."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.sample import QUESTION, TURNS
from sgi.metrics.grounding.row_language import is_foreign

if TYPE_CHECKING:
    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|hers?|they|them|theirs?|its?|this|these|those|ones?|there|both of them)\b"
    r"|\b(?:does|did|do|is|was|can|about|by|of|for|with|like|before|after) that\b",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\bit (?:is |was |be )?(?:possible|true|legal|safe|necessary|better|worth|normal|okay|ok|rains?"
    r"|raining|snows?)\b"
    r"|\b(?:is|was) it (?:possible|true|legal|safe|necessary|better|worth|normal|okay|ok|raining)\b"
    r"|\b(?:does|did|will|would) it (?:take|cost) to\b|\b(?:what time|what day) is it\b"
    r"|\b(?:is|are|was|were) there\b|\bthere (?:is|are|was|were)\b"
    r"|\bit (?:mean|happen)s? (?:when|that|if)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:and|but|so|or|also|then|what about|how about|since when|really|why not"
    r"|please summari[sz]e the above)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:the (?:other|others|former|latter|previous|above|(?:first|second|third|last) (?:one|point"
    r"|option|question))"
    r"|another one|which one|what else|who else|where else|any others?|you (?:said|mentioned|mean)"
    r"|did you mean|an example|in simpler words|tell me more)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"(?:why|how|when|where|who|what|which|how (?:many|much|long|far|old)|when exactly|in which \w+"
    r"|since when"
    r"|the same\b.*|any others?)",
    re.IGNORECASE,
)
_FUNCTION_WORD = re.compile(
    r"an?|the|of|in|on|at|to|from|for|with|by|about|as|into|than|and|or|but|so|then|also|not?|only|still|very|who"
    r"|what|when|where|why|how|which|whose|whom|is|are|was|were|been?|do|does|did|has|have|had|can|could|will"
    r"|would|should|may|might|must|i|you|we|me|my|your|our|needs?|name|tell|explain|please|give|say|if|because"
    r"|while|after|before|many|much|long|far|old|more|most"
    r"|he|she|it|they|them|him|hers?|his|its|their|this|that|these|those|there|ones?",
    re.IGNORECASE,
)
_LONGEST = 2000  # characters of a question that are read
_BLANK = "the question is blank"
_FOREIGN = "the question is not in English"


@closed
class StandaloneDetails(TypedDict, total=False):
    """Why the question needs the history.

    Attributes:
        needs: ``pronoun``, ``opening``, ``reference`` or ``fragment``; absent if it needs no history.
        phrase: the words that refer to the history.
        start: their offset in the question.
        end: the offset of their end.
    """

    needs: str
    phrase: str
    start: int
    end: int


def dependence(question: str) -> tuple[str, int, int] | None:
    """Return why an English question needs earlier messages, with the span of the words; None if it does not.

    >>> dependence("And how long is she?")
    ('opening', 0, 3)
    >>> dependence("When did Ada Lovelace publish her notes?") is None
    True
    """
    text = question.strip()[:_LONGEST]
    lead = len(question) - len(question.lstrip())
    bare = text.rstrip(" ?!.")
    for kind, match in (
        ("opening", _OPENING.match(bare)),
        ("fragment", _FRAGMENT.fullmatch(bare)),
        ("reference", _REFERENCE.search(bare)),
        ("pronoun", _pronoun(bare)),
    ):
        if match is not None:
            return kind, lead + match.start(), lead + match.end()
    return None


def _pronoun(text: str) -> re.Match[str] | None:
    """Return the first pronoun with nothing before it in the text that it can refer to."""
    expletives = [match.span() for match in _EXPLETIVE.finditer(text)]
    for match in _PRONOUN.finditer(text):
        if any(start <= match.start() < end for start, end in expletives):
            continue
        words = _WORD.findall(text[: match.start()])
        if not any(_is_noun(word, at) for at, word in enumerate(words)):
            return match
    return None


def _is_noun(word: str, position: int) -> bool:
    """Return whether a word before a pronoun can be what it refers to: a name, or a word like a noun."""
    if _FUNCTION_WORD.fullmatch(word):
        return False
    return (position > 0 and word[0].isupper()) or _NOUN.fullmatch(word) is not None


_NOUN = re.compile(
    r"\w+(?:s|tion|ment|ity|ness|er|or|ist|ism|ure|ance|ence|ship|ology)|(?:company|bank|army|cat|dog"
    r"|city|country"
    r"|book|film|man|woman|child|king|queen|school|team|tower|church|band|word)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StandaloneQuestion(Metric["Batch"]):
    """1 if the last question can be understood without the earlier messages, 0 if it needs them.

    A question needs the history if it begins with "and" or "what about", has no verb ("How many?"), refers
    back ("the second one", "what else"), or has a pronoun with nothing before it to refer to. The mean is the
    share of questions that your retriever can use without rewriting. Only English is scored.

    Limits: "Is the tower still open?" needs the history, and no word of it says so. Errors on
    held-out questions: see the documentation: "Conversations".

    References: our own; the task is that of CAsT (Dalton et al., 2020).

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = [Sample(id=text, question=text) for text in ("Who was his wife?", "Who was Newton?")]
    >>> StandaloneQuestion().score(Batch.of(rows), Features()).values.tolist()
    [0.0, 1.0]
    """

    spec: ClassVar = MetricSpec(
        "standalone_question",
        1,
        needs=QUESTION | TURNS,
        citation="our own, after Dalton et al. (2020)",
        guide=MetricHelp(
            Question.OTHER,
            "1: the last question can be understood alone. 0: it needs the earlier messages.",
            "A question that needs the messages is not wrong; your retriever may need it rewritten.",
        ),
        details=StandaloneDetails,
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return 1 or 0 for each question."""
        rows = map(_score, batch.question)
        return Scores.assemble(len(batch), ((np.array([at]), row) for at, row in enumerate(rows)))


def _score(question: str) -> Scores:
    if not question.strip() or is_foreign(question):
        return Scores.without_value(Status.UNDEFINED, [_FOREIGN if question.strip() else _BLANK])
    found = dependence(question)
    if found is None:
        return Scores.of(np.ones(1))
    kind, start, end = found
    return Scores.of(
        np.zeros(1), details=[{"needs": kind, "phrase": question[start:end], "start": start, "end": end}]
    )
