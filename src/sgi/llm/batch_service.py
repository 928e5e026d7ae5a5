"""The batch endpoint of OpenAI's API: uploads requests, creates batches and downloads replies."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from dataclasses import dataclass, replace
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, TypeVar

from httpx2 import Request, Response
from openai import APIConnectionError, APIStatusError, OpenAIError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from sgi.kernel.errors import JudgeError, JudgeMalformedError
from sgi.llm.envelope import NO_CHOICES, ErrorReplyError, NoChoicesError, read_completion

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from openai import AsyncOpenAI
    from openai.types import Batch
    from openai.types.chat import ChatCompletion

    from sgi.llm.batch_ledger import BatchRecord

T = TypeVar("T")

_log = logging.getLogger("sgi.llm")
_ENDPOINT: Any = "/v1/chat/completions"
_WINDOW: Any = "24h"
_ENDED = ("completed", "failed", "expired", "cancelled")
_MAX_LINE = 16 * 2**20
_MAX_FILE = 4 * 2**30
"""The limits of a reply, and of all replies of a batch, in bytes."""
_IN_MEMORY = 16 * 2**20
_MOST_LISTED = 10_000
"""How many batches of the account are searched for one whose creation was not confirmed."""
_MOST_CREATIONS = 5
_TELL_EVERY = 300.0
"""Seconds between two messages about the progress of a batch."""
_AGAIN = "To send the request again, resume the run with --retry-failed."
_QUEUE_FULL = "token_limit_exceeded"
"""The code of a batch that failed because too many tokens are waiting at the service."""
_EXPIRED = "batch_expired"
_NOT_FOUND = 404
_TOO_MANY_REQUESTS = 429
_BAD_GATEWAY = 502
_TRANSIENT = {408, 409, 425, _TOO_MANY_REQUESTS}
_SERVER_ERROR = 500


@dataclass(frozen=True)
class BatchTimes:
    """Waits in seconds.

    Attributes:
        quiet: without a new request, before the requests so far become a batch.
        first_poll: before the state of a batch is asked for the first time; later waits are longer.
        longest_poll: the longest of these waits.
        confirm: how long a batch without confirmation may take to appear in the service's list.
        patience: how long a batch is polled while the service cannot be reached.
    """

    quiet: float = 2.0
    first_poll: float = 1.0
    longest_poll: float = 60.0
    confirm: float = 60.0
    patience: float = 3600.0


class NoBatchError(Exception):
    """A batch was not created, was not begun, or is unknown by now, so its requests can be sent again.

    Attributes:
        cause: the error for each of the requests.
        queue_full: whether too many tokens are waiting at the service.
    """

    def __init__(self, cause: Exception, *, queue_full: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.queue_full = queue_full


class BatchService:
    """The batch endpoint of a service.

    Args:
        client: a client that repeats no requests itself.
        name: the name of the judge for messages.
        times: waits.
    """

    def __init__(self, client: AsyncOpenAI, name: str, times: BatchTimes) -> None:
        self._client = client
        self._name = name
        self._times = times

    async def upload(self, requests: Mapping[bytes, bytes]) -> str:
        """Upload the bodies of requests by their keys, and return the id of the file."""
        data = b"\n".join(_line(key, body) for key, body in requests.items())
        file = await self._client.files.create(file=("requests.jsonl", data), purpose="batch")
        return self._checked_id(file.id)

    async def create(self, record: BatchRecord, *, sure: bool) -> str:
        """Create the batch of an uploaded file, and return its id.

        If it is not ``sure`` that no batch of this file exists, the service's list shows whether one does.

        Raises:
            NoBatchError: the service refuses the batch.
            JudgeError: the service has no list; the batch may exist.
            OpenAIError: the service cannot be reached; the batch may exist.
        """
        creations = 0
        while True:
            if not sure:
                found = await self._listed(record.file)
                if found is not None:
                    return self._checked_id(found.id)
                if time.time() < record.started + self._times.confirm:
                    await asyncio.sleep(self._times.first_poll)
                    continue
            try:
                batch = await self._client.batches.create(
                    input_file_id=record.file, endpoint=_ENDPOINT, completion_window=_WINDOW
                )
            except OpenAIError as error:
                creations += 1
                if not _is_transient(error) or _status_of(error) == _TOO_MANY_REQUESTS:
                    raise NoBatchError(error) from None
                if creations == _MOST_CREATIONS:
                    raise
                # The service may have created it all the same.
                sure, record = False, replace(record, started=time.time())
            else:
                return self._checked_id(batch.id)

    def _checked_id(self, name: object) -> str:
        """Return an id of the service, which is printed and becomes a part of URLs."""
        if not isinstance(name, str) or not re.fullmatch(r"[\w.:@+/=-]{1,200}", name, re.ASCII):
            message = f"{self._name} sent something other than the id of a file or a batch."
            raise JudgeMalformedError(message, hint="Check the judge's URL.")
        return name

    async def _listed(self, file: str) -> Batch | None:
        """Return the batch of this file in the service's list, if there is one."""

        async def find() -> Batch | None:
            count = 0
            async for batch in self._client.batches.list(limit=100):
                if batch.input_file_id == file:
                    return batch
                count += 1
                if count == _MOST_LISTED:
                    break
            return None

        try:
            return await self._patiently(find)
        except APIStatusError as error:
            if error.status_code not in (_NOT_FOUND, 405, 501):
                raise
            message = (
                f"{self._name} did not confirm the batch of the file {file}, and does not list its batches."
            )
            hint = "Look for the batch at the service. `sgi cache clear --replies` forgets it here."
            raise JudgeError(message, hint=hint) from None

    async def wait(self, name: str) -> Batch:
        """Poll a batch until it has ended, and return it.

        Raises:
            NoBatchError: the service did not begin the batch, or does not know it.
            OpenAIError: the service cannot be reached, or refuses the key.
        """
        wait, told = self._times.first_poll, time.monotonic()
        while (batch := await self._state(name)).status not in _ENDED:
            counts = batch.request_counts
            if counts is not None and time.monotonic() - told >= _TELL_EVERY:
                told = time.monotonic()
                _log.warning("%s: batch %s: %s of %s done.", self._name, name, counts.completed, counts.total)
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, self._times.longest_poll)
        if batch.status == "failed":
            errors = (batch.errors.data if batch.errors else None) or []
            message, code = (errors[0].message, errors[0].code) if errors else ("the batch failed", None)
            full = code == _QUEUE_FULL
            error = _status_error(_TOO_MANY_REQUESTS if full else 400, {"message": message, "code": code})
            raise NoBatchError(error, queue_full=full)
        return batch

    async def _state(self, name: str) -> Batch:
        try:
            return await self._patiently(partial(self._client.batches.retrieve, name))
        except APIStatusError as error:
            if error.status_code != _NOT_FOUND:
                raise
            message = f"{self._name} no longer knows the batch {name} ({_NOT_FOUND})."
            raise NoBatchError(JudgeError(message, hint=_AGAIN)) from None

    async def replies(self, batch: Batch, keys: Iterable[bytes]) -> dict[bytes, ChatCompletion | Exception]:
        """Return the completion or the error of each request of an ended batch."""
        wanted = {key.hex(): key for key in keys}
        lines: dict[bytes, list[Any]] = {key: [] for key in wanted.values()}
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            for key, line in await self._patiently(partial(self._lines, file, wanted)):
                lines[key].append(line)
        outcomes: dict[bytes, ChatCompletion | Exception] = {}
        for key, found in lines.items():
            try:
                outcomes[key] = self._completion(found, batch)
            except (OpenAIError, JudgeError, ValueError) as error:
                outcomes[key] = error
        return outcomes

    async def _lines(self, file: str, wanted: Mapping[str, bytes]) -> list[tuple[bytes, Any]]:
        """Return the wanted lines of a file of the service."""
        lines: list[tuple[bytes, Any]] = []
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
            async with self._client.files.with_streaming_response.content(file) as response:
                size = 0
                async for part in response.iter_bytes():
                    size += len(part)
                    if size > _MAX_FILE:
                        raise JudgeMalformedError(f"{self._name} sent more than {_MAX_FILE:,} bytes.")
                    copy.write(part)
            copy.seek(0)
            while line := copy.readline(_MAX_LINE):
                reply = _json(line)
                key = wanted.get(str(reply.get("custom_id"))) if isinstance(reply, dict) else None
                if key is not None:
                    lines.append((key, reply))
        return lines

    def _completion(self, lines: list[Any], batch: Batch) -> ChatCompletion:
        """Return the completion in the only line about a request; raise its error."""
        error = lines[0].get("error") if len(lines) == 1 else None
        if len(lines) != 1 or (isinstance(error, dict) and error.get("code") == _EXPIRED):
            problem = "has no reply to this request" if not lines else "has two replies to this request"
            if batch.status != "completed":
                problem = f"{'was' if batch.status == 'cancelled' else 'has'} {batch.status}"
            raise JudgeError(f"{self._name}: the batch {batch.id} {problem}.", hint=_AGAIN)
        response = lines[0].get("response")
        status, body = (
            (response.get("status_code"), response.get("body")) if isinstance(response, dict) else (0, error)
        )
        if not isinstance(status, int) or not 200 <= status < 300:  # noqa: PLR2004 - HTTP's numbers for success
            inner = body.get("error", body) if isinstance(body, dict) else body or error
            raise _status_error(status if isinstance(status, int) and status else _BAD_GATEWAY, inner)
        try:
            return read_completion(body)
        except ErrorReplyError as found:
            raise _status_error(found.status, found.error) from None
        except NoChoicesError:
            raise _status_error(status, None, NO_CHOICES) from None

    async def _patiently(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Repeat a request that costs nothing while the service cannot be reached."""
        retrying = AsyncRetrying(
            stop=stop_after_delay(self._times.patience),
            wait=wait_exponential(multiplier=self._times.first_poll, max=self._times.longest_poll),
            retry=retry_if_exception(_is_transient),
            reraise=True,
        )
        answer: T = await retrying(ask)
        return answer


def _line(key: bytes, body: bytes) -> bytes:
    head = json.dumps({"custom_id": key.hex(), "method": "POST", "url": _ENDPOINT})
    return head[:-1].encode() + b', "body": ' + body + b"}"


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _status_error(status: int, body: Any, message: str = "") -> APIStatusError:
    response = Response(status, request=Request("POST", _ENDPOINT))
    return APIStatusError(message or f"status {status}", response=response, body=body)


def _status_of(error: BaseException) -> int:
    return error.status_code if isinstance(error, APIStatusError) else 0


def _is_transient(error: BaseException) -> bool:
    status = _status_of(error)
    return isinstance(error, APIConnectionError) or status in _TRANSIENT or status >= _SERVER_ERROR
