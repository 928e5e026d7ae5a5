"""The metric ``contradicts_itself``: whether an answer contradicts an earlier answer of the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.sample import RESPONSE, TURNS
from sgi.metrics.grounding.check_facts import Verdict, check_facts
from sgi.metrics.grounding.normalize_unicode import normalize_text
from sgi.text.conversation import ASSISTANT, history
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

_BLANK = "the response is blank"
_FIRST = "there is no earlier answer"
_NO_FACTS = "the response has no number, date or name"


@closed
class Contradiction(TypedDict):
    """A fact of the response and the fact of an earlier answer that contradicts it.

    Attributes:
        fact: the text of the fact.
        start: its offset in the response.
        end: the offset of its end.
        message: the number of the message with the earlier answer, from 1.
        found: the words of that message.
        how: the rule: ``other value``, ``other date``, ``other name`` ….
    """

    fact: str
    start: int
    end: int
    message: int
    found: str
    how: str


@closed
class ContradictionDetails(TypedDict, total=False):
    """The facts of the response.

    Attributes:
        facts: number of numbers, dates and names in the response.
        contradictions: the facts that an earlier answer contradicts.
    """

    facts: int
    contradictions: list[Contradiction]


@dataclass(frozen=True)
class ContradictsItself(Metric["Batch"]):
    """1 if a number, date or name of the response contradicts an earlier answer, 0 otherwise.

    The exact fact checks of `grounding` compare the response with the earlier answers in ``turns``: a number
    with the same unit, a date or a name is contradicted if an earlier answer has another one in a clause with
    the same words. The mean is the share of answers with a contradiction. A row is undefined if the response
    is blank or has no such fact, or if there is no earlier answer.

    Limits: a contradiction in other words ("it is open" and "it is closed") is not seen; a correction that
    names both values counts; number words, units and months are English.

    References: our own; see `sgi.metrics.grounding.check_facts.check_facts`.

    >>> import sgi
    >>> roles = ["user", "assistant", "user", "assistant"]
    >>> texts = ["When?", "The Anke was launched in 1950.", "Really?", "Yes, the Anke was launched in 1960."]
    >>> turns = [{"role": role, "text": text} for role, text in zip(roles, texts)]
    >>> score = sgi.evaluate([{"turns": turns}], "contradicts_itself")["contradicts_itself"].row(0)
    >>> score.value, score.details["contradictions"][0]["found"]
    (1.0, '1950')
    """

    spec: ClassVar = MetricSpec(
        "contradicts_itself",
        3,
        needs=RESPONSE | TURNS,
        higher_is_better=False,
        citation="our own, by the fact checks of grounding",
        guide=MetricHelp(
            Question.SUPPORTED,
            "1: a number, date or name contradicts an earlier answer. 0: none does. The mean is the share "
            "of such answers.",
            "It does not see contradictions in other words.",
        ),
        details=ContradictionDetails,
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return 1 or 0 for each response."""
        rows = map(_score, batch.samples)
        return Scores.assemble(len(batch), ((np.array([at]), row) for at, row in enumerate(rows)))


def _score(sample: Sample) -> Scores:
    earlier = {
        number: normalize_text(turn.text).text
        for number, turn in enumerate(history(sample), 1)
        if turn.role == ASSISTANT and turn.text.strip()
    }
    reason = "" if sample.response.strip() else _BLANK
    reason = reason or ("" if earlier else _FIRST)
    facts, contradictions = (0, []) if reason else _contradictions(sample.response, earlier)
    if reason or not facts:
        return Scores.without_value(Status.UNDEFINED, [reason or _NO_FACTS])
    details: dict[str, JsonValue] = {"facts": facts, "contradictions": contradictions}
    return Scores.of(np.array([float(bool(contradictions))]), details=[details])


def _contradictions(response: str, earlier: dict[int, str]) -> tuple[int, list[JsonValue]]:
    """Return the number of facts in a response, and those that an earlier answer contradicts."""
    numbers, texts = list(earlier), list(earlier.values())
    plain = normalize_text(response)
    facts, contradictions = 0, []
    for start, end in sentence_spans(plain.text):
        for check in check_facts(plain.text[start:end], texts):
            facts += 1
            if check.verdict is Verdict.CONTRADICTED and check.passage is not None:
                first, last = plain.original_span(start + check.fact.start, start + check.fact.end)
                item: dict[str, JsonValue] = {
                    "fact": response[first:last],
                    "start": first,
                    "end": last,
                    "message": numbers[check.passage],
                    "found": check.found,
                    "how": check.how,
                }
                contradictions.append(item)
    return facts, list(contradictions)
