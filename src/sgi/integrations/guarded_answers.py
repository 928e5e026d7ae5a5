"""What adapters of `sgi.Guard` share: the error of a blocked answer, and the allowed text of a stream."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator

    from sgi.kernel.guard_verdict import GuardVerdict

T = TypeVar("T")

_END: Any = object()


class AnswerBlockedError(SgiError):
    """The guard blocked an answer.

    The message has no part of the answer, so that users can see it; ``verdict.reason`` quotes the answer.
    """

    def __init__(self, verdict: GuardVerdict) -> None:
        why = "it could not be checked" if verdict.error else "its passages do not support it"
        super().__init__(f"The answer is blocked: {why}.")
        self.verdict = verdict


async def allowed_text(verdicts: AsyncGenerator[GuardVerdict], fallback: str | None) -> AsyncGenerator[str]:
    """Yield the sentences that `Guard.stream` allows; if the answer is blocked, then the fallback.

    Raises:
        AnswerBlockedError: the answer is blocked, and the fallback is None.
    """
    blocked = None
    async with aclosing(verdicts) as opened:
        async for verdict in opened:
            if verdict.blocked:
                blocked = verdict
            elif blocked is None and verdict.text:
                yield verdict.text
    if blocked is not None:
        if fallback is None:
            raise AnswerBlockedError(blocked)
        yield fallback


def iterate(items: AsyncGenerator[T]) -> Iterator[T]:
    """Iterate over an asynchronous generator from synchronous code; its event loop has its own thread."""
    with start_blocking_portal() as portal:
        try:
            while (item := portal.call(anext, items, _END)) is not _END:
                yield item
        finally:
            portal.call(items.aclose)


async def iterate_in_thread(items: Iterable[T]) -> AsyncGenerator[T]:
    """Iterate over a synchronous iterable in threads, from asynchronous code, and close it."""
    iterator = iter(items)
    try:
        while (item := await anyio.to_thread.run_sync(next, iterator, _END)) is not _END:
            yield item
    finally:
        close = getattr(items, "close", None) or getattr(iterator, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(close)
