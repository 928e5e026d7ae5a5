"""Limits the size of request bodies by counting received bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sgi_web.site import Site

FORM_LIMIT = 64 * 1024
"""Maximum bytes of a form without a file, and of the form fields beside an uploaded file."""

_OWN_LIMITS = ("/api/", "/v1/traces")


class BodyLimitMiddleware:
    """ASGI middleware that rejects request bodies over the limit with status 413.

    After the limit, it reads and discards as many bytes again, so that browsers show the response. The JSON
    API and the receiver of traces limit their request bodies themselves.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"].startswith(_OWN_LIMITS):
            await self._app(scope, receive, send)
            return
        limit = self._site.upload_limit + FORM_LIMIT if scope["path"] == "/upload" else FORM_LIMIT
        declared = _whole(Request(scope).headers.get("content-length", ""))
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if max(received, declared) <= limit:
                return message
            while received <= 2 * limit and message.get("more_body"):
                message = await receive()
                received += len(message.get("body", b""))
            raise HTTPException(413, too_large_message(limit))

        await self._app(scope, receive_limited, send)


def too_large_message(limit: int) -> str:
    """Return the error message for a body over the limit."""
    return (
        f"The upload exceeds the limit of {limit / 1e6:.1f} MB. Score the file with `sgi run`, "
        "or raise --upload-limit."
    )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0  # noqa: PLR2004 - maximum digits
