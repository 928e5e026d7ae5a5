"""Opens a target, the RAG system under test, by its spec, and enforces its limits (rate, time, retries)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sgi.kernel.protocols import Target
    from sgi.target.target_spec import TargetSpec


@asynccontextmanager
async def open_target(spec: TargetSpec, *, code_folder: Path | None = None) -> AsyncIterator[Target]:
    """Context manager that opens the target of a spec and enforces its limits.

    Args:
        spec: the target and its settings.
        code_folder: the only folder whose code may run as a Python target; None allows every folder.

    Raises:
        UsageError: the function does not exist or is not defined in ``code_folder``, or a variable in the
            spec is not set.
        MissingExtraError: the target is a URL, and the extra ``http`` is not installed.
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
    from sgi.target.target_limits import LimitedTarget

    return LimitedTarget(
        target, concurrency=spec.concurrency, timeout=spec.timeout, retries=spec.retries, rate=spec.rate
    )
