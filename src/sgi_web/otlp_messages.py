"""Encode the responses of the OpenTelemetry protocol, in the format of the request: Protobuf or JSON."""

from __future__ import annotations

from typing import Any

import orjson

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

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


def export_response(kind: str, rejected: int, reason: str) -> bytes:
    r"""Return an ``ExportTraceServiceResponse``, with the number of rejected spans and the reason.

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
