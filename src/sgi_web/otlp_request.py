"""Decode export requests of OpenTelemetry, in bounded memory."""

from __future__ import annotations

from http import HTTPStatus
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError, SgiError
from sgi_traces.otlp_json import has_more_values, request_spans
from sgi_traces.otlp_protobuf import has_more_fields, message_spans
from sgi_web.gunzip import gunzip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi_traces.span import Span

PROTOBUF, JSON = "application/x-protobuf", "application/json"
CONTENT_LIMIT = 32 << 20
"""Maximum bytes of a request after decompression."""
MAX_SPANS = 50_000
"""Maximum number of spans in a request."""
MAX_FIELDS = 2_000_000
"""Maximum number of Protobuf fields or JSON values in a request."""

SMALL = 1 << 20
"""A request of at most this size can be parsed in little memory, whatever it has."""


class OtlpRequestError(SgiError):
    """The server refuses a request, and the client must not repeat it."""

    def __init__(self, status: HTTPStatus, message: str, *, spans: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.spans = spans


def unpack(body: bytes, limit: int) -> bytes | None:
    """Decompress a body; return None if it has more bytes than the limit.

    Raises:
        OtlpRequestError: it is not gzip, or has too many members.
    """
    parts: list[bytes] = []
    left = limit
    try:
        for part in gunzip(BytesIO(body)):
            left -= len(part)
            if left < 0:
                return None
            parts.append(part)
    except DataError as error:
        raise OtlpRequestError(HTTPStatus.BAD_REQUEST, f"The body cannot be read: {error}.") from error
    return b"".join(parts)


def decode_request(content: bytes, kind: str) -> list[Span | RawRow]:
    """Return the spans of a request, and a raw row for each span that cannot be read.

    Args:
        content: the body, not compressed.
        kind: `PROTOBUF` or `JSON`.

    Raises:
        OtlpRequestError: the request is not OTLP, none of its spans can be read, or it is too large.
    """
    try:
        spans = (item for item in _spans(content, kind) if isinstance(item, RawRow) or item.is_readable)
        items = list(islice(spans, MAX_SPANS + 1))
    except DataError as error:
        raise OtlpRequestError(HTTPStatus.BAD_REQUEST, str(error)) from error
    if len(items) > MAX_SPANS:
        raise _too_many(f"{MAX_SPANS:,} spans")
    if items and all(isinstance(item, RawRow) for item in items):
        raise OtlpRequestError(HTTPStatus.BAD_REQUEST, str(items[0].values), spans=len(items))  # type: ignore[union-attr]
    return items


def too_large(limit: int) -> OtlpRequestError:
    """Return the error of a request that exceeds a limit in bytes."""
    message = f"The spans exceed {limit >> 20} MB. Send fewer spans in a request."
    return OtlpRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def _too_many(limit: str) -> OtlpRequestError:
    message = f"A request has at most {limit}. Send fewer spans in a request."
    return OtlpRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def _spans(content: bytes, kind: str) -> Iterator[Span | RawRow]:
    has_more = has_more_fields if kind == PROTOBUF else has_more_values
    if has_more(content, MAX_FIELDS):
        raise _too_many(f"{MAX_FIELDS:,} fields")
    if kind == PROTOBUF:
        return message_spans(content, 1)
    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"invalid JSON: {error.msg}") from None
    return request_spans(values, 1)
