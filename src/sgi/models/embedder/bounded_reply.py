"""Limits the size of replies of an embedding service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_REPLY = 200_000_000
"""Bytes of a reply: 2,048 vectors of 3,072 decimal numbers have at most 130 MB."""
HEADERS = {"Accept-Encoding": "identity"}
"""Without compression a reply takes no more memory than the bytes received."""


class ReplyRefusedError(httpx2.ReadError):
    """A reply is compressed or too large; the message completes "the service sent"."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_REPLY:
                raise ReplyRefusedError(f"more than {MAX_REPLY:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def limit_replies(response: httpx2.Response) -> None:
    """Limit a reply to `MAX_REPLY` bytes; ReplyRefusedError if it is compressed. An event hook of httpx2."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ReplyRefusedError("a compressed reply, which was not requested")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)
