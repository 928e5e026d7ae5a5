"""Read spans of OpenTelemetry's Protobuf: one message, or a stream of messages with their lengths."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Literal

from sgi.io.raw_rows import RawRow
from sgi.io.traces.attributes import is_used, nest
from sgi.io.traces.span import SERVICE, Event, Span, unreadable_span
from sgi.kernel.errors import DataError, MissingExtraError
from sgi.kernel.limits import how_to_raise, input_limits, size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_TAG = 0x0A  # of field 1, the only field of TracesData and of an export request
_INNER_TAGS = (0x0A, 0x12, 0x1A)  # of the fields of ResourceSpans
_SPAN = re.compile(rb"\x0a\x10.{16}\x12\x08.{8}", re.DOTALL)
_VARINT_BYTES = 10
_FIXED_BYTES = 4
_MAX_DEPTH = 60
_TRACE_BYTES, _SPAN_BYTES = 16, 8

Framing = Literal["message", "varint", "fixed"]
"""One message; messages after their lengths as varints (Protobuf's own); or as 4 bytes (the collector)."""


def framing_of(head: bytes) -> Framing | None:
    """Return how the messages of a file are separated; None if its beginning is not OTLP Protobuf."""
    if _SPAN.search(head) is None:
        return None
    _, end = _varint(head, 1)
    if head[0] == _TAG and head[end] in _INNER_TAGS:
        return "message"
    if head[0] == 0 and head[_FIXED_BYTES] == _TAG:
        return "fixed"
    _, end = _varint(head, 0)
    return "varint" if head[end] == _TAG else None


def otlp_protobuf_spans(stream: IO[bytes], file: str, framing: Framing) -> Iterator[Span | RawRow]:
    """Yield the spans of a stream; the line of a span is the number of its message, from 1.

    Raises MissingExtraError without ``opentelemetry-proto``; DataError if the stream is cut off, or has a
    message above the limit of a file.
    """
    number = 0
    try:
        for number, payload in enumerate(_messages(stream, framing), 1):
            yield from message_spans(payload, number, is_part=framing == "message")
    except _FramingError as error:
        raise DataError(f"message {number + 1} {error}", file=file, hint=error.hint) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=file) from error


def message_spans(payload: bytes, line: int, *, is_part: bool = False) -> Iterator[Span | RawRow]:
    """Yield the spans of an export request or ``TracesData``, and a raw row for each one that is wrong.

    ``is_part`` says that the payload is only the part for one resource (``ResourceSpans``). Raises
    MissingExtraError without ``opentelemetry-proto``.
    """
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, TracesData
    except ImportError as error:
        raise MissingExtraError("Reading OpenTelemetry's Protobuf", "otlp") from error
    try:
        groups = (
            [ResourceSpans.FromString(payload)] if is_part else TracesData.FromString(payload).resource_spans
        )
    except DecodeError:
        yield RawRow(line, DataError(f"message {line} is not OTLP Protobuf"))
        return
    yield from _spans(groups, line)


class _FramingError(Exception):
    """A message is cut off, too large, or does not begin where the one before it ends."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def _messages(stream: IO[bytes], framing: Framing) -> Iterator[bytes]:
    """Yield the messages; of one message, its parts, which hold the spans of one resource each."""
    most = input_limits().file
    while first := stream.read(1):
        if framing == "fixed":
            size = int.from_bytes(first + _exactly(stream, _FIXED_BYTES - 1), "big")
        else:
            if framing == "message":
                if first[0] != _TAG:
                    raise _FramingError("is not OTLP Protobuf")
                first = _exactly(stream, 1)
            while first[-1] & 0x80 and len(first) < _VARINT_BYTES:
                first += _exactly(stream, 1)
            size, _ = _varint(first, 0)
        if size > most:
            raise _FramingError(f"is larger than {size_text(most)}", how_to_raise("file"))
        yield _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise _FramingError("is cut off", "Export the traces again.")
    return data


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, and the place after it."""
    value = shift = 0
    for place in range(at, min(at + _VARINT_BYTES, len(data))):
        value |= (data[place] & 0x7F) << shift
        shift += 7
        if not data[place] & 0x80:
            return value, place + 1
    return value, min(at + _VARINT_BYTES, len(data) - 1)


def _spans(groups: Iterable[Any], line: int) -> Iterator[Span | RawRow]:
    for group in groups:
        pairs = _pairs(group.resource.attributes)
        resource = {key: value for key, value in pairs if key == SERVICE}
        for scope in group.scope_spans:
            for span in scope.spans:
                try:
                    yield _span(span, resource, line)
                except DataError as error:
                    name = span.span_id.hex()
                    yield RawRow(line, DataError(error.message, sample_id=name, field=error.field), name)
                    with suppress(DataError):
                        yield unreadable_span(_id(span.trace_id, _TRACE_BYTES, "trace_id"), line)


def _span(span: Any, resource: Mapping[str, Any], line: int) -> Span:
    parent = span.parent_span_id
    return Span(
        trace_id=_id(span.trace_id, _TRACE_BYTES, "trace_id"),
        span_id=_id(span.span_id, _SPAN_BYTES, "span_id"),
        parent_id=_id(parent, _SPAN_BYTES, "parent_span_id") if parent.strip(b"\0") else None,
        name=span.name,
        start=span.start_time_unix_nano or None,
        end=span.end_time_unix_nano or None,
        attributes=nest(_pairs(pair for pair in span.attributes if is_used(pair.key))),
        events=tuple(Event(event.name, dict(_pairs(event.attributes))) for event in span.events),
        resource=resource,
        line=line,
    )


def _id(value: bytes, size: int, field: str) -> str:
    if len(value) != size:
        raise DataError(f"expected {size} bytes, found {len(value)}", field=field)
    if not value.strip(b"\0"):
        raise DataError("expected an id, found only zeros", field=field)
    return value.hex()


def _pairs(pairs: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for pair in pairs:
        yield pair.key, _value(pair.value, pair.key, 0)


def _value(value: Any, key: str, depth: int) -> Any:
    """Convert an ``AnyValue``."""
    if depth > _MAX_DEPTH:
        raise DataError(f"nested deeper than {_MAX_DEPTH} levels", field=key)
    kind = value.WhichOneof("value")
    match kind:
        case None:
            return None
        case "array_value":
            return [_value(item, key, depth + 1) for item in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _value(pair.value, key, depth + 1) for pair in value.kvlist_value.values}
        case "bytes_value":
            return value.bytes_value.hex()
        case _:
            return getattr(value, kind)
