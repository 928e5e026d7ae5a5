"""Receives traces: OTLP over HTTP, as exporters of OpenTelemetry send them."""

import zlib
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import NamedTuple

import anyio.to_thread
import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response

from sgi.io.raw_rows import RawRow
from sgi.io.traces.otlp_json import request_spans
from sgi.io.traces.otlp_protobuf import message_spans
from sgi.io.traces.span import Span
from sgi.kernel.errors import DataError, SgiError, StoreError
from sgi.service.traces.receiver import RETRY_SECONDS, BufferFullError, Receipt, TraceReceiver
from sgi.web.otlp_messages import JSON, PROTOBUF, export_response, has_more_spans, status_message
from sgi.web.site import site_of

PATH = "/v1/traces"
BODY_LIMIT = 16 << 20
"""Maximum bytes of a request body, as it is sent."""
BODIES_LIMIT = 64 << 20
"""Maximum bytes of the bodies of all requests in work."""
CONTENT_LIMIT = 32 << 20
"""Maximum bytes of a request after decompression."""
MAX_SPANS = 50_000
"""Maximum number of spans in a request, with their resources and scopes."""

_DISCARD_LIMIT = 4 * BODY_LIMIT
_GZIP = 16 + zlib.MAX_WBITS
_CODES = {400: 3, 404: 12, 413: 3, 415: 3, 503: 14}
"""gRPC codes in the body of an error: invalid argument, unimplemented, unavailable."""

router = APIRouter(include_in_schema=False)


class _RequestError(Exception):
    """A request that is refused with a status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Head(NamedTuple):
    """The type of the body, `PROTOBUF` or `JSON`, and whether the body is compressed."""

    kind: str
    is_gzip: bool


@router.post(PATH)
async def traces(request: Request) -> Response:
    """Accept the spans of an export request."""
    kind = _content_type(request)
    try:
        receiver = _receiver(request)
        head = _head(request, kind)
        receipt = await _receive(request, receiver, head)
    except _RequestError as error:
        return _refusal(kind, error.status, str(error))
    except (BufferFullError, StoreError) as error:
        return _refusal(kind, HTTPStatus.SERVICE_UNAVAILABLE, site_of(request).without_place(error.message))
    except SgiError as error:
        return _refusal(kind, HTTPStatus.BAD_REQUEST, str(error))
    return Response(export_response(head.kind, *receipt), media_type=head.kind)


def _receiver(request: Request) -> TraceReceiver:
    receiver = site_of(request).receiver
    if receiver is None:
        raise _RequestError(
            HTTPStatus.NOT_FOUND, "This server does not receive traces: start it with --otlp."
        )
    return receiver


class Intake:
    """Bounds the memory of requests: the bytes of their bodies, and one request that is decoded at a time."""

    def __init__(self) -> None:
        self.bytes = 0
        self.decoding = anyio.CapacityLimiter(1)


async def _receive(request: Request, receiver: TraceReceiver, head: _Head) -> Receipt:
    intake: Intake = request.app.state.intake
    parts: list[bytes] = []
    size = 0
    refusal: Exception | None = None
    try:
        async for part in request.stream():
            size += len(part)
            intake.bytes += len(part)
            if size > BODY_LIMIT:
                refusal = _too_large(BODY_LIMIT)
            elif intake.bytes > BODIES_LIMIT:
                refusal = refusal or BufferFullError("Too many requests are in work.")
            if refusal is None:
                parts.append(part)
            else:  # the client reads the response only after it has sent the body
                parts.clear()
                if size > _DISCARD_LIMIT:
                    break
        if refusal is not None:
            raise refusal
        accept = partial(_accept, receiver, head, b"".join(parts))
        return await anyio.to_thread.run_sync(accept, limiter=intake.decoding)
    finally:
        intake.bytes -= size


def _accept(receiver: TraceReceiver, head: _Head, body: bytes) -> Receipt:
    content = _decompress(body) if head.is_gzip else body
    items = list(islice(_spans(content, head.kind), MAX_SPANS + 1))
    if len(items) > MAX_SPANS:
        raise _too_many()
    if items and not any(isinstance(item, Span) for item in items):
        receiver.refuse_invalid(len(items))
        raise _error_of(items[0])
    return receiver.receive(items)


def _spans(content: bytes, kind: str) -> Iterator[Span | RawRow]:
    if kind == PROTOBUF:
        if has_more_spans(content, MAX_SPANS):
            raise _too_many()
        return message_spans(content, 1)
    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"invalid JSON: {error.msg}") from None
    return request_spans(values, 1)


def _error_of(item: Span | RawRow) -> DataError:
    error = item.values if isinstance(item, RawRow) else None
    return error if isinstance(error, DataError) else DataError("the spans cannot be read")


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _head(request: Request, kind: str) -> _Head:
    if kind not in {PROTOBUF, JSON}:
        raise _RequestError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"The Content-Type must be {PROTOBUF} or {JSON}."
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"gzip", "identity"}:
        raise _RequestError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The Content-Encoding must be gzip or identity."
        )
    return _Head(kind, encoding == "gzip")


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
            raise _too_large(CONTENT_LIMIT)
        if not member.eof:
            raise DataError("the gzip body is cut off")
        parts.append(part)
        body = member.unused_data
    return b"".join(parts)


def _too_large(limit: int) -> _RequestError:
    message = f"The spans exceed {limit >> 20} MB. Send fewer spans in a request."
    return _RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def _too_many() -> _RequestError:
    message = f"A request has at most {MAX_SPANS:,} spans. Send fewer spans in a request."
    return _RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def _refusal(kind: str, status: HTTPStatus, message: str) -> Response:
    """Return an error; clients repeat a request only after status 503."""
    kind = kind if kind in {PROTOBUF, JSON} else JSON
    retry = {"Retry-After": str(RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(status_message(kind, _CODES[status], message), status, retry, media_type=kind)
