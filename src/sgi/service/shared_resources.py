"""The target of a service: opened at first use, and shared by its tasks."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio
from anyio.lowlevel import current_token

from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sgi.kernel.protocols import Target
    from sgi.target.target_spec import TargetSpec

    TargetLike = str | TargetSpec | Callable[[str], Any]

T = TypeVar("T")


class SharedResource(Generic[T]):
    """Opens a resource once for each event loop, since its connections belong to the loop.

    ``open_resource`` opens the resource, and registers on the exit stack what must be closed.

    >>> async def open_resource(stack):
    ...     print("opened")
    ...     return "thing"
    >>> async def use():
    ...     shared = SharedResource(open_resource)
    ...     return await shared.get(), await shared.get()
    >>> anyio.run(use)
    opened
    ('thing', 'thing')
    """

    def __init__(self, open_resource: Callable[[AsyncExitStack], Awaitable[T]]) -> None:
        self._open_resource = open_resource
        self._lock = anyio.Lock()
        self._loop: object = None
        self._stack = AsyncExitStack()
        self._resources: list[T] = []

    async def get(self) -> T:
        """Return the open resource; errors of ``open_resource`` are raised."""
        async with self._lock:
            if not self._resources or self._loop != current_token():
                async with AsyncExitStack() as stack:  # closes what is open if a later step fails
                    resource = await self._open_resource(stack)
                    self._loop, self._resources, self._stack = current_token(), [resource], stack.pop_all()
            return self._resources[0]

    async def aclose(self) -> None:
        """Close the resource. You can call it twice."""
        self._resources = []
        await self._stack.aclose()


def shared_target(like: TargetLike | None) -> SharedResource[Target]:
    """Return the target: ``module:function``, a URL, a TargetSpec, or a function that takes the question.

    With None, ``get`` raises a UsageError.

    Raises:
        UsageError: the target is none of these.

    >>> async def ask(question):
    ...     return (await (await shared_target(str.upper).get()).answer(question)).response
    >>> anyio.run(ask, "who?")
    'WHO?'
    """
    from sgi.target.target_spec import TargetSpec

    target: object = TargetSpec(where=like) if isinstance(like, str) else like
    if not (target is None or isinstance(target, TargetSpec) or callable(target)):
        hint = "It is module:function, a URL, a TargetSpec, or a function that takes the question."
        raise UsageError(f"{type(target).__name__} is not a target.", hint=hint)

    async def open_resource(stack: AsyncExitStack) -> Target:
        from sgi.target.open_target import open_target
        from sgi.target.python import PythonTarget
        from sgi.target.target_limits import LimitedTarget

        if target is None:
            hint = "Give `answer`, or create the service with a target."
            raise UsageError("The row has no answer, and no target is set to ask for one.", hint=hint)
        if isinstance(target, TargetSpec):
            return await stack.enter_async_context(open_target(target))
        module = getattr(target, "__module__", None) or type(target).__module__
        name = getattr(target, "__qualname__", type(target).__qualname__)
        return LimitedTarget(PythonTarget(f"{module}:{name}", target))

    return SharedResource(open_resource)
