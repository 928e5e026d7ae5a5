"""A local server with OpenAI's batch endpoint: it bills each request of each batch that it creates."""

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.judge_server import Request, ServerReply
from support.loopback import Delivery, Handler, LoopbackServer


@dataclass
class ServedBatch:
    """A batch of the server."""

    id: str
    file: str
    created: float
    status: str = ""
    """The state at the end, if it is not that all requests were answered."""
    code: str = ""
    """The code of its error, if the batch failed."""


@dataclass(frozen=True, kw_only=True)
class Creation(Delivery):
    """What happens to a request to create a batch."""

    created: bool = True
    """Whether the batch exists, whatever the reply."""
    status: int = 200
    end: str = ""
    code: str = ""
    message: str = "no"
    id: str = ""
    """The id in the reply, in place of that of the batch."""


@dataclass(eq=False)
class BatchServer(LoopbackServer):
    """Serves inside its block: ``with BatchServer(replies) as server: … server.url … server.billed``.

    Attributes:
        replies: makes the reply to a request.
        takes: seconds until a batch has ended.
        plan: what happens to the first requests to create a batch.
        most: the largest number of requests that fit into the queue of the service.
        lists: whether the service lists its batches.
        change: changes the lines of an output file.
        unknown: the number of first polls that do not find their batch.
        going: the state of a batch that has not ended.
        downloads: how the first downloads of replies are sent.
        billed: how often each request was part of a batch.
        direct: the number of requests outside batches.
    """

    replies: Callable[[Request], ServerReply]
    takes: float = 0.05
    plan: Iterable[Creation] = ()
    most: int = 1_000_000
    lists: bool = True
    change: Callable[[list[Any]], list[Any]] = list
    unknown: int = 0
    going: str = "in_progress"
    downloads: Iterable[Delivery] = ()
    billed: Counter[str] = field(default_factory=Counter)
    batches: list[ServedBatch] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    polls: int = 0
    direct: int = 0

    def __post_init__(self) -> None:
        super().__init__(_Handler, "/v1")
        self._plan = deque(self.plan)
        self._downloads = deque(self.downloads)

    def create(self, file: str) -> tuple[Creation, dict[str, Any]]:
        """Create a batch, unless the plan or the queue is against it."""
        with self.lock:
            planned = self._plan.popleft() if self._plan else Creation()
            lines = self.lines(file)
            batch = ServedBatch(f"batch_{len(self.batches) + 1}", file, time.time())
            batch.status, batch.code = planned.end, planned.code
            if len(lines) > self.most:
                batch.status, batch.code = "failed", "token_limit_exceeded"
            if planned.created:
                self.batches.append(batch)
                if batch.status != "failed":
                    self.billed.update(line["custom_id"] for line in lines)
        if planned.status != 200:
            return planned, {"error": {"message": planned.message, "code": planned.code or None}}
        return planned, self.document(batch) | ({"id": planned.id} if planned.id else {})

    def lines(self, file: str) -> list[Any]:
        """The requests of an uploaded file."""
        return [json.loads(line) for line in self.files[file].splitlines()]

    def document(self, batch: ServedBatch) -> dict[str, Any]:
        """A batch as the service shows it."""
        ended = time.time() >= batch.created + self.takes
        total = len(self.lines(batch.file))
        completed = len(self.change([{}] * total)) if ended else 0
        answered = batch.status != "failed"
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": batch.file,
            "completion_window": "24h",
            "created_at": int(batch.created),
            "status": (batch.status or "completed") if ended else self.going,
            "output_file_id": f"out-{batch.id}" if ended and answered else None,
            "request_counts": {"total": total, "completed": completed, "failed": 0},
            "errors": {"data": [{"code": batch.code, "message": "too much"}]} if not answered else None,
        }

    def find(self, name: str) -> ServedBatch | None:
        """The batch of this name, unless it is one of the first polls."""
        with self.lock:
            self.polls += 1
            found = next((batch for batch in self.batches if batch.id == name), None)
            if found is not None and self.polls <= self.unknown:
                return None
            return found

    def download(self) -> Delivery:
        """How the next output is sent."""
        with self.lock:
            return self._downloads.popleft() if self._downloads else Delivery()

    def output(self, batch: ServedBatch) -> bytes:
        """The lines of a batch's output, in another order than its requests."""
        lines = []
        for line in reversed(self.lines(batch.file)):
            reply = self.replies(Request(line["url"], {}, line["body"]))
            body = json.loads(reply.to_bytes(line["body"]["model"]))
            response = {"status_code": reply.status, "request_id": "r", "body": body}
            lines.append({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None})
        return b"\n".join(json.dumps(line).encode() for line in self.change(lines))


class _Handler(Handler):
    def do_GET(self) -> None:
        server: BatchServer = self.server.owner
        url = urlsplit(self.path)
        parts = url.path.removeprefix("/v1/").split("/")
        with server.lock:
            batches = {batch.id: batch for batch in server.batches}
        if parts == ["batches"] and server.lists:
            after = parse_qs(url.query).get("after", [""])[0]
            names = sorted(batches, key=lambda name: int(name.partition("_")[2]), reverse=True)
            names = names[names.index(after) + 1 :] if after else names
            data = [server.document(batches[name]) for name in names[:2]]
            self._json({"object": "list", "data": data, "has_more": len(names) > 2})
        elif parts[0] == "batches" and parts[1:] and (batch := server.find(parts[1])):
            self._json(server.document(batch))
        elif parts[0] == "files" and parts[1].removeprefix("out-") in batches:
            self.send(200, server.output(batches[parts[1].removeprefix("out-")]), {}, server.download())
        else:
            self._json({"error": {"message": "not found"}}, 404)

    def answer(self) -> None:
        server: BatchServer = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/files":
            with server.lock:
                name = f"file-{len(server.files) + 1}"
                server.files[name] = _uploaded(self.headers["Content-Type"], body)
            self._json({"id": name, "object": "file", "purpose": "batch"})
        elif self.path == "/v1/batches":
            planned, document = server.create(json.loads(body)["input_file_id"])
            self.send(planned.status, json.dumps(document).encode(), {}, planned)
        else:
            with server.lock:
                server.direct += 1
            request = Request(self.path, dict(self.headers), json.loads(body))
            reply = server.replies(request)
            self.send(reply.status, reply.to_bytes(request.body["model"]), reply.headers, reply)

    def _json(self, document: Any, status: int = 200) -> None:
        self.send(status, json.dumps(document).encode(), {})


def _uploaded(content_type: str, body: bytes) -> bytes:
    """The file in the body of a form."""
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    for part in form.get_payload():
        if part.get_filename():
            return part.get_payload(decode=True)
    raise AssertionError("no file")
