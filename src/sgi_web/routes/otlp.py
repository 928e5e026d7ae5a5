"""Receives traces: OTLP over HTTP, as exporters of OpenTelemetry send them; the page about them."""

from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from io import BytesIO
from itertools import islice
from typing import cast

import anyio
import anyio.to_thread
import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError, SgiError, StoreError
from sgi.store.run_queries import list_runs
from sgi_traces.live.receiver import (
    RETRY_SECONDS,
    BufferFullError,
    Receipt,
    RequestTooLargeError,
    TraceReceiver,
)
from sgi_traces.live.trace_runs import RUN_PREFIX
from sgi_traces.otlp_json import has_more_values, request_spans
from sgi_traces.otlp_protobuf import has_more_fields, message_spans
from sgi_traces.span import Span
from sgi_web.body_limit import gunzip
from sgi_web.pages import NotFoundError, page
from sgi_web.site import site_of

PROTOBUF, JSON = "application/x-protobuf", "application/json"
CONTENT_LIMIT = 32 << 20
"""Maximum bytes of a request after decompression."""
MAX_SPANS = 50_000
"""Maximum number of spans in a request."""
MAX_FIELDS = 2_000_000
"""Maximum number of Protobuf fields or JSON values in a request."""

SMALL = 1 << 20
"""A request of at most this size can be parsed in little memory, whatever it has."""
BODY_LIMIT = 16 << 20
"""Maximum bytes of a request body, as it is sent."""
BODIES_LIMIT = 64 << 20
"""Maximum bytes of the bodies of all current requests."""
BODY_SECONDS = 60.0
"""Maximum time to receive a body, so that slow clients cannot use up `BODIES_LIMIT`."""

_DISCARD_LIMIT = 4 * BODY_LIMIT
_KINDS = {PROTOBUF, JSON}
_RUNS = 24
"""Number of runs on the page."""

router = APIRouter(include_in_schema=False)


