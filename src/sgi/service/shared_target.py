"""The target of a service: opened at first use, shared by its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError
from sgi.service.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from sgi.kernel.protocols import Target
    from sgi.target.spec import TargetSpec

    TargetLike = str | TargetSpec | Callable[[str], Any]


class SharedTarget:
    """A target that is opened at first use, once for each event loop.

    Args:
        wanted: ``module:function``, a URL, a TargetSpec, or a function that takes the question; or None.

    Raises:
        UsageError: it is none of these.

    >>> import anyio
    >>> async def ask(question):
    ...     return (await (await SharedTarget(str.upper).opened()).answer(question)).response
    >>> anyio.run(ask, "who?")
    'WHO?'
    """

    def __init__(self, like: TargetLike | None) -> None:
        self._wanted = _parse_target(like)
        self._shared = Shared(self._open)

    async def opened(self) -> Target:
        """The target.

        Raises:
            UsageError: there is none, or it cannot be opened.
        """
        return await self._shared.opened()

    async def aclose(self) -> None:
        """Close it; closing twice does no harm."""
        await self._shared.aclose()

    async def _open(self, stack: AsyncExitStack) -> Target:
        from sgi.target.limits import LimitedTarget
        from sgi.target.load import open_target
        from sgi.target.python import PythonTarget
        from sgi.target.spec import TargetSpec

        if self._wanted is None:
            hint = "Give answer=, or make the service with a target."
            raise UsageError("There is no answer, and no target to ask for one.", hint=hint)
        if isinstance(self._wanted, TargetSpec):
            return await stack.enter_async_context(open_target(self._wanted))
        module = getattr(self._wanted, "__module__", None) or type(self._wanted).__module__
        name = getattr(self._wanted, "__qualname__", type(self._wanted).__qualname__)
        return LimitedTarget(PythonTarget(f"{module}:{name}", self._wanted))


def _parse_target(wanted: object) -> TargetSpec | Callable[[str], Any] | None:
    from sgi.target.spec import TargetSpec

    if isinstance(wanted, str):
        return TargetSpec(where=wanted)
    if wanted is None or isinstance(wanted, TargetSpec) or callable(wanted):
        return wanted
    hint = "It is module:function, a URL, a TargetSpec, or a function that takes the question."
    raise UsageError(f"{type(wanted).__name__} is no target.", hint=hint)
