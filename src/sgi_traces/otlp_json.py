"""Read spans of OpenTelemetry's JSON: one export request per line, or one document."""

from __future__ import annotations

import base64
import binascii
import gc
import re
from contextlib import suppress
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

import orjson

from sgi.io import coercion as cells
from sgi.io.json_values import nest
from sgi.io.jsonl import json_error
from sgi.io.raw_rows import RawRow
from sgi.io.text_file import pieces, whole_lines
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import check_time, how_to_raise, input_limits, size_text
from sgi_traces.span import SERVICE, Event, Span, unreadable_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MAX_DEPTH = 60
_MAX_NAME = 40
_MAX_DIGITS = 20  # of 64 bits, with a sign
_HEX = re.compile("[0-9a-f]+").fullmatch
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SIGNALS = {"resourceSpans", "resource_spans", "resourceMetrics", "resourceLogs"}
"""Keys of exports: a file can have metrics and logs beside traces."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[,]', re.DOTALL)
_QUOTE = ord('"')
_MAX_VALUES = 2_000_000
_VALUE_BYTES = 8
_NO_PARENT = "0" * 2 * _SPAN_BYTES


def otlp_json_spans(stream: IO[bytes], file: str, encoding: str | None = None) -> Iterator[Span | RawRow]:
    """Yield the spans of a stream, and a raw row with its error for each line or span that cannot be read.

    Raises DataError if a document is larger than the limit of a file, or is not JSON.
    """
    parts = pieces(stream, file, encoding)
    lines = whole_lines(parts, file, "file")
    for number, line in lines:
        if line.isspace():
            continue
        try:
            values = _parse(line)
        except orjson.JSONDecodeError as error:
            if _is_document(line):
                yield from _document(chain([(number, line)], lines), file)
                return
            yield RawRow(number, json_error(line, error), line[:1000].decode("utf-8", "backslashreplace"))
            continue
        yield from _requests(values, number)


def _parse(text: bytes) -> object:
    """Parse JSON without garbage collections, which visit a growing tree many times: it has no cycles."""
    most = max_values(len(text))
    if has_more_values(text, most):
        raise DataError(f"has more than {most:,} values", hint="Export fewer spans in a document.")
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return orjson.loads(text)
    finally:
        if is_enabled:
            gc.enable()


def max_values(size: int) -> int:
    """Return how many values, or fields, a document may have.

    A small value needs far more memory than bytes in the document.
    """
    return max(_MAX_VALUES, size // _VALUE_BYTES)


def _requests(values: object, line: int) -> Iterator[Span | RawRow]:
    for request in values if isinstance(values, list) else [values]:
        if isinstance(request, dict) and request and _SIGNALS.isdisjoint(request):
            yield RawRow(line, DataError("is not an export of OpenTelemetry, which has resourceSpans"))
        yield from request_spans(request, line)


def _is_document(line: bytes) -> bool:
    """Return whether a document begins here that continues on the next line."""
    return line.rstrip().endswith((b"{", b"[", b","))


def _document(lines: Iterable[tuple[int, bytes]], file: str) -> Iterator[Span | RawRow]:
    most, size, parts, first = input_limits().file, 0, [], 0
    for number, line in lines:
        first = first or number
        parts.append(line)
        size += len(line)
        if size > most:
            message = f"the document is larger than {size_text(most)}"
            raise DataError(message, file=file, line=first, hint=how_to_raise("file"))
    text = b"".join(parts)
    try:
        values = _parse(text)
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"invalid JSON: {error.msg}", file=file, line=first + text.count(b"\n", 0, error.pos)
        ) from None
    yield from _requests(values, first)


def request_spans(request: Any, line: int) -> Iterator[Span | RawRow]:
    """Yield the spans of an export request or ``TracesData``.

    An invalid span gives a raw row with its error, and `unreadable_span` if the id of its trace is known.
    """
    try:
        for group in _list(_object(request, ""), "resourceSpans", "resource_spans"):
            check_time()
            resource = service_of(_object(group, "resourceSpans").get("resource"))
            for scope in _list(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                for values in _list(_object(scope, "scopeSpans"), "spans"):
                    yield from span_or_error(values, resource, line)
    except DataError as error:
        yield RawRow(line, error)


def span_or_error(values: Any, resource: Mapping[str, Any], line: int) -> Iterator[Span | RawRow]:
    """Yield a span; or a raw row with its error, and `unreadable_span` if the id of its trace is known."""
    try:
        yield otlp_span(values, resource, line)
    except DataError as error:
        yield RawRow(line, error, str(cells.any_json(values))[:1000])
        with suppress(DataError):
            trace = hex_id(_get(_object(values, ""), "traceId", "trace_id"), _TRACE_BYTES, "traceId")
            yield unreadable_span(trace, line)


def otlp_span(values: object, resource: Mapping[str, object], line: int) -> Span:
    """Convert a span of an export request. Raises DataError with the span's id and the field."""
    span = _object(values, "spans")
    try:
        return _span(span, resource, line)
    except DataError as error:
        name = _get(span, "spanId", "span_id")
        name = name[:_MAX_NAME] if isinstance(name, str) else None
        raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None


