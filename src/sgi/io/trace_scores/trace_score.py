"""One score of a row that was read from a trace, and the formats of tracing tools."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import NoReturn

from sgi.kernel.errors import UnknownNameError


class TraceFormat(StrEnum):
    """The format of scores for one tracing tool."""

    OTEL = "otel"
    PHOENIX = "phoenix"
    LANGFUSE = "langfuse"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise UnknownNameError("format", str(value), hint=f"The formats: {', '.join(cls)}.")


@dataclass(frozen=True)
class TraceScore:
    """One score of a row that was read from a trace.

    Attributes:
        run: the id of the run.
        row: the id of the row.
        trace_id: the trace of the row; empty if unknown.
        span_id: the span of the row; empty if unknown.
        service: the service of the trace; empty if unknown.
        metric: the metric's canonical string.
        value: the value; None if and only if ``status`` is not ok.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value.
        category: the class of the row, such as a verdict; empty if the metric has no classes.
        judged: whether a language model judged the row.
        time: when the run was created, ISO 8601 in UTC.
    """

    run: str
    row: str
    trace_id: str
    span_id: str
    service: str
    metric: str
    value: float | None
    status: str
    reason: str
    category: str
    judged: bool
    time: str

    @property
    def id(self) -> str:
        """An id that depends only on run, row and metric, so that a repeated upload replaces the score."""
        return stable_id(self.run, self.row, self.metric)

    @property
    def label(self) -> str:
        """The class of the row if it has one, otherwise its status."""
        return self.category or self.status

    @property
    def annotator(self) -> str:
        """``LLM`` for judged metrics, otherwise ``CODE``."""
        return "LLM" if self.judged else "CODE"


def stable_id(*parts: str, size: int = 16) -> str:
    """Return a hexadecimal id of ``size`` bytes that depends on all parts.

    >>> stable_id("run", "row", size=8) == stable_id("run", "row", size=8) != stable_id("ru", "nrow", size=8)
    True
    """
    state = blake2b(digest_size=size)
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        state.update(len(text).to_bytes(8, "big") + text)
    return state.hexdigest()
