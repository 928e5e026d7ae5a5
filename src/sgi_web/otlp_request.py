"""Decode export requests of OpenTelemetry, in bounded memory."""

from __future__ import annotations

import re
import zlib
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from sgi.io.raw_rows import RawRow
from sgi.io.traces.otlp_json import request_spans
from sgi.io.traces.otlp_protobuf import message_spans
from sgi.kernel.errors import DataError, SgiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.traces.span import Span

PROTOBUF, JSON = "application/x-protobuf", "application/json"
CONTENT_LIMIT = 32 << 20
"""Maximum bytes of a request after decompression."""
MAX_SPANS = 50_000
"""Maximum number of spans in a request."""
MAX_FIELDS = 2_000_000
"""Maximum number of Protobuf fields or JSON values in a request."""

_GZIP = 16 + zlib.MAX_WBITS
_SMALL = 1 << 20  # bytes; a smaller request can be parsed in little memory, whatever it has
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[,]', re.DOTALL)
_QUOTE = ord('"')
_TEXT_WIRE_TYPE = 2
_FIXED_SIZES = {1: 8, 5: 4}
_MESSAGES: dict[str, dict[int, str]] = {
    "request": {1: "resource_spans"},
    "resource_spans": {1: "resource", 2: "scope_spans"},
    "resource": {1: "pair"},
    "scope_spans": {1: "scope", 2: "span"},
    "scope": {3: "pair"},
    "span": {9: "pair", 11: "event", 13: "link"},
    "event": {3: "pair"},
    "link": {4: "pair"},
    "pair": {2: "value"},
    "value": {5: "array", 6: "pairs"},
    "array": {1: "value"},
    "pairs": {1: "pair"},
}
"""The messages in each message of a request, by the number of their field."""
_VARINT_BITS = 64
_LOW_BITS, _MORE = 0x7F, 0x80  # of a byte of a varint


class OtlpRequestError(SgiError):
    """The server refuses a request, and the client must not repeat it."""

    def __init__(self, status: HTTPStatus, message: str, *, spans: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.spans = spans


def decode_request(body: bytes, kind: str, *, is_gzip: bool) -> list[Span | RawRow]:
    """Return the spans of a request, and a raw row for each span that cannot be read.

    Args:
        body: the body as it was sent.
        kind: `PROTOBUF` or `JSON`.
        is_gzip: whether the body is compressed.

    Raises:
        OtlpRequestError: the request is not OTLP, none of its spans can be read, or it is too large.
    """
    try:
        content = _decompress(body) if is_gzip else body
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
    has_more = has_more_fields if kind == PROTOBUF else _has_more_values
    if len(content) > _SMALL and has_more(content, MAX_FIELDS):
        raise _too_many(f"{MAX_FIELDS:,} fields")
    if kind == PROTOBUF:
        return message_spans(content, 1)
    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"invalid JSON: {error.msg}") from None
    return request_spans(values, 1)


def has_more_fields(request: bytes, most: int) -> bool:
    r"""Return whether a Protobuf request has more than ``most`` fields, at all levels.

    The parser needs far more memory for empty messages than they have bytes in the request. The scan skips
    what is not Protobuf; the parser then reports the mistake.

    >>> has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 2), has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 3)
    (True, False)
    """
    count = 0
    waiting: list[tuple[int, int, str]] = [(0, len(request), "request")]
    while waiting:
        at, end, name = waiting.pop()
        fields = _MESSAGES[name]
        while at < end:
            count += 1
            if count > most:
                return True
            tag, at = request[at], at + 1
            if tag & _MORE:
                tag, at = _read_varint(request, at - 1, end)
            kind = tag & 7
            if kind == _TEXT_WIRE_TYPE:
                size, at = _read_varint(request, at, end)
                inner = fields.get(tag >> 3)
                if inner is not None and size:
                    waiting.append((at, min(at + size, end), inner))
                at += size
            elif kind == 0:
                _, at = _read_varint(request, at, end)
            else:
                at += _FIXED_SIZES.get(kind, 0)  # a group has tags only
    return False


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, _VARINT_BITS, 7):
        if at >= end:
            break
        value |= (data[at] & _LOW_BITS) << shift
        at += 1
        if not data[at - 1] & _MORE:
            break
    return value, at


def _has_more_values(content: bytes, most: int) -> bool:
    """Return whether JSON has more values; the quick count includes the marks in strings."""
    if sum(map(content.count, (b"{", b"[", b","))) <= most:
        return False
    marks = (token for token in _TOKEN.finditer(content) if content[token.start()] != _QUOTE)
    return next(islice(marks, most, None), None) is not None


def _decompress(body: bytes) -> bytes:
    """Decompress one or several gzip members, up to the limit."""
    parts: list[bytes] = []
    left = CONTENT_LIMIT
    while body:
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(body, left + 1)
        except zlib.error:
            raise DataError("the body is not valid gzip") from None
        left -= len(part)
        if left < 0:
            raise too_large(CONTENT_LIMIT)
        if not member.eof:
            raise DataError("the gzip body is cut off")
        parts.append(part)
        body = member.unused_data
    return b"".join(parts)
