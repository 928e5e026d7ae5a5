"""Limits open connections: their number, idle time and transfer rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

BACKLOG = 128
"""Number of connections that the system accepts before the server handles them."""
_OTHER_FILES = 256
"""Number of file descriptors that are reserved for the database, models and files."""
_FEWEST = 16
_TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
)


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits for connections.

    Attributes:
        total: maximum number of open connections; fewer if the process has too few file descriptors.
        header_seconds: maximum time to receive the headers.
        body_rate: minimum bytes per second of a body, over each span of ``body_seconds``.
        proxies: addresses to which only ``total`` applies; others are also limited by ``per_address``.
    """

    total: int = 512
    per_address: int = 64
    header_seconds: float = 10.0
    body_rate: int = 1_000
    body_seconds: float = 10.0
    proxies: frozenset[str] = frozenset()

    @property
    def possible_total(self) -> int:
        """The value of ``total``, reduced to what the file descriptors of the process allow."""
        try:
            import resource
        except ImportError:  # Windows: sockets are not file descriptors
            return self.total
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return self.total
        return max(_FEWEST, min(self.total, files - BACKLOG - _OTHER_FILES))


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 protocol that limits connections, and closes connections that send headers or body too slowly.

    A connection over the limit replaces the one that has waited longest for a request (of its address, or of
    all), so that idle connections cannot keep others out. If none is waiting, the new connection is refused.

    Args:
        known: the admitted connections of the server, those that have waited longest first.
    """

    def __init__(
        self, *args: Any, limits: ConnectionLimits, known: dict[GuardedProtocol, None], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.address = ""
        self.waits = False
        self._limits = limits
        self._known = known
        self._stage = ""
        self._timer: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit or refuse the connection."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        # uvicorn replaces `client` by the forwarded address
        self.app_state = {**self.app_state, "peer": self.address}
        if self._has_room():
            self._known[self] = None
            self._watch()
        else:
            self.end(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received bytes and update the timeout."""
        if self in self._known:
            self._received += len(data)
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def _has_room(self) -> bool:
        """Return whether this connection fits the limits, after another one has made room if needed."""
        limits = self._limits
        same = [other for other in self._known if other.address == self.address]
        if self.address not in limits.proxies and len(same) >= limits.per_address and not _drop_oldest(same):
            return False
        return len(self._known) < limits.possible_total or _drop_oldest(self._known)

    def _watch(self) -> None:
        """Start the timeout of what the connection does now: send headers, or a body."""
        if self not in self._known or self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn's type omits None
        waits = cycle is None or cycle.response_complete
        if waits and not self.waits:
            self._known[self] = self._known.pop(self)
        self.waits = waits
        stage = "headers" if cycle is None or waits else "body" if cycle.more_body else ""
        if stage != self._stage:
            self._stage = stage
            self._start_timer()

    def _start_timer(self) -> None:
        self._stop_timer()
        if self._stage == "headers":
            self._timer = self.loop.call_later(self._limits.header_seconds, self.end, _TIMED_OUT)
        elif self._stage == "body":
            self._timer = self.loop.call_later(self._limits.body_seconds, self._check_body, self._received)

    def _check_body(self, before: int) -> None:
        """Close a connection whose body arrives too slowly, unless this server paused reading."""
        least = self._limits.body_rate * self._limits.body_seconds
        if self._received - before < least and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._start_timer()

    def end(self, answer: bytes) -> None:
        """Close the connection after this answer."""
        self.transport.write(answer)
        self._forget()
        self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self) -> None:
        self._stop_timer()
        self._known.pop(self, None)


def _drop_oldest(connections: Iterable[GuardedProtocol]) -> bool:
    """Close the connection that has waited longest; return False if none waits."""
    oldest = next((connection for connection in connections if connection.waits), None)
    if oldest is not None:
        oldest.end(b"")
    return oldest is not None


def server_options(limits: ConnectionLimits) -> dict[str, Any]:
    """Return the options of ``uvicorn.Config`` for these limits.

    Forwarded addresses are used only from trusted proxies; the default of uvicorn trusts every local process.
    """
    return {
        "http": partial(GuardedProtocol, limits=limits, known={}),
        "ws": "none",
        "backlog": BACKLOG,
        "proxy_headers": bool(limits.proxies),
        "forwarded_allow_ips": sorted(limits.proxies),
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "lifespan": "on",
    }
