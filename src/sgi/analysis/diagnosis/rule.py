"""A rule of the decision table, and its conditions."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.analysis.diagnosis.causes import Cause
    from sgi.analysis.diagnosis.diagnosis_signals import Signal

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
        """Return the sentence with the values of the signals."""
        return PLACEHOLDER.sub(lambda match: signals[match[1]].text, self.because)

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that the conditions test, without repeats."""
        return tuple(dict.fromkeys(condition.signal for condition in self.when))

    @property
    def quoted(self) -> tuple[str, ...]:
        """The names of the signals whose values the sentence shows."""
        return tuple(PLACEHOLDER.findall(self.because))
