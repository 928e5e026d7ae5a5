"""Read ragas datasets: single turns, and conversations as lists of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.io import coercion as cells
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.trace_conversation import ChatMessage, conversation_rows
from sgi_traces.trace_records import all_rows, cell_value, list_cell, make_row, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi_traces.assemble import TraceRows

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}
_FIELDS = ("user_input", "retrieved_contexts", "response", "reference")


def is_ragas(values: Mapping[str, object]) -> bool:
    """Return whether a row is a conversation of ragas; single turns are read as ordinary columns.

    >>> is_ragas({"user_input": [{"content": "Who?", "type": "human"}]}), is_ragas({"user_input": "Who?"})
    (True, False)
    """
    messages = cell_value(values.get("user_input"))
    return isinstance(messages, list) and bool(messages) and _is_message(messages[0])


def ragas_rows(values: Mapping[str, object], line: int = 0) -> TraceRows:
    """Make a row of a single turn, or a row for each turn of a conversation.

    The reference of a conversation is about all its turns, so it is in the metadata. Raises DataError with
    the field for wrong types.
    """
    if "user_input" not in values:
        raise DataError("is missing", field="user_input", hint="A row of ragas must have user_input.")
    rest = {key: cell_value(value) for key, value in values.items() if key not in _FIELDS}
    if not isinstance(cell_value(values["user_input"]), list):
        name = "retrieved_contexts"
        fields = {
            "question": read(values, "user_input"),
            "contexts": read({name: cell_value(values.get(name))}, name, cells.as_passages),
            "response": read(values, "response"),
            "reference": read(values, "reference"),
        }
        sources = dict(zip(("question", "contexts", "response", "reference"), _FIELDS, strict=True))
        absent = {"contexts": "retrieved_contexts is empty"}
        return all_rows([make_row(fields, sources, rest, absent=absent, line=line)])
    messages = [_read_message(item, place) for place, item in enumerate(list_cell(values, "user_input"), 1)]
    rest["reference"] = values.get("reference")
    return conversation_rows(messages, rest, source="user_input", line=line)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("type")) in _ROLES and "content" in item


def _read_message(item: Any, place: int) -> ChatMessage:
    if not _is_message(item):
        problem = f"message {place}: expected an object with content and type human, ai or tool"
        raise DataError(f"{problem}, found {raw_values.describe(item)}", field="user_input")
    calls = [call for call in list_cell(item, "tool_calls") if isinstance(call, dict)]
    names = tuple(str(call["name"]) for call in calls if call.get("name"))
    return ChatMessage(_ROLES[item["type"]], read(item, "content"), calls=names)
