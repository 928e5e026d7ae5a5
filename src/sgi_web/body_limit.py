"""Limits on what clients send: the bytes of request bodies, and the work of decompressing gzip."""

from __future__ import annotations

import zlib
from typing import IO, TYPE_CHECKING

from starlette.exceptions import HTTPException

from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sgi_web.site import Site

FORM_LIMIT = 64 * 1024
"""Maximum bytes of a form without a file, and of the form fields beside an uploaded file."""
_MAX_DIGITS = 20
API_LIMIT = 8 << 20
"""Maximum bytes of a request to the JSON API."""

MAX_MEMBERS = 10_000
"""Maximum number of gzip members. A tool that writes members of 64 KB (bgzip) needs them for 640 MB."""

_GZIP = 16 + zlib.MAX_WBITS
_READ = 1 << 16  # bytes; zlib copies the rest of what it gets at the end of each member
_PIECE = 1 << 20


class BodyLimitMiddleware:
    """ASGI middleware that rejects request bodies over the limit with status 413.

    After the limit, it reads and discards as many bytes again, so that clients show the response. The
    receiver of traces limits its request bodies itself.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        path = scope.get("path", "")
        limit = API_LIMIT if path.startswith("/api/") else FORM_LIMIT
        if path == "/upload":
            limit += self._site.upload_limit
        declared = _whole(dict(scope.get("headers", ())).get(b"content-length", b""))
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

        await self._app(scope, receive if path == "/v1/traces" else receive_limited, send)


def too_large_message(limit: int) -> str:
    """Return the error message for a body over the limit."""
    return (
        f"The request exceeds the limit of {limit / 1e6:.1f} MB. Send less at once. For a larger file, use "
        "`sgi run`, or raise --upload-limit."
    )


def _whole(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < _MAX_DIGITS else 0


def gunzip(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of one or several gzip members, in pieces of at most 1 MB.

    The work is linear in the size, also for many members. Raises DataError if the stream is not gzip, is cut
    off, or has too many members.
    """
    data = stream.read(_READ)
    for _ in range(MAX_MEMBERS):
        if not data:
            return
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            if not data:
                raise DataError("the gzip data is cut off")
            try:
                yield member.decompress(data, _PIECE)
            except zlib.error:
                raise DataError("it is not valid gzip") from None
            data = member.unused_data or member.unconsumed_tail or stream.read(_READ)
    if data:
        raise DataError(f"it has more than {MAX_MEMBERS:,} gzip members")
