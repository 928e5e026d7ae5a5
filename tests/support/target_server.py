"""An HTTP server on the loopback that answers questions, with faults on demand."""

from __future__ import annotations

import json
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Semaphore
from typing import TYPE_CHECKING, Any

from support.loopback import Handler, LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class TargetReply:
    """What goes out; without a body, the question comes back as the answer."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the answer."""
    trickle: float = 0.0
    """Seconds between two bytes of the body."""
    drop: bool = False
    """Break off in the middle of the body."""
    hang_up: bool = False
    """Break off before any answer."""

    @classmethod
    def of(cls, document: Any, status: int = 200, **headers: str) -> TargetReply:
        return cls(
            status, json.dumps(document).encode(), {k.replace("_", "-"): v for k, v in headers.items()}
        )


class TargetServer(LoopbackServer):
    """Serves while it is open: ``with TargetServer([Sent(500)]) as server: … server.url … server.requests``.

    Args:
        plan: what the requests to come meet, in order; after them all goes well.
        hold: wait for ``released`` before each answer, so that a test sees how many wait at once.
    """

    def __init__(self, plan: Iterable[TargetReply] = (), *, hold: bool = False) -> None:
        super().__init__(_Handler, "/answer")
        self.requests: list[Request] = []
        self.released = Event()
        self.arrivals = Semaphore(0)
        self.most_at_once = 0
        self._at_once = 0
        self._plan = deque(plan)
        if not hold:
            self.released.set()

    def __exit__(self, *error: object) -> None:
        self.released.set()
        super().__exit__(*error)

    def enter(self, request: Request) -> TargetReply:
        """Note a request; what it meets."""
        with self.lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.arrivals.release()
            return self._plan.popleft() if self._plan else TargetReply()

    def leave(self) -> None:
        with self.lock:
            self._at_once -= 1


class _Handler(Handler):
    def answer(self) -> None:
        owner = self.server.owner
        headers, body = self.received()
        request = Request(self.path, headers, body)
        sent = owner.enter(request)
        owner.released.wait()
        owner.closing.wait(sent.delay)
        owner.leave()
        with suppress(ConnectionError):  # a client that has given up
            self._answer(sent, request)

    def _answer(self, sent: TargetReply, request: Request) -> None:
        if sent.hang_up:
            self.close_connection = True
            return
        body = sent.body
        if body is None:
            body = json.dumps({"answer": request.body["question"], "contexts": ["a passage"]}).encode()
        self.send(sent.status, body, sent.headers, drop=sent.drop, trickle=sent.trickle)
