"""Export requests of OpenTelemetry for tests of the receiver of traces."""

import itertools
from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

_numbers = itertools.count(1)

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}


def trace_id(number: int) -> bytes:
    """Return the id of a trace: 16 bytes that are not all zero."""
    return (number + 1).to_bytes(16, "big")


def span(trace: bytes, name: str, *, parent: bytes = b"", **attributes: str) -> Span:
    """Make a span; dots in names of attributes are written as ``__``."""
    made = Span(
        trace_id=trace,
        span_id=next(_numbers).to_bytes(8, "big"),
        parent_span_id=parent,
        name=name,
        start_time_unix_nano=1_700_000_000_000_000_000,
        end_time_unix_nano=1_700_000_001_000_000_000,
    )
    for key, value in attributes.items():
        made.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return made


def answered_trace(number: int, answer: str = "It opened in 1932.") -> list[Span]:
    """Make a trace of two spans: a chain with question and answer, and a retrieval."""
    trace = trace_id(number)
    root = span(
        trace,
        "chain",
        openinference__span__kind="CHAIN",
        input__value=f"When did bridge {number} open?",
        output__value=answer,
    )
    found = {"retrieval.documents.0.document.content": f"Bridge {number} opened in 1932."}
    retrieval = span(trace, "search", parent=root.span_id, openinference__span__kind="RETRIEVER")
    for key, value in found.items():
        retrieval.attributes.add(key=key).value.string_value = value
    return [retrieval, root]


def request(spans: Iterable[Span], service: str = "shop") -> ExportTraceServiceRequest:
    """Make an export request."""
    group = ResourceSpans()
    group.resource.attributes.add(key="service.name").value.string_value = service
    group.scope_spans.add().spans.extend(spans)
    return ExportTraceServiceRequest(resource_spans=[group])


def spans_of(*numbers: int) -> list[Span]:
    """Return the spans of several answered traces."""
    return [part for number in numbers for part in answered_trace(number)]


def json_request(spans: Iterable[Span], service: str = "shop") -> dict[str, Any]:
    """Make an export request as OTLP JSON, whose ids are hexadecimal."""
    written = [
        {
            "traceId": each.trace_id.hex(),
            "spanId": each.span_id.hex(),
            **({"parentSpanId": each.parent_span_id.hex()} if each.parent_span_id else {}),
            "name": each.name,
            "startTimeUnixNano": str(each.start_time_unix_nano),
            "endTimeUnixNano": str(each.end_time_unix_nano),
            "attributes": [
                {"key": pair.key, "value": {"stringValue": pair.value.string_value}}
                for pair in each.attributes
            ],
        }
        for each in spans
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": written}]}]}


def nested(number: int, content: bytes) -> bytes:
    """Encode a message in a field of another message."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content
