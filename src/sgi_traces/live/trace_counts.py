"""Counts received spans and the rows of their traces by outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

_MAX_REASONS = 50
_MAX_ERROR = 500
_OTHER = "other reasons"


@dataclass
class TraceCounts:
    """Counts of spans and rows by outcome, since the start of the receiver.

    ``received + restored`` equals ``invalid + refused + sampled_out + late + waiting + assembled``, and
    ``turns`` equals ``unanswered + failed + scored``.

    Attributes:
        requests: export requests that could be decoded.
        received: spans of these requests.
        restored: spans that an earlier process had accepted and not scored.
        invalid: spans that could not be decoded.
        refused: spans of requests that the client must repeat, because the buffer is full.
        sampled_out: spans of traces outside the sampled share.
        late: spans that came after their trace was scored.
        waiting: spans of traces that are not complete.
        assembled: spans of complete traces.
        traces: complete traces.
        turns: questions in complete traces.
        scored: rows that are scored and stored.
        unanswered: turns without an answer, by reason.
        failed: turns or traces that could not be scored or stored, by reason.
    """

    requests: int = 0
    received: int = 0
    restored: int = 0
    invalid: int = 0
    refused: int = 0
    sampled_out: int = 0
    late: int = 0
    waiting: int = 0
    assembled: int = 0
    traces: int = 0
    turns: int = 0
    scored: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """Return the counts in one line."""
        parts = [f"{self.received:,} spans received"]
        named = {"from before the start": self.restored, "invalid": self.invalid, "refused": self.refused}
        named |= {"sampled out": self.sampled_out, "late": self.late, "waiting": self.waiting}
        parts += [f"{count:,} {name}" for name, count in named.items() if count]
        parts.append(f"{self.traces:,} traces, {self.scored:,} rows scored")
        lost = {"without an answer": self.unanswered, "failed": self.failed}
        parts += [f"{reasons.total():,} {name}" for name, reasons in lost.items() if reasons]
        return ", ".join(parts)


@dataclass(frozen=True)
class TraceStatus:
    """The settings and counts of a receiver of traces.

    Attributes:
        sample: the share of traces that are scored.
        runs: whether a run holds the traces of an ``hour`` or of a ``service``.
        metrics: the canonical strings of the metrics.
        buffer_bytes: size of the waiting spans.
        counts: counts of spans and rows by outcome, since the start.
        oldest_seconds: age of the oldest waiting trace; None if no trace waits.
        last_error: the newest error of a request, a trace or the database; empty if there was none.
        last_error_at: time of the newest error, ISO 8601, UTC; empty if there was none.
    """

    sample: float
    runs: str
    metrics: tuple[str, ...]
    buffer_bytes: int
    counts: TraceCounts
    oldest_seconds: float | None
    last_error: str
    last_error_at: str


class SharedCounts:
    """Thread-safe counters of received spans and rows."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = TraceCounts()
        self._last_error = ("", "")

    def add(self, **numbers: int) -> None:
        """Add to several counts at once."""
        with self._lock:
            for name, number in numbers.items():
                setattr(self._counts, name, getattr(self._counts, name) + number)

    def add_reasons(self, name: str, reasons: Counter[str]) -> None:
        """Add to ``unanswered`` or ``failed``; the number of different reasons is bounded."""
        with self._lock:
            known: Counter[str] = getattr(self._counts, name)
            for reason, number in reasons.items():
                known[reason if reason in known or len(known) < _MAX_REASONS else _OTHER] += number

    def note_error(self, message: str) -> None:
        """Store the message and the time of an error, in place of the error before."""
        with self._lock:
            self._last_error = (message[:_MAX_ERROR], datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def last_error(self) -> tuple[str, str]:
        """The message and the time of the newest error; empty texts if there was none."""
        return self._last_error

    def snapshot(self) -> TraceCounts:
        """Return a consistent copy of all counts."""
        with self._lock:
            counts = self._counts
            parts = {"unanswered": Counter(counts.unanswered), "failed": Counter(counts.failed)}
            return TraceCounts(**{**vars(counts), **parts})
