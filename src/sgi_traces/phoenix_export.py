"""Read spans of Phoenix: data frames of spans, spans of its client, and spans of its REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io.json_values import LISTS, id_of, nest
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.otlp_json import otlp_span
from sgi_traces.span import Event, Span
from sgi_traces.trace_records import cell_value, nanoseconds, object_cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KIND = "openinference.span.kind"
_PREFIX = "attributes."
_VALUES = LISTS | {"metadata"}
_MAX_DEPTH = 20


def is_phoenix(values: Mapping[str, object]) -> bool:
    """Return whether a record is a span of Phoenix.

    >>> is_phoenix({"context": {"trace_id": "a", "span_id": "b"}, "name": "ask", "attributes": {}})
    True
    >>> is_phoenix({"context.trace_id": "a", "context.span_id": "b", "attributes.input.value": "Who?"})
    True
    """
    context = values.get("context")
    if isinstance(context, dict):
        return {"trace_id", "span_id"} <= context.keys() and "attributes" in values
    return {"context.trace_id", "context.span_id"} <= values.keys() or _is_otlp(values)


def phoenix_spans(values: Mapping[str, object], line: int = 0) -> list[Span]:
    """Convert a record to a span. Raises DataError with the span's id and the field for wrong types."""
    if not is_phoenix(values):
        hint = "A span has context.trace_id, context.span_id and attributes."
        raise DataError("is not a span of Phoenix", hint=hint)
    if _is_otlp(values):
        return [otlp_span(values, {}, line)]
    context = values.get("context")
    ids = (
        context
        if isinstance(context, dict)
        else {key: values[f"context.{key}"] for key in ("trace_id", "span_id")}
    )
    name = ids["span_id"] if isinstance(ids["span_id"], str) else None
    try:
        return [_span(values, ids, line)]
    except DataError as error:
        raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None


def _is_otlp(values: Mapping[str, object]) -> bool:
    return {"trace_id", "span_id"} <= values.keys() and isinstance(values.get("attributes"), list)


def _span(values: Mapping[str, Any], ids: Mapping[str, Any], line: int) -> Span:
    attributes = nest(_attributes(values))
    kind = values.get("span_kind")
    if _KIND not in attributes and isinstance(kind, str):
        attributes[_KIND] = kind
    name = values.get("name")
    return Span(
        trace_id=_id(ids["trace_id"], "context.trace_id"),
        span_id=_id(ids["span_id"], "context.span_id"),
        parent_id=id_of(values.get("parent_id"), "parent_id"),
        name=name if isinstance(name, str) else "",
        start=nanoseconds(values.get("start_time"), "start_time"),
        end=nanoseconds(values.get("end_time"), "end_time"),
        attributes=attributes,
        events=_events(values),
        line=line,
    )


def _id(value: object, field: str) -> str:
    name = id_of(value, field)
    if name is None:
        raise DataError(f"expected an id, found {raw_values.describe(value)}", field=field)
    return name


def _attributes(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    own = object_cell(values, "attributes")
    waiting = [(key, value, 0) for key, value in own.items()]
    waiting += [
        (key.removeprefix(_PREFIX), value, 0) for key, value in values.items() if key.startswith(_PREFIX)
    ]
    for key, value, depth in waiting:
        if raw_values.is_absent(value):
            continue
        if key in _VALUES:
            yield key, cell_value(value)
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            waiting += [(f"{key}.{name}", item, depth + 1) for name, item in value.items()]
        else:
            yield key, value


def _events(values: Mapping[str, object]) -> tuple[Event, ...]:
    events = cell_value(values.get("events"))
    if not isinstance(events, list):
        return ()
    return tuple(
        Event(event["name"], event["attributes"])
        for event in events
        if isinstance(event, dict)
        and isinstance(event.get("name"), str)
        and isinstance(event.get("attributes"), dict)
    )
