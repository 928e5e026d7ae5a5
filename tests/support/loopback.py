"""A local HTTP server with one handler class, which can send incomplete and slow replies."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """A received request."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """How a reply is sent."""

    delay: float = 0.0
    """Seconds before the answer."""
    trickle: float = 0.0
    """Seconds between two bytes of the body."""
    drop: bool = False
    """Close the connection in the middle of the body."""
    hang_up: bool = False
    """Close the connection without an answer."""


_AT_ONCE = Delivery()


class LoopbackServer:
    """Serves inside its context; handlers find it as ``self.server.owner``.

    Args:
        handler: class of the handler that answers requests.
        path: the path in ``url``.
    """

    def __init__(self, handler: "type[Handler]", path: str = "") -> None:
        self.closing = Event()
        self.lock = Lock()
        self._path = path
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.owner = self
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: Any

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no error if a client closes the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads JSON, and sends a body complete, truncated, or byte by byte."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        """Answer one request."""
        raise NotImplementedError

    def log_message(self, *_: object) -> None:
        """Print nothing on stderr."""

    def read_request(self) -> Request:
        """The request, whose headers have names in lower case."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path, headers, json.loads(raw))

    def send(
        self, status: int, body: bytes, headers: Mapping[str, str], delivery: Delivery = _AT_ONCE
    ) -> None:
        """Send JSON after the delay, unless the client has given up."""
        self.server.owner.closing.wait(delivery.delay)
        if delivery.hang_up:
            self.close_connection = True
            return
        with suppress(ConnectionError):
            self._send(status, body, headers, delivery)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], delivery: Delivery) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if delivery.drop:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif delivery.trickle:
            self._trickle(body, delivery.trickle)
        else:
            self.wfile.write(body)

    def _trickle(self, body: bytes, pause: float) -> None:
        for byte in body:
            if self.server.owner.closing.wait(pause):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
