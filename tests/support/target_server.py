"""A local HTTP server that answers questions and can inject faults."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Semaphore
from typing import Any

from support.loopback import Delivery, Handler, LoopbackServer, Request


@dataclass(frozen=True)
class TargetReply(Delivery):
    """A reply of the server; without a body, the answer is the question itself."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Any, status: int = 200, **headers: str) -> "TargetReply":
        return cls(
            status, json.dumps(document).encode(), {k.replace("_", "-"): v for k, v in headers.items()}
        )


class TargetServer(LoopbackServer):
    """Serves inside its block: ``with TargetServer([Sent(500)]) as server: … server.url … server.requests``.

    Args:
        plan: replies to the first requests, in order; later requests have no fault.
        hold: wait for ``released`` before each answer, so that a test can count the concurrent requests.
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
        """Record a request, and return its reply."""
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
        request = self.read_request()
        sent = owner.enter(request)
        owner.released.wait()
        owner.closing.wait(sent.delay)
        owner.leave()
        body = sent.body
        if body is None:
            body = json.dumps({"answer": request.body["question"], "contexts": ["a passage"]}).encode()
        self.send(sent.status, body, sent.headers, replace(sent, delay=0))