class OtlpRequestError(SgiError):
    """The server refuses a request, and the client must not repeat it."""

    def __init__(self, status: HTTPStatus, message: str, *, spans: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.spans = spans


class Intake:
    """Bounds the memory of requests: the bytes of their bodies, and one large request decoded at a time.

    Small requests have their own limiter, so that they do not wait for large requests.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.small = anyio.CapacityLimiter(2)
        self.large = anyio.CapacityLimiter(1)


def receiver_of(request: Request) -> TraceReceiver:
    """Return the receiver of the server. Raises NotFoundError if it has none."""
    receiver = site_of(request).receiver
    if receiver is None:
        raise NotFoundError("This server does not receive traces.", hint="Start it with `sgi serve --otlp`.")
    return receiver


@router.get("/traces")
def status(request: Request) -> Response:
    """Show the counts of the receiver of traces, and its newest runs."""
    receiver = receiver_of(request)
    found = list_runs(site_of(request).database, search=RUN_PREFIX, limit=_RUNS)
    runs = [run for run in found if (run.name or "").startswith(RUN_PREFIX)]
    return page(request, "traces.html", receiver=receiver.status(), runs=runs)


@router.post("/v1/traces")
async def traces(request: Request) -> Response:
    """Accept the spans of an export request."""
    receiver = receiver_of(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        is_gzip = _is_gzip(request, kind)
        rejected, reason = await _receive(request, partial(_accept, receiver, kind, is_gzip))
    except OtlpRequestError as error:
        return _refusal(kind, error.status, error.message)
    except TimeoutError:
        message = f"The body did not arrive within {BODY_SECONDS:g} s."
        return _refusal(kind, HTTPStatus.SERVICE_UNAVAILABLE, message)
    except ClientDisconnect:
        return Response(status_code=HTTPStatus.BAD_REQUEST)  # no one reads it
    except (BufferFullError, StoreError) as error:
        return _refusal(kind, HTTPStatus.SERVICE_UNAVAILABLE, site_of(request).without_place(error.message))
    return Response(_export_response(kind, rejected, reason), media_type=kind)


def _export_response(kind: str, rejected: int, reason: str) -> bytes:
    r"""Return an ``ExportTraceServiceResponse``, with the number of rejected spans and the reason.

    >>> _export_response(JSON, 0, ""), _export_response(JSON, 2, "late")
    (b'{}', b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"late"}}')
    >>> _export_response(PROTOBUF, 0, ""), _export_response(PROTOBUF, 2, "late")
    (b'', b'\n\x08\x08\x02\x12\x04late')
    """
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = reason
    return bytes(response.SerializeToString()) if kind == PROTOBUF else orjson.dumps(MessageToDict(response))


async def _receive(request: Request, accept: Callable[[bytes, int], Receipt | None]) -> Receipt:
    """Read the body and accept its spans; the body counts as used memory until then."""
    intake: Intake = request.app.state.intake
    parts: list[bytes] = []
    try:
        with anyio.fail_after(BODY_SECONDS):
            await _read_body(request, intake, parts)
        body = b"".join(parts)
        receipt = await anyio.to_thread.run_sync(accept, body, SMALL, limiter=intake.small)
        if receipt is None:
            receipt = await anyio.to_thread.run_sync(accept, body, CONTENT_LIMIT, limiter=intake.large)
        return cast("Receipt", receipt)
    finally:
        intake.bytes -= sum(map(len, parts))


def _accept(receiver: TraceReceiver, kind: str, is_gzip: bool, body: bytes, limit: int) -> Receipt | None:
    """Accept the spans of a request; return None if it has more bytes than a limit below `CONTENT_LIMIT`."""
    try:
        content = unpack(body, limit) if is_gzip else body
        if content is None or len(content) > limit:
            if limit < CONTENT_LIMIT:
                return None
            raise _too_large(CONTENT_LIMIT)
        items = decode_request(content, kind)
    except OtlpRequestError as error:
        receiver.refuse_invalid(error.spans, error.message)
        raise
    try:
        return receiver.receive(items)
    except RequestTooLargeError as error:
        raise OtlpRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.message) from error


def _is_gzip(request: Request, kind: str) -> bool:
    wrong_type = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    if kind not in _KINDS:
        raise OtlpRequestError(wrong_type, f"The Content-Type must be {PROTOBUF} or {JSON}.")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"gzip", "identity"}:
        raise OtlpRequestError(wrong_type, "The Content-Encoding must be gzip or identity.")
    return encoding == "gzip"


async def _read_body(request: Request, intake: Intake, parts: list[bytes]) -> None:
    """Read the body into parts; discard the rest of a refused body, so that the client gets the response."""
    size = 0
    refusal: SgiError | None = None
    async for part in request.stream():
        size += len(part)
        if size > BODY_LIMIT:
            refusal = _too_large(BODY_LIMIT)
        elif intake.bytes + len(part) > BODIES_LIMIT:
            refusal = refusal or BufferFullError("The server handles too many requests now.")
        if refusal is None:
            intake.bytes += len(part)
            parts.append(part)
        elif size > _DISCARD_LIMIT:
            break
    if refusal is not None:
        raise refusal


def _refusal(kind: str, status: HTTPStatus, message: str) -> Response:
    """Return an error as a ``google.rpc.Status``; clients repeat a request only after status 503."""
    is_busy = status is HTTPStatus.SERVICE_UNAVAILABLE
    code = 14 if is_busy else 3  # gRPC: unavailable, invalid argument
    headers = {"Retry-After": str(RETRY_SECONDS)} if is_busy else {}
    if kind != PROTOBUF:
        return Response(orjson.dumps({"code": code, "message": message}), status, headers, media_type=JSON)
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as wire

    # This message has the same fields as a Status: a number and a text.
    body = wire.ExportTracePartialSuccess(rejected_spans=code, error_message=message).SerializeToString()
    return Response(body, status, headers, media_type=PROTOBUF)


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


def _too_large(limit: int) -> OtlpRequestError:
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
