"""The batch endpoint of OpenAI's API: uploads requests, creates batches and downloads replies."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass, replace
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from httpx2 import HTTPError
from openai import APIConnectionError, APIStatusError, OpenAIError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from sgi.kernel.errors import JudgeError, JudgeMalformedError
from sgi.llm.batch_ledger import (
    ENDPOINT,
    REQUEST,
    completion_of,
    parse_line,
    request_line,
    status_error,
)
from sgi.llm.service_errors import is_temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from openai import AsyncOpenAI
    from openai.types import Batch
    from openai.types.chat import ChatCompletion

    from sgi.llm.batch_ledger import BatchRecord

T = TypeVar("T")

_log = logging.getLogger("sgi.llm")
_WINDOW: Any = "24h"
_ENDED = ("completed", "failed", "expired", "cancelled")
_GOING = ("validating", "in_progress", "finalizing", "cancelling", "created", "queued", "pending", "running")
_MAX_SECONDS = 30 * 3600.0
"""Seconds from the start of a batch, after which it should have ended."""
_MAX_AGE = 29 * 86400.0
"""Seconds for which services keep batches and their files."""
_MAX_LINE = 16 * 2**20
_MAX_FILE = 4 * 2**30
"""The limits of a reply, and of all replies of a batch, in bytes."""
_IN_MEMORY = 16 * 2**20
_MAX_LISTED = 10_000
"""How many batches of the account are searched for one whose creation was not confirmed."""
_MAX_CREATIONS = 5
_LOG_INTERVAL = 300.0
"""Seconds between two messages about the progress of a batch."""
_LATER = "Its requests are not sent again; resume the run later."
_FORGET = (
    "Use the key of the account that sent the batch. `sgi runs cache clear --replies` forgets the batch here."
)
_QUEUE_FULL = "token_limit_exceeded"
"""The code of a batch that failed because too many tokens are waiting at the service."""
_NOT_FOUND = 404
_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True)
class BatchTimes:
    """Waiting times of the batch service, in seconds.

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


class _Lines(NamedTuple):
    """The number of lines of a file, and the requested lines."""

    total: int
    wanted: list[tuple[bytes, object]]


