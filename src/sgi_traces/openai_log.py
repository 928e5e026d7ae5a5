"""Read logs of OpenAI's API: requests and responses, batch files, and fine-tuning files.

Contexts are the results of retrieval tools and of file search. Passages inside a prompt are not searched:
where they begin and end is unknown.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sgi.io.chat_messages import message_of
from sgi.io.column_names import NAMES
from sgi.io.columns import known_name
from sgi.io.documents import Document
from sgi.io.json_values import number_of
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.span import read_costs, usage_attributes
from sgi_traces.trace_conversation import ChatMessage, Exchange, conversation_rows, exchanges, turn_row
from sgi_traces.trace_records import all_rows, cell_value, list_cell, object_cell, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi_traces.assemble import TraceRows

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_COLUMNS = {name for field in ("question", "response") for name in NAMES[field]}
_BESIDE = {name: field for field in ("contexts", "reference") for name in reversed(NAMES[field])}
"""Columns that a chat may have beside its messages."""
_COMPLETION, _RESPONSE = "chat.completion", "response"
_NO_TEXT = "the messages of the user have no text"
_NO_REQUEST = "the log has responses without their requests"
_NO_INPUT_FILE = "a batch's output file has no requests; put its input file before it, in one file"


class OpenAIReader:
    """Makes rows of the lines of a log.

    It keeps the requests of a batch's input file, which may be in the same file before the output.
    """

    def __init__(self) -> None:
        self._requests: dict[str, dict[str, object]] = {}

    def rows(self, values: Mapping[str, Any], line: int = 0) -> TraceRows:
        """Make the rows of a line. Raises DataError with the field for wrong types."""
        match _form(values):
            case "batch":
                return self._batch(values, line)
            case "reply":
                return _reply_rows({}, values, {}, line)
            case "log":
                facts = {key: value for key, value in values.items() if key not in {"request", "response"}}
                reply = object_cell(values, "response")
                return _reply_rows(object_cell(values, "request"), reply, facts, line)
            case "messages":
                return _chat_rows(values, line)
        hint = "A line has messages, a request with its response, or is a line of a batch file."
        raise DataError("is not a line of a log of OpenAI's API", hint=hint)

    def _batch(self, values: Mapping[str, object], line: int) -> TraceRows:
        name = raw_values.as_id(values["custom_id"])
        if "body" in values and "response" not in values:
            self._requests[name] = object_cell(values, "body")
            return all_rows([])
        response = object_cell(values, "response")
        facts = {"custom_id": name, "error": values.get("error"), "status_code": response.get("status_code")}
        request = self._requests.pop(name, {})
        try:
            return _reply_rows(request, object_cell(response, "body"), facts, line, name)
        except DataError as error:
            raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None


def is_openai(values: Mapping[str, Any]) -> bool:
    """Return whether a record is a line of a log, of a batch file, or of a fine-tuning file.

    >>> is_openai({"messages": [{"role": "user", "content": "Who?"}]}), is_openai({"messages": ["Who?"]})
    (True, False)
    """
    form = _form(values)
    if form == "messages":  # not a table that has messages beside its own columns
        return not any(known_name(column) in _COLUMNS for column in values)
    request, reply = cell_value(values.get("request")), cell_value(values.get("response"))
    if form == "log":
        return reply is None or not {"choices", "output"}.isdisjoint(reply)
    return form != "" or (isinstance(request, dict) and _are_messages(request.get("messages")))


def _form(values: Mapping[str, object]) -> str:
    """Return which kind of line this is; an empty text for none."""
    request, reply = cell_value(values.get("request")), cell_value(values.get("response"))
    if "custom_id" in values:
        is_input = {"method", "url", "body"} <= values.keys()
        is_failed = reply is None and isinstance(values.get("error"), dict)
        is_output = "response" in values and ((isinstance(reply, dict) and "body" in reply) or is_failed)
        return "batch" if is_input or is_output else ""
    if values.get("object") in (_COMPLETION, _RESPONSE):
        return "reply" if isinstance(values.get("choices", values.get("output")), list) else ""
    if isinstance(request, dict) and "response" in values and (reply is None or isinstance(reply, dict)):
        return "log" if "messages" in request or "input" in request else ""
    return "messages" if _are_messages(cell_value(values.get("messages"))) else ""


def _are_messages(value: Any) -> bool:
    """Return whether a list begins with a message, of which a cut-off record may have only the role."""
    first = value[0] if isinstance(value, list) and value else None
    return _is_message(first) or (
        isinstance(first, dict) and first.keys() == {"role"} and first["role"] in _ROLES
    )


def _is_message(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and item.get("role") in _ROLES
        and bool({"content", "tool_calls"} & item.keys())
    )


def _chat_rows(values: Mapping[str, Any], line: int) -> TraceRows:
    """Make the rows of a chat; columns beside its messages belong to its last row."""
    messages = _messages(cell_value(values["messages"]), "messages")
    own = {column: known_name(column) for column in values}
    beside = {column: _BESIDE[name] for column, name in own.items() if name in _BESIDE}
    left_out = {"id", "messages", "tools", "functions", *beside}
    facts = {key: value for key, value in values.items() if key not in left_out}
    facts["system"] = _system(messages)
    name = read(values, "id", raw_values.as_id) or ""
    result = conversation_rows(messages, facts, source="messages", name=name, line=line)
    given = {column: field for column, field in beside.items() if not raw_values.is_absent(values[column])}
    if not (result.rows and given):
        return result
    *rows, last = result.rows
    own_values = {column: cell_value(values[column]) for column in given}
    return replace(result, rows=(*rows, last.with_columns(own_values, given)))


def _reply_rows(
    request: Mapping[str, Any], reply: Mapping[str, Any], facts: Mapping[str, Any], line: int, name: str = ""
) -> TraceRows:
    """Make a row of each answer to a request; earlier turns in its messages belong to earlier requests."""
    messages = [*_request_messages(request)]
    turns = exchanges(messages)
    turn = turns[-1] if turns else Exchange()
    answers = [*_answers(reply)]
    error = facts.get("error") or reply.get("error")
    if not answers:
        return all_rows([], [f"the request failed: {_message(error)}" if error else "the line has no answer"])
    metadata = {**facts, **_facts(request, reply), "system": _system(messages)}
    known = name or read(reply, "id", raw_values.as_id)
    usage = object_cell(reply, "usage") if len(answers) == 1 else {}  # several answers share one usage
    costs = read_costs(usage_attributes(usage))
    rows = []
    for number, answer in enumerate(answers, 1):
        own = Exchange(turn.questions, [*turn.replies, *answer])
        if own.answer() is None:
            continue
        identifier = f"{known}-{number}" if known and len(answers) > 1 else known
        no_question = _NO_TEXT if request else _NO_REQUEST if "custom_id" not in facts else _NO_INPUT_FILE
        row = turn_row(
            own,
            metadata,
            source="messages",
            identifier=identifier,
            line=line,
            no_question=no_question,
            costs=costs,
        )
        rows.append(row)
    return all_rows(rows, ["the answer calls a tool"] * (len(answers) - len(rows)))


def _request_messages(request: Mapping[str, Any]) -> Iterator[ChatMessage]:
    if "messages" in request:
        yield from _messages(request["messages"], "messages")
        return
    if request.get("instructions"):
        yield ChatMessage("system", read(request, "instructions"))
    items = request.get("input")
    if isinstance(items, str):
        yield ChatMessage("user", items)
    elif items is not None:
        yield from _items(items, "input")


def _answers(reply: Mapping[str, object]) -> list[list[ChatMessage]]:
    """Return the messages of each choice of a completion, or the messages of a response."""
    if reply.get("object") == _RESPONSE or "output" in reply:
        items = [*_items(reply.get("output") or [], "output")]
        return [items] if items else []
    answers = []
    for place, choice in enumerate(list_cell(reply, "choices")):
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            raise DataError("expected a choice with a message", field=f"choices.{place}")
        answer = _read_message({"role": "assistant", **message}, {}, f"choices.{place}.message")
        answers.append([*_citations(message.get("annotations")), answer])
    return answers


def _messages(value: object, field: str) -> list[ChatMessage]:
    if not isinstance(value, list):
        raise DataError(f"expected a list of messages, found {raw_values.describe(value)}", field=field)
    names: dict[str, str] = {}
    return [_read_message(item, names, f"{field}.{place}") for place, item in enumerate(value)]


def _read_message(item: Any, names: dict[str, str], field: str) -> ChatMessage:
    """Read a message; ``names`` has the tools of earlier calls by the id of the call."""
    if not _is_message({"content": None, **item} if isinstance(item, dict) else item):
        raise DataError("expected an object with a role and its content", field=field)
    message = message_of({"content": None, **item})
    text = None if message is None else message.text
    if text is None and isinstance(item.get("refusal"), str):
        text = item["refusal"]
    calls = []
    for call in [*list_cell(item, "tool_calls"), {"function": item.get("function_call")}]:
        function = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
        if isinstance(function, dict):
            calls.append(str(function.get("name")))
            names[str(call.get("id"))] = calls[-1]
    if item["role"] in {"tool", "function"}:
        name = names.get(str(item.get("tool_call_id"))) or item.get("name")
        return ChatMessage("tool", text, tool=name if isinstance(name, str) else None)
    return ChatMessage(item["role"], text, calls=tuple(calls))


def _items(items: Any, field: str) -> list[ChatMessage]:
    """Return the messages, tool calls and searches of the Responses API."""
    if not isinstance(items, list):
        raise DataError(f"expected a list of items, found {raw_values.describe(items)}", field=field)
    names: dict[str, str] = {}
    messages: list[ChatMessage] = []
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise DataError(
                f"expected an object, found {raw_values.describe(item)}", field=f"{field}.{place}"
            )
        messages += _item(item, names, f"{field}.{place}")
    has_documents = any(message.documents is not None for message in messages)
    citations = [] if has_documents else [part for item in items for part in _citations_in(item)]
    return [*citations, *messages]


def _item(item: Mapping[str, object], names: dict[str, str], field: str) -> list[ChatMessage]:
    match item.get("type", "message"):
        case "message":
            return [_read_message({"role": "assistant", **item}, names, field)]
        case "file_search_call":
            results = _results(item, field)
            return [
                ChatMessage(
                    "search", None, tool="file_search", documents=results, source="file_search_call.results"
                )
            ]
        case "function_call":
            names[str(item.get("call_id"))] = str(item.get("name"))
            return [ChatMessage("assistant", None, calls=(str(item.get("name")),))]
        case "function_call_output":
            output = item.get("output")
            return [
                ChatMessage(
                    "tool",
                    output if isinstance(output, str) else None,
                    tool=names.get(str(item.get("call_id"))),
                )
            ]
        case _:
            return []


def _results(item: Mapping[str, Any], field: str) -> list[Document] | None:
    """Return the results of a file search; None if the request did not include them."""
    if item.get("results") is None:
        return None
    results = list_cell(item, "results")
    if not all(isinstance(result, dict) for result in results):
        raise DataError("expected a list of results", field=f"{field}.results")
    return [
        Document(
            read(result, "text"), read(result, "file_id", raw_values.as_id), number_of(result.get("score"))
        )
        for result in results
    ]


def _citations_in(item: Mapping[str, object]) -> list[ChatMessage]:
    content = item.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return [message for part in parts for message in _citations(part.get("annotations"))]


def _citations(annotations: object) -> list[ChatMessage]:
    """Return the files and pages that an answer cites, which have no text."""
    documents = []
    for item in annotations if isinstance(annotations, list) else ():
        citation = item.get("url_citation", item) if isinstance(item, dict) else None
        if isinstance(citation, dict):
            name = citation.get("file_id") or citation.get("url")
            documents.append(Document(None, name if isinstance(name, str) else None))
    return [ChatMessage("search", None, documents=documents, source="annotations")] if documents else []


def _facts(request: Mapping[str, object], reply: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata of a request and its reply."""
    metadata = {**_object(request.get("metadata")), **_object(reply.get("metadata"))}
    session = metadata.pop("session_id", None) or metadata.pop("conversation_id", None)
    created = reply.get("created", reply.get("created_at"))
    conversation = reply.get("conversation")
    return {
        **metadata,
        "session_id": session or (conversation.get("id") if isinstance(conversation, dict) else conversation),
        "model": reply.get("model") or request.get("model"),
        "start": _time(created),
        "user_id": request.get("user"),
        "previous_response_id": reply.get("previous_response_id"),
        "request_id": reply.get("id"),
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _time(seconds: Any) -> str | None:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _system(messages: Sequence[ChatMessage]) -> str | None:
    """Return the text of the system's messages, so that a mapping can take passages from it."""
    texts = [message.text for message in messages if message.role in {"system", "developer"} and message.text]
    return "\n\n".join(texts) or None


def _message(error: object) -> str:
    text = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return str(text)[:200]
