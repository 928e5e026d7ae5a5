"""An HTTP server on the loopback that answers questions, with faults on demand."""

from __future__ import annotations

import json
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Asked:
    """What came in."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Sent:
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
    def of(cls, document: Any, status: int = 200, **headers: str) -> Sent:
        return cls(
            status, json.dumps(document).encode(), {k.replace("_", "-"): v for k, v in headers.items()}
        )


class TargetServer:
    """Serves while it is open: ``with TargetServer([Sent(500)]) as server: … server.url … server.asked``.

    Args:
        plan: what the requests to come meet, in order; after them all goes well.
        hold: wait for ``released`` before each answer, so that a test sees how many wait at once.
    """

    def __init__(self, plan: Iterable[Sent] = (), *, hold: bool = False) -> None:
        self.asked: list[Asked] = []
        self.closing = Event()
        self.released = Event()
        self.arrivals = Semaphore(0)
        self.most_at_once = 0
        self._at_once = 0
        self._plan = deque(plan)
        self._lock = Lock()
        if not hold:
            self.released.set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/answer"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def enter(self, asked: Asked) -> Sent:
        """Note a request; what it meets."""
        with self._lock:
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.arrivals.release()
            return self._plan.popleft() if self._plan else Sent()

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: TargetServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        owner = self.server.owner
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, json.loads(raw))
        sent = owner.enter(asked)
        owner.released.wait()
        owner.closing.wait(sent.delay)
        owner.leave()
        with suppress(ConnectionError):  # a client that has given up
            self._send(sent, asked)

    def _send(self, sent: Sent, asked: Asked) -> None:
        if sent.hang_up:
            self.close_connection = True
            return
        body = sent.body
        if body is None:
            body = json.dumps({"answer": asked.body["question"], "contexts": ["a passage"]}).encode()
        self.send_response(sent.status)
        for name, value in {"Content-Type": "application/json", **sent.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if sent.drop:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif sent.trickle:
            self._trickle(body, sent.trickle)
        else:
            self.wfile.write(body)

    def _trickle(self, body: bytes, pause: float) -> None:
        for byte in body:
            if self.server.owner.closing.wait(pause):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
