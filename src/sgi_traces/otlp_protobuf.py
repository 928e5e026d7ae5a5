"""Read spans of OpenTelemetry's Protobuf: one message, or a stream of messages with their lengths."""

from __future__ import annotations

import re
import zlib
from typing import IO, TYPE_CHECKING, Literal

from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError, require_extra
from sgi.kernel.input_limits import check_time, how_to_raise, input_limits, size_text
from sgi_traces.otlp_json import max_values, service_of, span_or_error
from sgi_traces.span import SERVICE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor

    from sgi_traces.span import Span

_TAG = b"\x0a"  # of field 1, the only field of TracesData and of an export request
_INNER_TAGS = (b"\x0a", b"\x12", b"\x1a")  # of the fields of ResourceSpans
_SPAN = re.compile(rb"\x0a\x10.{16}\x12\x08.{8}", re.DOTALL)
_VARINT_BYTES = 10
_FIXED_BYTES = 4
_TEXT_WIRE_TYPE = 2
_MORE = 0x80  # the bit of a byte of a varint that says that a byte follows
_FIXED_SIZES = {1: 8, 5: 4}

Framing = Literal["message", "varint", "fixed"]
"""One message; messages after their lengths as varints (Protobuf's own); or as 4 bytes (the collector)."""


def framing_of(head: bytes) -> Framing | None:
    """Return how the messages of a file are separated; None if its beginning is not OTLP Protobuf."""
    if _SPAN.search(head) is None:
        return None
    _, end = varint(head, 1)
    if head.startswith(_TAG) and head.startswith(_INNER_TAGS, end):
        return "message"
    if head[0] == 0 and head.startswith(_TAG, _FIXED_BYTES):
        return "fixed"
    _, end = varint(head, 0)
    return "varint" if head.startswith(_TAG, end) else None


def otlp_protobuf_spans(stream: IO[bytes], file: str, framing: Framing) -> Iterator[Span | RawRow]:
    """Yield the spans of a stream; the line of a span is the number of its message, from 1.

    Raises MissingExtraError without ``opentelemetry-proto``; DataError if the stream is cut off, or has a
    message above the limit of a file.
    """
    number = 0
    try:
        for number, payload in enumerate(_messages(stream, framing), 1):
            is_part, most = framing == "message", max_values(len(payload))
            if has_more_fields(payload, most, is_part=is_part):
                hint = "Export fewer spans in a message."
                yield RawRow(number, DataError(f"message {number} has more than {most:,} fields", hint=hint))
            else:
                yield from message_spans(payload, number, is_part=is_part)
    except DataError as error:
        raise DataError(f"message {number + 1} {error.message}", file=file, hint=error.hint) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=file) from error


def message_spans(payload: bytes, line: int, *, is_part: bool = False) -> Iterator[Span | RawRow]:
    """Yield the spans of an export request or ``TracesData``, and a raw row for each invalid span.

    ``is_part`` says that the payload is only the part for one resource (``ResourceSpans``). Raises
    MissingExtraError without ``opentelemetry-proto``.
    """
    with require_extra("Reading OpenTelemetry's Protobuf", "otlp"):
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, TracesData
    try:
        groups = (
            [ResourceSpans.FromString(payload)] if is_part else TracesData.FromString(payload).resource_spans
        )
    except DecodeError:
        yield RawRow(line, DataError(f"message {line} is not OTLP Protobuf"))
        return
    for group in groups:
        check_time()
        service: dict[str, object] | None = None
        for span in (span for scope in group.scope_spans for span in scope.spans):
            check_time()
            if service is None:
                named = [pair for pair in group.resource.attributes if pair.key == SERVICE]
                service = service_of({"attributes": [MessageToDict(pair) for pair in named]})
            # OTLP writes ids in hexadecimal digits, unlike Protobuf's own JSON.
            ids = {"traceId": span.trace_id, "spanId": span.span_id, "parentSpanId": span.parent_span_id}
            values = MessageToDict(span) | {name: value.hex() or None for name, value in ids.items()}
            yield from span_or_error(values, service, line)


def _messages(stream: IO[bytes], framing: Framing) -> Iterator[bytes]:
    """Yield the messages; of one message, its parts, which hold the spans of one resource each."""
    most = input_limits().file
    while first := stream.read(1):
        if framing == "fixed":
            size = int.from_bytes(first + _exactly(stream, _FIXED_BYTES - 1), "big")
        else:
            if framing == "message":
                if first != _TAG:
                    raise DataError("is not OTLP Protobuf")
                first = _exactly(stream, 1)
            while first[-1] & 0x80 and len(first) < _VARINT_BYTES:
                first += _exactly(stream, 1)
            size, _ = varint(first, 0)
        if size > most:
            raise DataError(f"is larger than {size_text(most)}", hint=how_to_raise("file"))
        yield _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise DataError("is cut off", hint="Export the traces again.")
    return data


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, and the place after it."""
    value = 0
    for index, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < _MORE:
            return value, at + index + 1
    return value, at + _VARINT_BYTES


def has_more_fields(request: bytes, most: int, *, is_part: bool = False) -> bool:
    r"""Return whether a Protobuf request has more than ``most`` fields, at all levels.

    The parser needs far more memory for empty messages than they have bytes in the request. The scan skips
    what is not Protobuf; the parser then reports the mistake.

    >>> has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 2), has_more_fields(b"\x0a\x04\x12\x02\x12\x00", 3)
    (True, False)
    """
    if len(request) <= most:
        return False  # a field has at least one byte
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, TracesData

    count = 0
    whole = (ResourceSpans if is_part else TracesData).DESCRIPTOR
    waiting: list[tuple[int, int, Descriptor]] = [(0, len(request), whole)]
    while waiting:
        check_time()
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
