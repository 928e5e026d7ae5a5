"""What a guard decides on an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """What a guard decides on an answer, or on a sentence of a streamed answer.

    Attributes:
        blocked: whether it is blocked.
        score: its score, in [0, 1]; None if it claims nothing, or with an ``error``.
        reason: why it is blocked, or why it has no score; otherwise "".
        promise: the largest share of good answers that is blocked, with 95 % confidence; None if the promise
            is withdrawn, or if this verdict comes from an error.
        withdrawn: why the promise is withdrawn; "" while it holds.
        error: why no score could be computed; "" if one was. ``on_error`` then decides.
        sentence: the number of the sentence, from 1; None for the whole answer.
        text: the sentence, with the space around it; "" for the whole answer.
    """

    blocked: bool
    score: float | None
    reason: str
    promise: float | None
    withdrawn: str = ""
    error: str = ""
    sentence: int | None = None
    text: str = ""
