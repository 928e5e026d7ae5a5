"""Receives traces: OTLP over HTTP, as exporters of OpenTelemetry send them."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from sgi.kernel.errors import SgiError, StoreError
from sgi.service.traces.receiver import (
    RETRY_SECONDS,
    BufferFullError,
    Receipt,
    RequestTooLargeError,
    TraceReceiver,
)
from sgi_web.otlp_messages import JSON, PROTOBUF, export_response, status_message
from sgi_web.otlp_request import OtlpRequestError, decode_request, too_large
from sgi_web.site import site_of

BODY_LIMIT = 16 << 20
"""Maximum bytes of a request body, as it is sent."""
BODIES_LIMIT = 64 << 20
"""Maximum bytes of the bodies of all current requests."""
BODY_SECONDS = 60.0
"""Maximum time to receive a body, so that slow clients cannot use up `BODIES_LIMIT`."""

_DISCARD_LIMIT = 4 * BODY_LIMIT
_KINDS = {PROTOBUF, JSON}
_CODES = {400: 3, 404: 12, 413: 3, 415: 3, 503: 14}
"""gRPC codes in the body of an error: invalid argument, unimplemented, unavailable."""

router = APIRouter(include_in_schema=False)


class Intake:
    """Bounds the memory of requests: the bytes of their bodies, and one request that is decoded at a time."""

    def __init__(self) -> None:
        self.bytes = 0
        self.decoding = anyio.CapacityLimiter(1)


@router.post("/v1/traces")
async def traces(request: Request) -> Response:
    """Accept the spans of an export request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        receiver = _receiver(request)
        is_gzip = _is_gzip(request, kind)
        receipt = await _receive(request, partial(_accept, receiver, kind, is_gzip))
    except OtlpRequestError as error:
        return _refusal(kind, error.status, error.message)
    except TimeoutError:
        message = f"The body did not arrive within {BODY_SECONDS:g} s."
        return _refusal(kind, HTTPStatus.SERVICE_UNAVAILABLE, message)
    except ClientDisconnect:
        return Response(status_code=HTTPStatus.BAD_REQUEST)  # no one reads it
    except (BufferFullError, StoreError) as error:
        return _refusal(kind, HTTPStatus.SERVICE_UNAVAILABLE, site_of(request).without_place(error.message))
    return Response(export_response(kind, *receipt), media_type=kind)


async def _receive(request: Request, accept: Callable[[bytes], Receipt]) -> Receipt:
    """Read the body and accept its spans; the body counts as used memory until then."""
    intake: Intake = request.app.state.intake
    parts: list[bytes] = []
    try:
        with anyio.fail_after(BODY_SECONDS):
            await _read_body(request, intake, parts)
        return await anyio.to_thread.run_sync(accept, b"".join(parts), limiter=intake.decoding)
    finally:
        intake.bytes -= sum(map(len, parts))


def _accept(receiver: TraceReceiver, kind: str, is_gzip: bool, body: bytes) -> Receipt:
    try:
        items = decode_request(body, kind, is_gzip=is_gzip)
    except OtlpRequestError as error:
        receiver.refuse_invalid(error.spans, error.message)
        raise
    try:
        return receiver.receive(items)
    except RequestTooLargeError as error:
        raise OtlpRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error.message) from error


def _receiver(request: Request) -> TraceReceiver:
    receiver = site_of(request).receiver
    if receiver is None:
        message = "This server does not receive traces: start it with --otlp."
        raise OtlpRequestError(HTTPStatus.NOT_FOUND, message)
    return receiver


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
            refusal = too_large(BODY_LIMIT)
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
    """Return an error; clients repeat a request only after status 503."""
    kind = kind if kind in _KINDS else JSON
    retry = {"Retry-After": str(RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(status_message(kind, _CODES[status], message), status, retry, media_type=kind)
