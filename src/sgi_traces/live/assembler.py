"""Decides which traces are sampled, and when a trace is complete."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi_traces.live.spool import MAX_FINISHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi_traces.live.spool import EncodedSpan, WaitingTrace


def is_sampled(trace_id: str, share: float) -> bool:
    """Return whether a trace belongs to the sampled share; this depends only on its id.

    The id is hashed, so that the decision is independent of a sampler in the application.

    >>> [is_sampled("0af7651916cd43dd8448eb211c80319c", share) for share in (0.0, 1.0)]
    [False, True]
    """
    digest = blake2b(trace_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


@dataclass(slots=True)
class _OpenTrace:
    """A trace that may get more spans; ``first`` and ``last`` are monotonic times of arrival."""

    spans: int
    first: float
    last: float
    arrived: float
    has_root: bool


@dataclass(frozen=True)
class CompleteTrace:
    """A trace that can be scored; ``arrived`` is the arrival of its first span, in seconds since 1970."""

    trace_id: str
    spans: int
    arrived: float


class Assembler:
    """Tracks open traces.

    A trace is complete when its root has arrived and no span came for ``quiet`` seconds, or when it is older
    than ``oldest`` seconds.
    """

    def __init__(self, quiet: float, oldest: float) -> None:
        self._quiet = quiet
        self._oldest = oldest
        self._open: dict[str, _OpenTrace] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()

    def restore(self, traces: Iterable[WaitingTrace], finished: Iterable[str], now: float) -> None:
        """Add the traces of an earlier process, open and finished."""
        self._finished.update(dict.fromkeys(finished))
        for trace in traces:
            self._open[trace.trace_id] = _OpenTrace(trace.spans, now, now, trace.first, trace.has_root)

    def is_late(self, trace_id: str) -> bool:
        """Return whether a trace is finished already."""
        return trace_id in self._finished

    @property
    def oldest_arrival(self) -> float | None:
        """The arrival of the open trace that arrived first, in seconds since 1970; None without one."""
        return next((trace.arrived for trace in self._open.values()), None)

    def add(self, spans: Sequence[EncodedSpan], now: float, arrived: float) -> None:
        """Add spans; ``now`` is a monotonic time, ``arrived`` is in seconds since 1970."""
        for span in spans:
            trace = self._open.get(span.trace_id)
            if trace is None:
                trace = self._open[span.trace_id] = _OpenTrace(0, now, now, arrived, has_root=False)
            trace.spans += span.is_readable
            trace.last = now
            trace.has_root |= span.is_root

    def complete(self, now: float, *, every: bool = False) -> Iterator[CompleteTrace]:
        """Yield the complete traces and forget them; if ``every`` is True, all traces."""
        due = [
            trace_id
            for trace_id, trace in self._open.items()
            if every
            or (trace.has_root and now - trace.last >= self._quiet)
            or now - trace.first >= self._oldest
        ]
        for trace_id in due:
            trace = self._open.pop(trace_id)
            self._finished[trace_id] = None
            if len(self._finished) > MAX_FINISHED:
                self._finished.popitem(last=False)
            yield CompleteTrace(trace_id, trace.spans, trace.arrived)
