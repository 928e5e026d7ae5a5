"""The closed set of causes, and the rules of a decision table."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.analysis.diagnosis.diagnosis_signals import Signal

Cause = Literal[
    "retrieval_miss",
    "passage_ranked_low",
    "ignored_context",
    "unsupported_claim",
    "contradicted_fact",
    "wrong_citation",
    "needless_refusal",
    "answered_unanswerable",
    "incomplete_answer",
    "off_topic",
    "correct",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
CORRECT: Cause = "correct"
NOT_DIAGNOSED = "not diagnosed"
SHARES_ARE = "shares count what the rules call them, and intervals do not include wrong diagnoses"
"""What the shares of causes are: said wherever they are shown."""

TITLES: dict[Cause, str] = {
    "retrieval_miss": "The retriever did not find a passage with the answer.",
    "passage_ranked_low": "The passage with the answer was retrieved, but its rank is low.",
    "ignored_context": "The passages may have the answer, but the response states something else.",
    "unsupported_claim": "A part of the response may be unsupported: read it.",
    "contradicted_fact": "A passage or the reference has another number, date or name than the response.",
    "wrong_citation": "A cited passage may not support its statement, or does not exist.",
    "needless_refusal": "The response refuses, although the data has the answer.",
    "answered_unanswerable": "The response answers a question that the data cannot answer.",
    "incomplete_answer": "The response lacks a part of the reference.",
    "off_topic": "The response may be about something else than the question.",
    "correct": "Nothing is wrong that the signals can show.",
}
"""What each cause means."""


PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
Operator = Literal[">=", "<=", "<", ">", "is"]
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Condition:
    """A condition on one signal: a comparison with a number, or ``is`` with true, false or unknown (None)."""

    signal: str
    operator: Operator
    value: float | bool | None
    text: str

    def holds(self, signals: Mapping[str, Signal]) -> bool | None:
        """Return whether the condition is met; None if its signal is unknown."""
        value = signals[self.signal].value
        if self.operator == "is":
            unknown = value is None and self.value is not None
            return None if unknown else value is self.value
        return None if value is None else _COMPARE[self.operator](value, cast("float", self.value))


@dataclass(frozen=True)
class Rule:
    """A cause, the conditions that must all hold, and a sentence that says why.

    Attributes:
        number: its position in the table, from 1.
        because: the sentence; ``{signal}`` stands for the value of a signal.
    """

    number: int
    cause: Cause
    because: str
    when: tuple[Condition, ...]

    def sentence(self, signals: Mapping[str, Signal]) -> str:
        """Return the sentence with the values of the signals, and what the shares in it leave out."""
        sentence = PLACEHOLDER.sub(lambda match: signals[match[1]].text, self.because)
        notes = dict.fromkeys(signals[name].note for name in self.quoted)
        return " ".join((sentence, *filter(None, notes)))

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that the conditions test, without repeats."""
        return tuple(dict.fromkeys(condition.signal for condition in self.when))

    @property
    def quoted(self) -> tuple[str, ...]:
        """The names of the signals whose values the sentence shows."""
        return tuple(PLACEHOLDER.findall(self.because))
