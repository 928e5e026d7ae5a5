"""An HTTP server on the loopback that speaks the embeddings API of OpenAI and Azure, with faults on demand.

Its vectors come from the texts' hashes, so a test can tell which text a row belongs to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

DIMENSION = 24
MOST_INPUTS = 2048
MOST_TOKENS = 300_000
TOKENS_A_TEXT = 8192
_PATHS = re.compile(r"/v1/embeddings|/openai/deployments/([^/?]+)/embeddings\?api-version=[\w.-]+")


def vector(text: str) -> NDArray[np.float32]:
    """The vector the server has for a text; not of unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Fault:
    """What one request meets instead of, or on top of, the answer it deserves."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[dict[str, Any]], Any] | None = None
    delay: float = 0.0
    """Seconds before the answer."""
    trickle: float = 0.0
    """Seconds between two bytes of the body."""
    drop: bool = False
    """Break off in the middle of the body."""


class EmbeddingServer:
    """Serves while it is open: ``with EmbeddingServer() as server: … server.url … server.requests``.

    Args:
        faults: one for each request to come, in order; after them all goes well.
        key: the only key let in; None lets in any.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, key: str | None = None) -> None:
        self.key = key
        self.requests: list[Request] = []
        self.closing = Event()
        self._faults = deque(faults)
        self._lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: Request) -> Fault:
        """Note a request; the fault it meets."""
        with self._lock:
            self.requests.append(request)
            return self._faults.popleft() if self._faults else Fault()

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        """The status and body a request deserves."""
        given = request.headers.get("api-key") or request.headers.get("authorization", "")
        if self.key is not None and given.removeprefix("Bearer ") != self.key:
            return 401, _error(f"Incorrect API key provided: {given}.", "invalid_api_key")
        path = _PATHS.fullmatch(request.path)
        if path is None:
            return 404, _error(f"no such path: {request.path}", "not_found")
        if (path[1] or request.body["model"]) == "missing":
            return 404, _error("no such model", "model_not_found")
        return _embeddings(request.body)


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "type": "invalid_request_error", "param": None}}


def _embeddings(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    texts = body["input"]
    if not texts or len(texts) > MOST_INPUTS or not all(texts):
        return 400, _error("'$.input' is invalid", "invalid_value")
    sizes = [len(text.encode()) for text in texts]  # no tokenizer makes more tokens than bytes
    if max(len(text.split()) for text in texts) > TOKENS_A_TEXT or sum(sizes) > MOST_TOKENS:
        return 400, _error("maximum context length exceeded", "context_length_exceeded")
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector(text), body)}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": sum(sizes), "total_tokens": sum(sizes)}
    return 200, {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _encoded(row: NDArray[np.float32], body: dict[str, Any]) -> str | list[float]:
    if body.get("encoding_format") == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return row.tolist()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: EmbeddingServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(sent))
        fault = self.server.owner.take(request)
        status, payload = self.server.owner.answer(request)
        if fault.change is not None:
            payload = fault.change(payload)
        body = json.dumps(payload).encode() if fault.body is None else fault.body
        self.server.owner.closing.wait(fault.delay)
        with suppress(ConnectionError):  # a client that has given up
            self._send(fault.status if fault.status != 200 else status, body, fault)

    def _send(self, status: int, body: bytes, fault: Fault) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault.drop:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif fault.trickle:
            self._trickle(body, fault.trickle)
        else:
            self.wfile.write(body)

    def _trickle(self, body: bytes, pause: float) -> None:
        for byte in body:
            if self.server.owner.closing.wait(pause):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
