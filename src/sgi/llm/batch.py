"""Sends the requests of a judge in batches."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from httpx2 import AsyncClient, create_ssl_context
from openai import AsyncOpenAI
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential
from yarl import URL

from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.protocols import Usage
from sgi.kernel.tls import tls_context
from sgi.llm.batch_ledger import BatchLedger, BatchRecord
from sgi.llm.batch_service import BatchService, BatchTimes, NoBatchError
from sgi.llm.calls import CALL_KEY
from sgi.llm.client import proxy_of, request_body

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping

    from openai.types.chat import ChatCompletion

    from sgi.kernel.environment import Service
    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Call, Chat, Completion, UsageCounter

_log = logging.getLogger("sgi.llm")
_MAX_REQUESTS = 50_000
_MAX_BYTES = 90 * 2**20
"""The limits of a batch. OpenAI allows 50,000 requests and 200 MB, other services 100 MB."""
_MAX_DELAYED = 100
"""At most so many requests wait before they are divided because the service's queue is full."""
_AROUND_BODY = 200
"""The bytes of a line beside the request, at most."""


class BatchedChat:
    """Chat model whose requests are sent in batches; a request that fails temporarily joins a later batch."""

    def __init__(self, chat: Chat, counter: UsageCounter, *, retries: int) -> None:
        self.fingerprint = chat.fingerprint
        self._chat = chat
        self._counter = counter
        self._retries = retries

    async def complete(self, call: Call, /) -> Completion:
        """Return the model's reply; raises a JudgeError if there is none."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 + self._retries),
            wait=wait_exponential(max=60),  # the same for all, so that they join the same batch
            retry=retry_if_exception_type(JudgeUnavailableError),
            before_sleep=lambda _: self._counter.add(Usage(retries=1)),
            reraise=True,
        )
        completion: Completion = await retrying(self._chat.complete, call)
        return completion


@dataclass(frozen=True, eq=False)
class _Waiting:
    body: bytes
    reply: asyncio.Future[ChatCompletion]

    def settle(self, outcome: ChatCompletion | Exception) -> None:
        if self.reply.done():
            return
        if isinstance(outcome, Exception):
            self.reply.set_exception(outcome)
        else:
            self.reply.set_result(outcome)


class BatchCompletions:
    """Replacement for the completions resource of the OpenAI client that sends requests in batches.

    Requests become a batch when no new one has arrived for a moment. The ledger stores the file of a batch
    before the batch is created, and the id of the batch afterwards. A request that is already in a batch
    waits for its reply there, also if another process has sent it. If a creation was not confirmed, the list
    of the service shows whether the batch exists. So no request is paid for twice.

    Args:
        service: the batch endpoint.
        ledger: the batches and their requests.
        name: the name of the judge for messages.
        times: waits.
    """

    def __init__(self, service: BatchService, ledger: BatchLedger, name: str, times: BatchTimes) -> None:
        self._service = service
        self._ledger = ledger
        self._name = name
        self._times = times
        self._waiting: dict[bytes, _Waiting] = {}
        self._in_flight: dict[bytes, _Waiting] = {}
        self._arrived = 0.0
        self._collector: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def create(
        self, *, extra_headers: Any = None, extra_body: Any = None, **options: Any
    ) -> ChatCompletion:
        """Add a request to the next batch, wait for the batch, and return the completion.

        Raises:
            OpenAIError: the service refuses the request or the batch, or cannot be reached.
            JudgeError: the batch ended without a reply to this request.
            ValueError: the reply is not a JSON object.
        """
        key = bytes.fromhex(extra_headers[CALL_KEY])
        if key not in self._in_flight:  # otherwise somebody asked, and was cancelled
            self._add(key, request_body(options, extra_body))
        return await asyncio.shield(self._in_flight[key].reply)

    def _add(self, key: bytes, body: bytes) -> None:
        waiting = _Waiting(body, asyncio.get_running_loop().create_future())
        self._waiting[key] = self._in_flight[key] = waiting

        def end(reply: asyncio.Future[ChatCompletion]) -> None:
            del self._in_flight[key]
            if not reply.cancelled():
                reply.exception()  # nobody may wait for it any more

        waiting.reply.add_done_callback(end)
        self._arrived = time.monotonic()
        if self._collector is None:
            self._collector = self._start(self._collect())

    async def close(self) -> None:
        """Stop waiting; the service continues the batches."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _collect(self) -> None:
        """Start work on the waiting requests when no new one has arrived for a moment."""
        while (rest := self._arrived + self._times.quiet - time.monotonic()) > 0:
            if len(self._waiting) >= _MAX_REQUESTS:
                break
            await asyncio.sleep(rest)
        waiting, self._waiting, self._collector = self._waiting, {}, None
        requests = dict(waiting)
        with _errors_to(waiting):
            for record, keys in self._ledger.find([*requests]).items():
                self._start(self._resume(record, {key: requests.pop(key) for key in keys}))
            for part in _parts(requests):
                self._start(self._send(part))

    async def _resume(self, record: BatchRecord, requests: Mapping[bytes, _Waiting]) -> None:
        """Wait for the replies of a batch that was sent before."""
        with _errors_to(requests):
            await self._follow(record, requests, sure=False)

    async def _send(self, requests: Mapping[bytes, _Waiting], until: float | None = None) -> None:
        """Send requests as one batch; see `_follow`."""
        with _errors_to(requests):
            file = await self._service.upload({key: request.body for key, request in requests.items()})
            record = BatchRecord(file, time.time())
            self._ledger.put(record, requests)
            await self._follow(record, requests, sure=True, until=until)

    async def _follow(
        self,
        record: BatchRecord,
        requests: Mapping[bytes, _Waiting],
        *,
        sure: bool,
        until: float | None = None,
    ) -> None:
        """Wait for the end of a batch, and pass its replies on.

        ``sure`` is whether no batch with this file exists. If the service's queue is full, the requests are
        sent in halves, one after the other, until a point in time.
        """
        try:
            if not record.batch:
                record = replace(
                    record, batch=await self._service.create(record, self._ledger.put, sure=sure)
                )
                self._ledger.put(record)
            _log.warning(
                "%s: %s requests are in the batch %s, which may take up to 24 hours. If this process ends, "
                "resume the run to read the replies.",
                *(self._name, f"{len(requests):,}", record.batch),
            )
            batch = await self._service.wait(record)
            outcomes = await self._service.replies(record, batch, requests)
        except NoBatchError as error:
            self._ledger.free(requests)
            until = until or time.monotonic() + self._times.patience
            if not error.queue_full or time.monotonic() > until:
                raise error.cause from None
            await self._send_halves(requests, until)
            return
        self._ledger.free([key for key, outcome in outcomes.items() if isinstance(outcome, Exception)])
        for key, outcome in outcomes.items():
            requests[key].settle(outcome)

    async def _send_halves(self, requests: Mapping[bytes, _Waiting], until: float) -> None:
        if len(requests) <= _MAX_DELAYED:  # other batches fill the queue
            await asyncio.sleep(self._times.longest_poll)
        keys = [*requests]
        middle = (len(keys) + 1) // 2
        await self._send({key: requests[key] for key in keys[:middle]}, until)
        if keys[middle:]:
            await self._send({key: requests[key] for key in keys[middle:]})


