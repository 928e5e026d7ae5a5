"""Limits open connections: their number, idle time and transfer rate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

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


@dataclass(eq=False)
class Connections:
    """The open connections of a server, ordered by when they began to wait for a request.

    A connection over the limit replaces the one that has waited longest (of its address, or of all), so that
    idle connections cannot keep others out. If none is waiting, the new connection is refused.
    """

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    _by_address: Counter[str] = field(default_factory=Counter)
    _waiting: dict[GuardedProtocol, None] = field(default_factory=dict)
    _count: int = 0

    def admit(self, connection: GuardedProtocol) -> bool:
        """Add a connection; return False if it is refused."""
        limits, address = self.limits, connection.address
        many = address not in limits.proxies and self._by_address[address] >= limits.per_address
        if many and not self._make_room(lambda other: other.address == address):
            return False
        if self._count >= limits.possible_total and not self._make_room(lambda _: True):
            return False
        self._by_address[address] += 1
        self._count += 1
        return True

    def leave(self, connection: GuardedProtocol) -> None:
        """Remove a connection."""
        self._waiting.pop(connection, None)
        self._count -= 1
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    def set_waiting(self, connection: GuardedProtocol, *, waits: bool) -> None:
        """Record whether a connection waits for a request."""
        if waits:
            self._waiting.setdefault(connection)
        else:
            self._waiting.pop(connection, None)

    def _make_room(self, fits: Callable[[GuardedProtocol], bool]) -> bool:
        oldest = next(filter(fits, self._waiting), None)
        if oldest is None:
            return False
        oldest.drop()
        return True


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 protocol that closes connections which send headers or body too slowly."""

    def __init__(self, *args: Any, guard: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = ""
        self._guard = guard
        self._admitted = False
        self._header_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit or refuse the connection."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.app_state = {
            **self.app_state,
            "peer": self.address,
        }  # uvicorn replaces `client` by the forwarded address
        self._admitted = self._guard.admit(self)
        if self._admitted:
            self._watch()
        else:
            self._close(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received bytes and update the timeouts."""
        if not self._admitted:
            return
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def drop(self) -> None:
        """Close the waiting connection to make room for another."""
        self._forget()
        self.transport.abort()

    def _watch(self) -> None:
        if not self._admitted or self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn's type omits None
        active = cycle is not None and not cycle.response_complete
        self._guard.set_waiting(self, waits=not active)
        if active:
            self._stop_header_timer()
        elif self._header_timer is None:
            seconds = self._guard.limits.header_seconds
            self._header_timer = self.loop.call_later(seconds, partial(self._close, _TIMED_OUT))
        if cycle is None or not (active and cycle.more_body):
            self._stop_body_timer()
        elif self._body_timer is None:
            self._await_body()

    def _await_body(self) -> None:
        seconds = self._guard.limits.body_seconds
        self._body_timer = self.loop.call_later(seconds, partial(self._check_body, self._received))

    def _check_body(self, before: int) -> None:
        """Close a connection whose body arrives too slowly, unless this server paused reading."""
        limits = self._guard.limits
        if self._received - before < limits.body_rate * limits.body_seconds and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._await_body()

    def _close(self, answer: bytes) -> None:
        self.transport.write(answer)
        self._forget()
        self.transport.close()

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _stop_body_timer(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _forget(self) -> None:
        self._stop_header_timer()
        self._stop_body_timer()
        if self._admitted:
            self._admitted = False
            self._guard.leave(self)


def server_options(limits: ConnectionLimits) -> dict[str, Any]:
    """Return the options of ``uvicorn.Config`` for these limits.

    Forwarded addresses are used only from trusted proxies; the default of uvicorn trusts every local process.
    """
    return {
        "http": partial(GuardedProtocol, guard=Connections(limits)),
        "ws": "none",
        "backlog": BACKLOG,
        "proxy_headers": bool(limits.proxies),
        "forwarded_allow_ips": sorted(limits.proxies),
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "lifespan": "on",
    }
