"""Encode the responses of the OpenTelemetry protocol: Protobuf or JSON, as the request."""

from __future__ import annotations

from typing import Any

import orjson

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_TEXT_WIRE_TYPE = 2
_LOW_BITS, _MORE = 0x7F, 0x80  # of a byte of a varint


def export_response(kind: str, rejected: int, reason: str) -> bytes:
    r"""Return an ``ExportTraceServiceResponse``; ``rejected`` spans will never be accepted, and why.

    >>> export_response(JSON, 0, ""), export_response(JSON, 2, "late")
    (b'{}', b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"late"}}')
    >>> export_response(PROTOBUF, 0, ""), export_response(PROTOBUF, 2, "late")
    (b'', b'\n\x08\x08\x02\x12\x04late')
    """
    if not rejected:
        return orjson.dumps({}) if kind == JSON else b""
    if kind == JSON:
        partial: dict[str, Any] = {"rejectedSpans": str(rejected), "errorMessage": reason}
        return orjson.dumps({"partialSuccess": partial})
    return _bytes_field(1, _number_field(1, rejected) + _bytes_field(2, reason.encode()))


def status_message(kind: str, code: int, message: str) -> bytes:
    r"""Return a ``google.rpc.Status``, the body of every error.

    >>> status_message(JSON, 3, "no"), status_message(PROTOBUF, 3, "no")
    (b'{"code":3,"message":"no"}', b'\x08\x03\x12\x02no')
    """
    if kind == JSON:
        return orjson.dumps({"code": code, "message": message})
    return _number_field(1, code) + _bytes_field(2, message.encode())


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _TEXT_WIRE_TYPE) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > _LOW_BITS:
        parts.append(value & _LOW_BITS | _MORE)
        value >>= 7
    return bytes([*parts, value])
