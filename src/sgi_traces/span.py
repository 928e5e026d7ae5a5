"""Spans of a trace, as every trace format yields them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.json_values import number_of, parse_json
from sgi.kernel.raw_values import is_absent
from sgi_traces.content import SpanCosts

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROMPT_TOKENS = ("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_COMPLETION_TOKENS = (
    "llm.token_count.completion",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
)
_COST = ("llm.cost.total", "gen_ai.usage.cost", "gen_ai.usage.total_cost", "operation.cost")
COSTS = (*_PROMPT_TOKENS, *_COMPLETION_TOKENS, *_COST)
"""The attributes that `read_costs` reads."""


def read_costs(attributes: Mapping[str, object]) -> SpanCosts:
    """Return tokens and cost; 0 counts as unknown, because tools write 0 if they have no price or count."""
    prompt = _whole(_amount(attributes, _PROMPT_TOKENS))
    completion = _whole(_amount(attributes, _COMPLETION_TOKENS))
    cost = _amount(attributes, _COST)
    return SpanCosts(prompt or None, completion if prompt else completion or None, cost or None)


def _amount(attributes: Mapping[str, object], names: tuple[str, ...]) -> float | None:
    numbers = (number_of(attributes.get(name)) for name in names)
    return next((number for number in numbers if number is not None and number >= 0), None)


def _whole(number: float | None) -> int | None:
    return int(number) if number is not None and number.is_integer() else None


def usage_attributes(usage: Mapping[str, object], cost: object = None) -> dict[str, object]:
    """Return the attributes of OpenInference for a usage of another tool, and its cost in US dollars.

    Keys that begin with ``input`` are added, as Langfuse counts cached tokens apart.

    >>> usage_attributes({"input": 70, "input_cached_tokens": 8, "output": 13, "total": 91})
    {'llm.token_count.prompt': 78, 'llm.token_count.completion': 13}
    """
    values = {
        "llm.token_count.prompt": _part(usage, "prompt_tokens", "input_tokens", stem="input"),
        "llm.token_count.completion": _part(usage, "completion_tokens", "output_tokens", stem="output"),
        "llm.cost.total": None if is_absent(cost) or cost == "" else cost,
    }
    return {name: value for name, value in values.items() if value is not None}


def cost_in(details: object) -> object:
    """Return the total of an object of costs: the key ``total`` or ``total_cost``, otherwise the sum."""
    parsed = parse_json(details)
    if not isinstance(parsed, dict):
        return None
    total = next((parsed[key] for key in ("total", "total_cost") if key in parsed), None)
    parts = [number for value in parsed.values() if (number := number_of(value)) is not None]
    return total if total is not None or not parts else math.fsum(parts)


def _part(usage: Mapping[str, Any], *names: str, stem: str) -> Any:
    for name in names:
        if name in usage and not is_absent(usage[name]):
            return usage[name]
    parts = [usage[key] for key in usage if key.startswith(stem) and not is_absent(usage[key])]
    numbers = [number for part in parts if (number := number_of(part)) is not None]
    return sum(int(number) for number in numbers) if numbers and len(numbers) == len(parts) else None


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
