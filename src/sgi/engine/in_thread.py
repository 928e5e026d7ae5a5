"""Run a blocking call in a thread, and report its progress until it returns."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from sgi.models.batching import current_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

_SECONDS = 0.2
_BLOCKING: ContextVar[bool] = ContextVar("sgi_blocking", default=False)


@contextmanager
def blocking_calls() -> Iterator[None]:
    """Context manager in which `in_thread` blocks the event loop, which saves two switches of threads.

    Use it only if the event loop has nothing else to do.
    """
    token = _BLOCKING.set(True)
    try:
        yield
    finally:
        _BLOCKING.reset(token)


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """Run a blocking call in a thread; report the progress of this context until it returns.

    The first exception, in the call or in the report, ends both and is raised unchanged.

    >>> anyio.run(in_thread, len, "text")
    4
    """
    if _BLOCKING.get():
        return call(*arguments)
    run = partial(anyio.to_thread.run_sync, call, *arguments, abandon_on_cancel=True)
    report = current_work().report
    if report is None:
        return await run()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_repeat, report)
            result = await run()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    return result


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that is not an exception group, with its traceback and notes."""
    error = errors.exceptions[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error


async def _repeat(report: Callable[[], None]) -> None:
    while True:
        await anyio.sleep(_SECONDS)
        report()
