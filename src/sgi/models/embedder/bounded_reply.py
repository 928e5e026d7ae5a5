"""Limits the size of replies of an embedding service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_REPLY = 200_000_000
"""The maximum size of a reply in bytes; 2,048 vectors of 3,072 decimal numbers have at most 130 MB."""
HEADERS = {"Accept-Encoding": "identity"}
"""Header of a request for uncompressed replies, so that a small reply cannot expand in memory."""


class ReplyRefusedError(httpx2.ReadError):
    """A reply is compressed or too large. The message is the end of a sentence: "the service sent ..."."""


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
    """Event hook of httpx2: limit a reply to `MAX_REPLY` bytes, and refuse a compressed reply."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ReplyRefusedError("a compressed reply, which was not requested")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)