@contextmanager
def _errors_to(requests: Mapping[bytes, _Waiting]) -> Iterator[None]:
    """Context manager that passes an error of its block to the callers that wait for these requests."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, those who wait raise it
        for request in requests.values():
            request.settle(error)


def _parts(requests: Mapping[bytes, _Waiting]) -> Iterator[dict[bytes, _Waiting]]:
    """Divide requests into batches within the limits."""
    part: dict[bytes, _Waiting] = {}
    size = 0
    for key, request in requests.items():
        added = len(request.body) + _AROUND_BODY
        if part and (len(part) == _MAX_REQUESTS or size + added > _MAX_BYTES):
            yield part
            part, size = {}, 0
        part[key] = request
        size += added
    if part:
        yield part


@asynccontextmanager
async def batch_client(
    service: Service, name: str, cache: Cache, times: BatchTimes | None = None
) -> AsyncIterator[AsyncOpenAI]:
    """Context manager that opens a client whose completions are sent in batches.

    ``name`` is the name of the judge for messages; ``cache`` is the cache of its replies.
    """
    times = times or BatchTimes()
    proxy = proxy_of(URL(service.url))
    # With trust_env the client would send passwords of ~/.netrc.
    async with AsyncClient(
        verify=tls_context(create_ssl_context), trust_env=False, proxy=None if proxy is None else str(proxy)
    ) as http:
        client = AsyncOpenAI(api_key=service.key, base_url=service.url, http_client=http, max_retries=0)
        batches = BatchService(client, name, times)
        completions = BatchCompletions(batches, BatchLedger(cache), name, times)
        vars(client.chat)["completions"] = completions
        try:
            yield client
        finally:
            await completions.close()
