"""Receives spans of traced applications, and scores their traces in the background."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import SgiError, StoreError
from sgi_traces.live.assembler import Assembler, is_sampled
from sgi_traces.live.spool import EncodedSpan, encode
from sgi_traces.live.trace_batch import score_traces
from sgi_traces.live.trace_counts import SharedCounts, TraceStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi_traces.live.assembler import CompleteTrace
    from sgi_traces.live.spool import SpanSpool
    from sgi_traces.live.trace_batch import RowScorer, TraceBatch
    from sgi_traces.live.trace_counts import TraceCounts
    from sgi_traces.live.trace_runs import TraceRuns
    from sgi_traces.span import Span

logger = logging.getLogger("sgi.traces")

RETRY_SECONDS = 5
"""After this time, a client may repeat a request that was refused."""
_TICK = 0.25
_AT_ONCE = 32
_HOUR_CHECK = 60.0
_DRAIN_SECONDS = 10.0


class BufferFullError(SgiError):
    """The buffer of spans is full; the client can repeat the request later."""


class RequestTooLargeError(SgiError):
    """The spans of one request are larger than the whole buffer; the client must send fewer at once."""


class Receipt(NamedTuple):
    """The response to a request: the number of spans that were not accepted, and the reason."""

    rejected: int
    reason: str


@dataclass(frozen=True)
class ReceiverSettings:
    """Settings for sampling and assembling traces.

    Attributes:
        sample: the share of traces to score, in [0, 1].
        quiet: seconds without a span after which a trace with a root is complete.
        oldest: seconds after which any trace is complete.
    """

    sample: float = 1.0
    quiet: float = 5.0
    oldest: float = 300.0


class TraceReceiver:
    """Accepts spans, and scores and stores the rows of complete traces in a background thread.

    Accepted spans are in the spool until the rows of their trace are stored. After `close`, the next process
    scores the spans of a spool on disk. If the spool is in memory, `close` scores its spans for at most 10 s.
    """

    def __init__(
        self, settings: ReceiverSettings, spool: SpanSpool, runs: TraceRuns, scorer: RowScorer
    ) -> None:
        self.settings = settings
        self.runs = runs
        self._spool = spool
        self._scorer = scorer
        self._counts = SharedCounts()
        self._assembler = Assembler(settings.quiet, settings.oldest)
        self._lock = Lock()
        self._closing = Event()
        self._next_hour_check = 0.0
        self._waiting: list[CompleteTrace] = []
        self._batch: TraceBatch | None = None
        waiting = spool.traces()
        self._assembler.restore(waiting, spool.finished(), time.monotonic())
        restored = sum(trace.spans for trace in waiting)
        self._counts.add(restored=restored, waiting=restored)
        self._thread = Thread(target=self._work, name="sgi-traces", daemon=True)
        self._thread.start()

    def counts(self) -> TraceCounts:
        """Return the counts of spans and rows by outcome."""
        return self._counts.snapshot()

    def status(self) -> TraceStatus:
        """Return the settings and the counts."""
        metrics = tuple(metric.canonical for metric in self._scorer.metrics)
        return TraceStatus(
            self.settings.sample,
            self.runs.by,
            metrics,
            self._spool.size,
            self.counts(),
            self._oldest_seconds(),
            *self._counts.last_error,
        )

    def _oldest_seconds(self) -> float | None:
        """Return the age of the oldest waiting trace, by its arrival."""
        with self._lock:
            first = next(iter(self._waiting), None)
            arrived = self._assembler.oldest_arrival if first is None else first.arrived
        return None if arrived is None else round(max(0.0, time.time() - arrived), 1)

    def receive(self, items: Sequence[Span | RawRow]) -> Receipt:
        """Accept the spans of a request; a raw row is a span that cannot be read.

        After an error, no span is accepted.

        Raises:
            BufferFullError: the buffer has no space for the spans now.
            RequestTooLargeError: the spans are larger than the whole buffer.
            StoreError: the spans cannot be written.
        """
        errors = [item for item in items if isinstance(item, RawRow)]
        spans = [item for item in items if not isinstance(item, RawRow)]
        encoded = [encode(span) for span in spans if is_sampled(span.trace_id, self.settings.sample)]
        errors += [part for part in encoded if isinstance(part, RawRow)]
        sampled = [part for part in encoded if not isinstance(part, RawRow)]
        received = len(items) - sum(not span.is_readable for span in spans)
        with self._lock:
            accepted = [span for span in sampled if not self._assembler.is_late(span.trace_id)]
            self._accept(accepted, received=received)
        waiting = _number(accepted)
        late = _number(sampled) - waiting
        self._counts.add(
            requests=1,
            received=received,
            invalid=len(errors),
            sampled_out=received - len(errors) - waiting - late,
            late=late,
            waiting=waiting,
        )
        reasons = [str(errors[0].values)] if errors else []
        if errors:
            self._note_invalid(reasons[0])
        reasons += [f"{late} spans came after their trace was scored"] if late else []
        return Receipt(len(errors) + late, "; ".join(reasons))

    def refuse_invalid(self, spans: int, reason: str) -> None:
        """Count the spans of a request in which no span can be read."""
        self._counts.add(requests=1, received=spans, invalid=spans)
        self._note_invalid(reason)

    def _note_invalid(self, reason: str) -> None:
        self._counts.note_error("A request has spans that cannot be read." if self.runs.no_texts else reason)

    def _accept(self, spans: Sequence[EncodedSpan], *, received: int) -> None:
        """Store spans, or count the whole request as refused."""
        arrived = time.time()
        stored = False
        try:
            if self._closing.is_set():
                raise BufferFullError("The server is stopping.", hint="Repeat the request.")
            if not self._spool.can_hold(spans):
                raise RequestTooLargeError("The spans are larger than the buffer. Send fewer in a request.")
            stored = not spans or self._spool.add(spans, arrived)
            if not stored:
                raise BufferFullError("The buffer of spans is full.", hint="Repeat the request later.")
        except SgiError as error:
            self._counts.note_error(error.message)
            raise
        finally:
            if not stored:
                self._counts.add(requests=1, received=received, refused=received)
        self._assembler.add(spans, time.monotonic(), arrived)

    def close(self) -> None:
        """Stop accepting spans, and end the background thread after its current rows."""
        with self._lock:
            self._closing.set()
        self._thread.join()
        self._spool.close()
        self._scorer.scorer.close()

    def _work(self) -> None:
        while not self._closing.wait(_TICK):
            self._step()
        if self._spool.in_memory:
            try:
                self._drain()
            except Exception:
                logger.exception("The last traces cannot be scored.")

    def _drain(self) -> None:
        ends = time.monotonic() + _DRAIN_SECONDS
        self._collect(every=True)
        while self._waiting and time.monotonic() < ends:
            self._score_waiting()

    def _step(self) -> None:
        try:
            self._collect()
            while self._waiting and not self._closing.is_set():
                self._score_waiting()
            if time.monotonic() >= self._next_hour_check:
                self._next_hour_check = time.monotonic() + _HOUR_CHECK
                self.runs.finish_past_hours(time.time())
        except StoreError as error:  # the spans stay in the spool, and are tried again
            logger.warning("Traces cannot be stored yet: %s", error)
            self._counts.note_error(error.message)
            self._closing.wait(RETRY_SECONDS)
        except Exception as error:
            self._counts.note_error(f"internal error: {type(error).__name__}")
            logger.exception("An error in the receiver of traces; it continues with the next traces.")
            self._closing.wait(RETRY_SECONDS)

    def _collect(self, *, every: bool = False) -> None:
        with self._lock:
            self._waiting += self._assembler.complete(time.monotonic(), every=every)

    def _score_waiting(self) -> None:
        """Score and store the next traces.

        After an error of the database, the scores stay, so that a judge is not asked again.
        """
        if self._batch is None:
            traces = self._waiting[:_AT_ONCE]
            self._batch = score_traces(traces, self._spool.spans, self._scorer, self.runs)
        batch = self._batch
        batch.save(self.runs)
        self._spool.finish([trace.trace_id for trace in batch.traces])
        del self._waiting[: len(batch.traces)]
        self._batch = None
        self._counts.add(
            waiting=-batch.spans,
            assembled=batch.spans,
            traces=len(batch.traces),
            turns=batch.turns,
            scored=batch.scored,
        )
        self._counts.add_reasons("unanswered", batch.unanswered)
        self._counts.add_reasons("failed", batch.failed)
        for reason in batch.failed:
            self._counts.note_error(reason)


def _number(spans: Sequence[EncodedSpan]) -> int:
    """Return the number of spans, without those in the place of spans that are counted as invalid."""
    return sum(span.is_readable for span in spans)
