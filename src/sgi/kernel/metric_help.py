"""What a metric answers, and how to read it: the help of `sgi metrics`."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Question(StrEnum):
    """The question that a metric answers; `sgi metrics` groups metrics by it, in this order."""

    SUPPORTED = "Is the answer supported?"
    RIGHT = "Is it right?"
    FOUND = "Was the passage found?"
    CITED = "Was it cited?"
    REFUSED = "Did it refuse?"
    TOPIC = "Is it on topic?"
    RULES = "Does it follow your rules?"
    COST = "What did it cost?"
    OTHER = "Other"


class MetricHelp(NamedTuple):
    """The help of a metric, in plain words.

    Attributes:
        question: the question that it answers.
        reading: how to read a value: what a high, a low and a middle value mean.
        limits: when it misleads, and when a row has no value.
    """

    question: Question
    reading: str
    limits: str
