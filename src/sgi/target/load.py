"""Opens a target by its spec, with its limits around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sgi.kernel.protocols import Target
    from sgi.target.spec import TargetSpec


@asynccontextmanager
async def open_target(spec: TargetSpec, *, code_folder: Path | None = None) -> AsyncIterator[Target]:
    """The target that the spec names, as long as the context lasts; nothing is asked before ``answer`` is.

    Args:
        spec: which target, and how it is asked.
        code_folder: the only folder whose code may run as a Python target; None allows any.

    Raises:
        UsageError: there is no such function, or a variable that the spec names is not set; or the function
            is not defined in ``code_folder``.
        MissingExtraError: the target is a URL, and the extra ``http`` is not installed.

    >>> import asyncio
    >>> from sgi.target.spec import TargetSpec
    >>> async def ask() -> str:
    ...     async with open_target(TargetSpec(where="textwrap:dedent")) as target:
    ...         return (await target.answer("  Who?")).response
    >>> asyncio.run(ask())
    'Who?'
    """
    if spec.is_url:
        from sgi.target.http import open_http

        async with open_http(spec) as service:
            yield _limit(service, spec)
    else:
        from sgi.target.python import open_python

        with open_python(spec.where, code_folder=code_folder) as function:
            yield _limit(function, spec)


def _limit(target: Target, spec: TargetSpec) -> Target:
    from sgi.target.limits import LimitedTarget

    return LimitedTarget(
        target, concurrency=spec.concurrency, timeout=spec.timeout, retries=spec.retries, rate=spec.rate
    )