class NoBatchError(Exception):
    """A batch was not created, was not begun, or is not kept any more, so its requests can be sent again.

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
        data = b"\n".join(request_line(key, body) for key, body in requests.items())
        file = await self._client.files.create(file=("requests.jsonl", data), purpose="batch")
        return self._checked_id(file.id)

    async def create(self, record: BatchRecord, note: Callable[[BatchRecord], None], *, sure: bool) -> str:
        """Create the batch of an uploaded file, and return its id.

        If it is not ``sure`` that no batch of this file exists, the service's list shows whether one does.
        ``note`` stores the record with the time of each attempt before it is made.

        Raises:
            NoBatchError: the service refuses the batch.
            JudgeError: the service has no list; the batch may exist.
            OpenAIError: the service cannot be reached; the batch may exist.
        """
        creations = 0
        while True:
            if not sure:
                found = await self._find_in_list(record.file)
                if found is not None:
                    return self._checked_id(found.id)
                if time.time() < record.started + self._times.confirm:
                    await asyncio.sleep(self._times.first_poll)
                    continue
            record = replace(record, started=time.time())
            note(record)
            try:
                batch = await self._client.batches.create(
                    input_file_id=record.file, endpoint=ENDPOINT, completion_window=_WINDOW
                )
            except OpenAIError as error:
                creations += 1
                if not _is_temporary(error) or _status_of(error) == _TOO_MANY_REQUESTS:
                    raise NoBatchError(error) from None
                if creations == _MAX_CREATIONS:
                    raise
                sure = False  # the service may have created it all the same
            else:
                return self._checked_id(batch.id)

    def _checked_id(self, name: object) -> str:
        """Return an id of the service, which is printed and becomes a part of URLs."""
        if not isinstance(name, str) or not re.fullmatch(r"[\w.:@+/=-]{1,200}", name, re.ASCII):
            message = f"{self._name} sent something other than the id of a file or a batch."
            raise JudgeMalformedError(message, hint="Check the judge's URL.")
        return name

    async def _find_in_list(self, file: str) -> Batch | None:
        """Return the batch of this file in the service's list, if there is one."""

        async def find() -> Batch | None:
            count = 0
            async for batch in self._client.batches.list(limit=100):
                if batch.input_file_id == file:
                    return batch
                count += 1
                if count == _MAX_LISTED:
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
            hint = "Look for the batch at the service. `sgi runs cache clear --replies` forgets it here."
            raise JudgeError(message, hint=hint) from None

    async def wait(self, record: BatchRecord) -> Batch:
        """Poll a batch until it has ended, and return it.

        Raises:
            NoBatchError: the service did not begin the batch, or does not keep it any more.
            JudgeError: the service does not know the batch, or its state is unknown or lasts too long.
            OpenAIError: the service cannot be reached, or refuses the key.
        """
        wait, logged = self._times.first_poll, time.monotonic()
        while True:
            batch = await self._get(record, partial(self._client.batches.retrieve, record.batch))
            state = _state(batch)
            if state in _ENDED:
                break
            self._check_going(record, state)
            if time.monotonic() - logged >= _LOG_INTERVAL:
                logged = time.monotonic()
                self._log_progress(record, batch)
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, self._times.longest_poll)
        if state == "failed":
            data = getattr(batch.errors, "data", None)
            first = data[0] if isinstance(data, list) and data else None
            message, code = getattr(first, "message", None), getattr(first, "code", None)
            full = code == _QUEUE_FULL
            body = {"message": message or "the batch failed", "code": code}
            raise NoBatchError(status_error(_TOO_MANY_REQUESTS if full else 400, body), queue_full=full)
        return batch

    def _check_going(self, record: BatchRecord, state: str) -> None:
        if state not in _GOING:
            message = f"{self._name}: the batch {record.batch} is in a state that SGI does not know."
            raise JudgeMalformedError(message, hint=_LATER)
        if time.time() > record.started + _MAX_SECONDS:
            message = (
                f"{self._name}: the batch {record.batch} has not ended within {_MAX_SECONDS / 3600:g} hours."
            )
            raise JudgeError(message, hint=_LATER)

    def _log_progress(self, record: BatchRecord, batch: Batch) -> None:
        counts = batch.request_counts
        done, total = getattr(counts, "completed", None), getattr(counts, "total", None)
        if isinstance(done, int) and isinstance(total, int):
            _log.warning("%s: batch %s: %s of %s done.", self._name, record.batch, f"{done:,}", f"{total:,}")

    async def _get(self, record: BatchRecord, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """Ask for a part of a batch; it can appear late, and is not kept forever."""
        until = time.monotonic() + self._times.confirm
        while True:
            try:
                return await self._patiently(ask)
            except APIStatusError as error:
                if error.status_code != _NOT_FOUND:
                    raise
            if time.monotonic() > until:
                break
            await asyncio.sleep(self._times.first_poll)
        gone = JudgeError(
            f"{self._name} does not have the batch {record.batch} or its replies ({_NOT_FOUND}).",
            hint=_FORGET,
        )
        if time.time() > record.started + _MAX_AGE:
            raise NoBatchError(gone)
        raise gone

    async def replies(
        self, record: BatchRecord, batch: Batch, keys: Iterable[bytes]
    ) -> dict[bytes, ChatCompletion | Exception]:
        """Return the completion or the error of each request of an ended batch.

        Raises:
            NoBatchError: the service does not keep the replies any more.
            JudgeError: the service does not send all replies; the requests stay in the batch.
            OpenAIError: the service cannot be reached.
        """
        wanted = {key.hex(): key for key in keys}
        until = time.monotonic() + self._times.confirm
        while (lines := await self._all_lines(record, batch, wanted)) is None:
            if time.monotonic() > until:
                message = f"{self._name} does not send all replies of the batch {record.batch}."
                raise JudgeMalformedError(message, hint=_LATER)
            await asyncio.sleep(self._times.first_poll)
            batch = await self._get(record, partial(self._client.batches.retrieve, record.batch))
        outcomes: dict[bytes, ChatCompletion | Exception] = {}
        place, state = f"{self._name}: the batch {record.batch}", _state(batch)
        for key in wanted.values():
            try:
                outcomes[key] = completion_of(lines.get(key, []), place, state)
            except (OpenAIError, JudgeError, ValueError) as error:
                outcomes[key] = error
        return outcomes

    async def _all_lines(
        self, record: BatchRecord, batch: Batch, wanted: Mapping[str, bytes]
    ) -> dict[bytes, list[object]] | None:
        """Return the lines about the given requests; None if lines are missing or cannot be read."""
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        lines: dict[bytes, list[object]] = {}
        total = 0
        for file in files:
            found = await self._get(record, partial(self._lines, self._checked_id(file), wanted))
            if found is None:
                return None
            total += found.total
            for key, line in found.wanted:
                lines.setdefault(key, []).append(line)
        completed = getattr(batch.request_counts, "completed", None)
        is_short = isinstance(completed, int) and total < completed
        return None if is_short or (_state(batch) == "completed" and not files) else lines

    async def _lines(self, file: str, wanted: Mapping[str, bytes]) -> _Lines | None:
        """Return the requested lines of a file of the service; None if a line is not JSON."""
        lines: list[tuple[bytes, object]] = []
        total = 0
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
            await self._copy(file, copy)
            copy.seek(0)
            while line := copy.readline(_MAX_LINE):
                if not line.strip():
                    continue
                reply = parse_line(line)
                if not isinstance(reply, dict):
                    return None
                total += 1
                key = wanted.get(str(reply.get("custom_id")))
                if key is not None:
                    lines.append((key, reply))
        return _Lines(total, lines)

    async def _copy(self, file: str, copy: IO[bytes]) -> None:
        try:
            async with self._client.files.with_streaming_response.content(file) as response:
                size = 0
                async for part in response.iter_bytes():
                    size += len(part)
                    if size > _MAX_FILE:
                        raise JudgeMalformedError(f"{self._name} sent more than {_MAX_FILE:,} bytes.")
                    copy.write(part)
        except HTTPError as error:  # in the middle of the file
            raise APIConnectionError(message=type(error).__name__, request=REQUEST) from None

    async def _patiently(self, ask: Callable[[], Coroutine[object, object, T]]) -> T:
        """Repeat a request that costs nothing while the service cannot be reached."""
        retrying = AsyncRetrying(
            stop=stop_after_delay(self._times.patience),
            wait=wait_exponential(multiplier=self._times.first_poll, max=self._times.longest_poll),
            retry=retry_if_exception(_is_temporary),
            reraise=True,
        )
        answer: T = await retrying(ask)
        return answer


def _state(batch: Batch) -> str:
    return str(batch.status).lower()  # some services write it in capitals


def _status_of(error: BaseException) -> int:
    return error.status_code if isinstance(error, APIStatusError) else 0


def _is_temporary(error: BaseException) -> bool:
    return isinstance(error, APIConnectionError) or is_temporary(_status_of(error))
