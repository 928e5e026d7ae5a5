"""FastAPI: a dependency that checks answers, and streams them sentence by sentence."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any, Self

from sgi.integrations.guarded_answers import AnswerBlockedError, allowed_text, iterate_in_thread
from sgi.kernel.errors import require_extra
from sgi.service.guard import Guard

with require_extra("sgi.integrations.fastapi", "fastapi"):
    from fastapi import HTTPException
    from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi.kernel.guard_verdict import GuardVerdict


class AnswerBlockedHTTPError(HTTPException):
    """The guard blocked an answer. Clients see no part of it; ``verdict.reason`` quotes it."""

    def __init__(self, status_code: int, verdict: GuardVerdict) -> None:
        super().__init__(status_code, AnswerBlockedError(verdict).message)
        self.verdict = verdict


class GuardDependency(Guard):
    """A guard for ``Depends``: all requests share it. ``app.dependency_overrides`` can replace it.

    Args:
        file: a guard file; see `sgi.Guard`, also for the options.
        status_code: the HTTP status of a blocked answer.
        options: ``on_error`` and ``timeout`` of `sgi.Guard`.
    """

    def __init__(self, file: Any, *, status_code: int = 422, **options: Any) -> None:
        super().__init__(file, **options)
        self.status_code = status_code

    def __call__(self) -> Self:
        """Return this guard to a path function."""
        return self

    async def require(self, question: str, contexts: Sequence[str], response: str) -> GuardVerdict:
        """Return the verdict on an answer that is allowed.

        Raises:
            AnswerBlockedHTTPError: the answer is blocked.
        """
        verdict = await self.acheck(question, contexts, response)
        if verdict.blocked:
            raise AnswerBlockedHTTPError(self.status_code, verdict)
        return verdict

    def streaming_response(
        self,
        question: str,
        contexts: Sequence[str],
        chunks: AsyncIterable[str] | Iterable[str],
        *,
        fallback: str,
        **options: Any,
    ) -> StreamingResponse:
        """Return a response that sends each sentence when it is allowed.

        A status cannot change after the first sentence. Therefore the response ends with ``fallback``, which
        should also take back the sentences before it.

        Args:
            question: the question; "" if there is none.
            contexts: the passages.
            chunks: the answer in pieces of any size.
            fallback: what is sent in place of the rest of a blocked answer.
            options: ``media_type`` (default: text/plain) and other arguments of ``StreamingResponse``.
        """
        pieces = chunks if isinstance(chunks, AsyncIterable) else iterate_in_thread(chunks)
        text = allowed_text(self.stream(question, contexts, pieces), fallback)
        return StreamingResponse(text, **{"media_type": "text/plain", **options})
