"""Messages of the OpenTelemetry protocol: sizes of Protobuf requests, and responses as Protobuf or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from sgi.io.traces.otlp_protobuf import varint

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_TEXT_WIRE_TYPE = 2
_MORE = 0x80  # the bit of a byte of a varint that says that a byte follows
_FIXED_SIZES = {1: 8, 5: 4}


def export_response(kind: str, rejected: int, reason: str) -> bytes:
    r"""Return an ``ExportTraceServiceResponse``, with the number of rejected spans and the reason.

    >>> export_response(JSON, 0, ""), export_response(JSON, 2, "late")
    (b'{}', b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"late"}}')
    >>> export_response(PROTOBUF, 0, ""), export_response(PROTOBUF, 2, "late")
    (b'', b'\n\x08\x08\x02\x12\x04late')
    """
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = reason
    return bytes(response.SerializeToString()) if kind == PROTOBUF else orjson.dumps(MessageToDict(response))


def status_message(kind: str, code: int, message: str) -> bytes:
    r"""Return a ``google.rpc.Status``, the body of every error.

    >>> status_message(JSON, 3, "no"), status_message(PROTOBUF, 3, "no")
    (b'{"code":3,"message":"no"}', b'\x08\x03\x12\x02no')
    """
    if kind == JSON:
        return orjson.dumps({"code": code, "message": message})
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTracePartialSuccess

    # The package of `Status` is not in the extra; this message has fields of the same numbers and types.
    return bytes(ExportTracePartialSuccess(rejected_spans=code, error_message=message).SerializeToString())


def has_more_fields(request: bytes, most: int) -> bool:
    r"""Return whether a Protobuf request has more than ``most`` fields, at all levels.

    The parser needs far more memory for empty messages than they have bytes in the request. The scan skips
    what is not Protobuf; the parser then reports the mistake.

    >>> has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 2), has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 3)
    (True, False)
    """
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    count = 0
    waiting: list[tuple[int, int, Descriptor]] = [(0, len(request), ExportTraceServiceRequest.DESCRIPTOR)]
    while waiting:
        at, end, message = waiting.pop()
        fields = message.fields_by_number
        while at < end:
            count += 1
            if count > most:
                return True
            tag, at = request[at], at + 1
            if tag & _MORE:
                tag, at = varint(request, at - 1)
            kind = tag & 7
            if kind == _TEXT_WIRE_TYPE:
                size, at = varint(request, at)
                inner = fields[tag >> 3].message_type if tag >> 3 in fields else None
                if inner is not None and size:
                    waiting.append((at, min(at + size, end), inner))
                at += size
            elif kind == 0:
                _, at = varint(request, at)
            else:
                at += _FIXED_SIZES.get(kind, 0)  # a group has tags only
    return False
