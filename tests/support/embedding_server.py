"""A local HTTP server with the embeddings API of OpenAI and Azure, which can inject faults.

Its vectors are computed from hashes of the texts, so a test can tell which text a vector belongs to.
"""

import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgi.models.embedder.remote import RemoteEmbedder
from sgi.models.embedder.remote_service import Service
from support.loopback import Delivery, Handler, LoopbackServer, Request

KEY = "sk-very-secret-0123456789"
DIMENSION = 24
MAX_INPUTS = 2048
MAX_TOKENS = 300_000
MAX_TEXT_TOKENS = 8192
_PATHS = re.compile(r"/v1/embeddings|/openai/deployments/([^/?]+)/embeddings\?api-version=[\w.-]+")


def vector(text: str) -> NDArray[np.float32]:
    """The vector that the server returns for a text; not of unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)


@dataclass(frozen=True)
class Fault(Delivery):
    """How the server changes or replaces its correct answer to one request."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[dict[str, Any]], Any] | None = None


class EmbeddingServer(LoopbackServer):
    """Serves inside its block: ``with EmbeddingServer() as server: … server.url … server.requests``.

    Args:
        faults: one for each of the first requests; later requests have no fault.
        key: the only accepted key; None accepts any.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, key: str | None = None) -> None:
        super().__init__(_Handler)
        self.key = key
        self.requests: list[Request] = []
        self._faults = deque(faults)

    def take(self, request: Request) -> Fault:
        """Record a request, and return its fault."""
        with self.lock:
            self.requests.append(request)
            return self._faults.popleft() if self._faults else Fault()

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        """The status and body of the correct answer."""
        header = request.headers.get("api-key") or request.headers.get("authorization", "")
        if self.key is not None and header.removeprefix("Bearer ") != self.key:
            return 401, _error(f"Incorrect API key provided: {header}.", "invalid_api_key")
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
    if not texts or len(texts) > MAX_INPUTS or not all(texts):
        return 400, _error("'$.input' is invalid", "invalid_value")
    sizes = [len(text.encode()) for text in texts]  # no tokenizer makes more tokens than bytes
    if max(len(text.split()) for text in texts) > MAX_TEXT_TOKENS or sum(sizes) > MAX_TOKENS:
        return 400, _error("maximum context length exceeded", "context_length_exceeded")
    data = [
        {"object": "embedding", "index": index, "embedding": _encode(vector(text), body)}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": sum(sizes), "total_tokens": sum(sizes)}
    return 200, {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _encode(row: NDArray[np.float32], body: dict[str, Any]) -> str | list[float]:
    if body.get("encoding_format") == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return row.tolist()


class _Handler(Handler):
    def answer(self) -> None:
        request = self.read_request()
        fault = self.server.owner.take(request)
        status, payload = self.server.owner.answer(request)
        if fault.change is not None:
            payload = fault.change(payload)
        body = json.dumps(payload).encode() if fault.body is None else fault.body
        self.send(fault.status if fault.status != 200 else status, body, fault.headers, fault)


def remote(server: EmbeddingServer, model: str = "m", **options: Any) -> RemoteEmbedder:
    """An embedder that asks the server with the key."""
    return RemoteEmbedder(Service("openai", f"{server.url}/v1", KEY, "OPENAI_API_KEY"), model, **options)
