"""Spans of a trace, as every trace format yields them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING: Mapping[str, Any] = {}


SERVICE = "service.name"
"""The attribute of the resource that names the service; readers drop the others."""


UNREADABLE = "sgi.unreadable"
"""The attribute of a span that takes the place of one that cannot be read."""


class Event(NamedTuple):
    """An event of a span, such as ``gen_ai.choice``."""

    name: str
    attributes: Mapping[str, object]


class Span(NamedTuple):
    """One operation of a traced application.

    A reader of another format gives its spans the attributes of OpenInference, such as ``input.value``. Lists
    are nested values, ``{"retrieval.documents": [{"document.content": "…"}]}``;
    `sgi.io.json_values.nest` makes them of flat keys (``retrieval.documents.0.document.content``).

    Attributes:
        trace_id: the id of the trace.
        span_id: the id of the span, unique in its trace.
        parent_id: the id of the calling span; None for the first span of a trace.
        name: the name of the operation.
        start: start time in nanoseconds since 1970, or None.
        end: end time in nanoseconds since 1970, or None.
        attributes: values as JSON has them: texts, numbers, booleans, lists, objects.
        events: events in the order of time.
        resource: attributes of the service, such as ``service.name``.
        line: the line or row of the file that has the span, from 1; 0 without a file.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    start: int | None = None
    end: int | None = None
    attributes: Mapping[str, object] = _NOTHING
    events: tuple[Event, ...] = ()
    resource: Mapping[str, object] = _NOTHING
    line: int = 0

    @property
    def is_readable(self) -> bool:
        """Whether this is a span, not the placeholder of a span that cannot be read."""
        return UNREADABLE not in self.attributes


def unreadable_span(trace_id: str, line: int) -> Span:
    """Return a placeholder for a span that cannot be read, so that its trace counts as incomplete.

    It could have been a retrieval, so that the passages of the trace are unknown.
    """
    return Span(trace_id, "", "", attributes={UNREADABLE: True}, line=line)


def is_utf8(text: str) -> bool:
    """Return whether a text can be encoded: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