def _span(values: Mapping[str, Any], resource: Mapping[str, Any], line: int) -> Span:
    parent = _get(values, "parentSpanId", "parent_span_id")
    name = values.get("name")
    events = values.get("events")
    return Span(  # in the order of its fields: names cost time
        hex_id(_get(values, "traceId", "trace_id"), _TRACE_BYTES, "traceId"),
        hex_id(_get(values, "spanId", "span_id"), _SPAN_BYTES, "spanId"),
        hex_id(parent, _SPAN_BYTES, "parentSpanId") if parent and parent != _NO_PARENT else None,
        name if isinstance(name, str) else "",
        nanoseconds(_get(values, "startTimeUnixNano", "start_time_unix_nano"), "startTimeUnixNano"),
        nanoseconds(_get(values, "endTimeUnixNano", "end_time_unix_nano"), "endTimeUnixNano"),
        nest(_pairs(values)),
        tuple(map(_event, _list(values, "events"))) if events else (),
        resource,
        line,
    )


def service_of(values: object) -> dict[str, object]:
    """Return the attribute of a resource that names the service, if it has one."""
    pairs = () if values is None else _pairs(_object(values, "resource"))
    return {key: value for key, value in pairs if key == SERVICE}


def _event(values: object) -> Event:
    event = _object(values, "events")
    name = event.get("name")
    return Event(name if isinstance(name, str) else "", dict(_pairs(event)))


def _pairs(owner: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the attributes of a span, event or resource."""
    pairs = []
    for item in _list(owner, "attributes"):
        key = item.get("key", "") if type(item) is dict else None  # Protobuf's JSON omits empty texts
        if type(key) is not str:
            raise DataError("expected objects with a key and a value", field="attributes")
        value = item.get("value")
        text = value.get("stringValue") if type(value) is dict else None  # nearly all values
        pairs.append((key, text if type(text) is str else _value(value, key, 0)))
    return pairs


def _value(value: Any, key: str, depth: int) -> Any:
    """Convert an ``AnyValue``."""
    if value is None:
        return None
    if type(value) is not dict:
        raise DataError(
            f"expected an object such as stringValue, found {raw_values.describe(value)}", field=key
        )
    if depth > _MAX_DEPTH:
        raise DataError(f"nested deeper than {_MAX_DEPTH} levels", field=key)
    for name, inner in value.items():
        if inner is None:
            continue
        if name in {"arrayValue", "array_value"}:
            return [_value(item, key, depth + 1) for item in _list(_object(inner, key), "values")]
        if name in {"kvlistValue", "kvlist_value"}:
            pairs = [_object(pair, key) for pair in _list(_object(inner, key), "values")]
            return {str(pair.get("key", "")): _value(pair.get("value"), key, depth + 1) for pair in pairs}
        if name in {"intValue", "int_value"} and isinstance(inner, str):
            return _integer(inner, key)
        return inner
    return None


def _integer(text: str, field: str) -> int:
    try:
        return int(text) if len(text) <= _MAX_DIGITS else _refuse_integer(text, field)
    except ValueError:
        return _refuse_integer(text, field)


def _refuse_integer(text: str, field: str) -> int:
    raise DataError(f"expected a whole number, found {raw_values.describe(text)}", field=field)


def hex_id(value: object, size: int, field: str) -> str:
    """Return an id as lower-case hexadecimal text; it may also be base64, which Protobuf's own JSON has.

    Raises DataError for other values, and for an id of zeros, which means that there is no id.

    >>> hex_id("0123456789ABCDEF", 8, "spanId"), hex_id("ASNFZ4mrze8=", 8, "spanId")
    ('0123456789abcdef', '0123456789abcdef')
    """
    if isinstance(value, str):
        if not value.strip("0"):
            raise DataError("expected an id, found only zeros", field=field)
        if len(value) == 2 * size and _HEX(lower := value.lower()):
            return lower
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) == size:
            return raw.hex()
    description = "nothing" if value is None else raw_values.describe(value)
    raise DataError(f"expected {2 * size} hexadecimal digits, found {description}", field=field)


def nanoseconds(value: Any, field: str) -> int | None:
    """Return a time in nanoseconds; None for an unknown time, which is 0 or absent."""
    number = _integer(value, field) if isinstance(value, str) and value else value or 0
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 64:
        raise DataError(f"expected nanoseconds since 1970, found {raw_values.describe(value)}", field=field)
    return number or None


def _object(value: Any, field: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise DataError(f"expected an object, found {raw_values.describe(value)}", field=field or None)


def _list(owner: Mapping[str, Any], name: str, *other_names: str) -> list[Any]:
    value = owner.get(name)
    if value is None:
        value = next((owner[other] for other in other_names if other in owner), None)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise DataError(f"expected a list, found {raw_values.describe(value)}", field=name)


def _get(values: Mapping[str, object], name: str, other_name: str) -> object:
    value = values.get(name)
    return values.get(other_name) if value is None else value


def has_more_values(content: bytes, most: int) -> bool:
    """Return whether JSON has more values; the quick count includes the marks in strings."""
    if sum(map(content.count, (b"{", b"[", b","))) <= most:
        return False
    marks = (token for token in _TOKEN.finditer(content) if content[token.start()] != _QUOTE)
    return next(islice(marks, most, None), None) is not None
