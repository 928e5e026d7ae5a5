"""The content of a batch: the lines of its files, and which requests are in which batch."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from httpx2 import Request, Response
from openai import APIStatusError
from pydantic import TypeAdapter

from sgi.kernel.errors import JudgeError, JudgeMalformedError
from sgi.kernel.signature import digest
from sgi.llm.calls import SUCCESS
from sgi.llm.envelope import NO_CHOICES, ErrorReplyError, NoChoicesError, read_completion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openai.types.chat import ChatCompletion

    from sgi.kernel.protocols import Cache

_FREE = b""
"""The value of a request that is in no batch."""


@dataclass(frozen=True)
class BatchRecord:
    """A batch of requests.

    Attributes:
        file: the service's id of the uploaded requests; no other batch has this file.
        started: when the batch was started, in seconds since 1970.
        batch: the service's id of the batch; empty until the service has confirmed it.
    """

    file: str
    started: float
    batch: str = ""


_RECORD = TypeAdapter(BatchRecord)


class BatchLedger:
    """The batches and their requests, stored in a cache, so that a killed process loses no batch.

    A request is known by the key of its reply in the same cache. Once the cache has the reply, nobody looks
    for the request here.

    >>> from sgi.store.cache import MemoryCache
    >>> ledger = BatchLedger(MemoryCache())
    >>> ledger.put(BatchRecord("file-1", 0.0), [b"first", b"second"])
    >>> ledger.free([b"second"])
    >>> ledger.find([b"first", b"second"])
    {BatchRecord(file='file-1', started=0.0, batch=''): [b'first']}
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def put(self, record: BatchRecord, keys: Iterable[bytes] = ()) -> None:
        """Store or replace a batch, and the requests that it contains, in one transaction."""
        requests = {_request(key): record.file.encode() for key in keys}
        self._cache.put_many({**requests, _batch(record.file): _RECORD.dump_json(record)})

    def free(self, keys: Iterable[bytes]) -> None:
        """Take requests out of their batches, so that they are sent again."""
        self._cache.put_many({_request(key): _FREE for key in keys})

    def find(self, keys: Sequence[bytes]) -> dict[BatchRecord, list[bytes]]:
        """Return the requests of each batch that contains some of these requests."""
        files = self._cache.get_many([_request(key) for key in keys])
        by_file = defaultdict(list)
        for key in keys:
            if file := files.get(_request(key)):
                by_file[file.decode()].append(key)
        records = self._cache.get_many([_batch(file) for file in by_file])
        return {
            _RECORD.validate_json(records[_batch(file)], strict=True): found
            for file, found in by_file.items()
            if _batch(file) in records
        }


def _request(key: bytes) -> bytes:
    return digest(b"request of a batch", key)


def _batch(file: str) -> bytes:
    return digest(b"batch", file.encode())


ENDPOINT: Any = "/v1/chat/completions"
REQUEST = Request("POST", ENDPOINT)
"""A request for errors, without key and texts."""
AGAIN = "To send the request again, resume the run with --retry-failed."
_EXPIRED = "batch_expired"
_BAD_GATEWAY = 502
_TEMPORARY = ("server_error", "internal_error", "rate_limit_exceeded", "timeout", "overloaded")
"""Codes of a request in a batch that a later batch may answer."""


def request_line(key: bytes, body: bytes) -> bytes:
    """Return a request as a line of the batch file; the id of the line is the key of the request.

    >>> request_line(b"k", b'{"model": "m"}')
    b'{"custom_id": "6b", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}'
    """
    head = json.dumps({"custom_id": key.hex(), "method": "POST", "url": ENDPOINT})
    return head[:-1].encode() + b', "body": ' + body + b"}"


def parse_line(line: bytes) -> object:
    """Return the JSON of a line; None if it is not JSON, or nested too deeply."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def completion_of(lines: list[Any], place: str, state: str) -> ChatCompletion:
    """Return the completion of a request from its result line in an ended batch.

    ``place`` names the judge and the batch; ``state`` is how the batch ended.

    Raises:
        APIStatusError: the service answered the request with an error.
        JudgeError: there is no reply.
        ValueError: the reply is not a JSON object.
    """
    error = lines[0].get("error") if len(lines) == 1 else None
    error = error if isinstance(error, dict) else None
    if len(lines) != 1 or (error and error.get("code") == _EXPIRED):
        problem = "has no reply to this request" if not lines else "has two replies to this request"
        if state != "completed":
            problem = f"{'was' if state == 'cancelled' else 'has'} {state}"
        raise JudgeError(f"{place} {problem}.", hint=AGAIN)
    response = lines[0].get("response")
    if not isinstance(response, dict):
        if error is None:
            raise JudgeMalformedError(f"{place} has a line without a reply.", hint=AGAIN)
        raise status_error(_BAD_GATEWAY if error.get("code") in _TEMPORARY else 400, error)
    status, body = _status_code(response), response.get("body")
    if status is None:
        raise JudgeMalformedError(f"{place} has a reply without a status.", hint=AGAIN)
    if status not in SUCCESS:
        raise status_error(status, body.get("error", body) if isinstance(body, dict) else body or error)
    try:
        return read_completion(body)
    except ErrorReplyError as found:
        raise status_error(found.status, found.error) from None
    except NoChoicesError:
        raise status_error(status, None, NO_CHOICES) from None


def _status_code(response: dict[str, object]) -> int | None:
    """Return the HTTP status of a response; 200 for one that lacks it and has a completion."""
    status, body = str(response.get("status_code")), response.get("body")
    if re.fullmatch("[1-5][0-9][0-9]", status):
        return int(status)
    return 200 if isinstance(body, dict) and body.get("choices") else None


def status_error(status: int, body: object, message: str = "") -> APIStatusError:
    """Return an error of the client for a status and the JSON of an error."""
    return APIStatusError(
        message or f"status {status}", response=Response(status, request=REQUEST), body=body
    )
