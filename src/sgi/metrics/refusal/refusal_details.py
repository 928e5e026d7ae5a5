"""Details of the metrics of refusals."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from sgi.kernel.details import JudgedDetails, closed

Kind = Literal["no_answer", "not_in_passages", "policy", "partial", "answer"]
"""What a response does; the first three are refusals."""


@closed
class RefusalDetails(TypedDict, total=False):
    """Why a response is a refusal or not.

    Attributes:
        kind: ``no_answer``: it says that it does not know or cannot answer; ``not_in_passages``: it says that
            the passages do not have the answer; ``policy``: it declines the request; ``partial``: it answers,
            and says that it does not know a part or is not sure; ``answer``: it answers.
        probability: the probability of a refusal, in [0, 1].
        phrase: the first clause that does not answer; absent if no clause matches a pattern.
        start: the offset of the phrase in the response.
        end: the offset of its end.
        language: the language of the patterns that match: en, de, fr, es, it or pt.
    """

    kind: Kind
    probability: float
    phrase: str
    start: int
    end: int
    language: str


@closed
class JudgedRefusalDetails(RefusalDetails, JudgedDetails, total=False):
    """Why a response is a refusal or not."""
