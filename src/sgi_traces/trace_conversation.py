"""Make a row for each turn of a conversation that an export holds as a list of messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.io.documents import Document, documents_in, ranked_fields, unranked_facts
from sgi_traces.content import NO_COSTS, SpanCosts
from sgi_traces.trace_records import all_rows, make_row
from sgi_traces.turns import distinct_documents, unknown_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi_traces.assemble import TraceRow, TraceRows

_SEARCH = re.compile(
    r"search|retriev|look.?up|knowledge|document|passage|vector|(?:^|[^a-z])(?:rag|wiki)", re.IGNORECASE
)
_TOOL_RESULT = 2000
NO_SEARCH = "no message is the result of a retrieval tool"
NO_REPLY = "a message of the user has no reply"


@dataclass(frozen=True)
class ChatMessage:
    """A message of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``tool``, or another role.
        text: its text, or None.
        calls: names of the tools that it calls.
        tool: the name of the tool whose result it is, or None.
        documents: documents that the export gives for this message; None if it gives none.
        source: the field that ``documents`` is from.
    """

    role: str
    text: str | None
    calls: tuple[str, ...] = ()
    tool: str | None = None
    documents: Sequence[Document] | None = None
    source: str = ""


@dataclass
class Exchange:
    """A turn: messages of the user, and all that follows until the user's next message."""

    questions: list[str] = field(default_factory=list)
    replies: list[ChatMessage] = field(default_factory=list)

    def answer(self) -> str | None:
        """Return the text of the last reply that calls no tool."""
        replies = [message for message in self.replies if message.role == "assistant"]
        return replies[-1].text if replies and not replies[-1].calls else None


def exchanges(messages: Iterable[ChatMessage]) -> list[Exchange]:
    """Split a conversation into turns. Messages before the first one of the user belong to no turn."""
    turns: list[Exchange] = []
    for message in messages:
        if message.role == "user":
            if not turns or turns[-1].replies:
                turns.append(Exchange())
            if message.text is not None:
                turns[-1].questions.append(message.text)
        elif turns:
            turns[-1].replies.append(message)
    return turns


def is_search(tool: str) -> bool:
    """Return whether the name of a tool says that it retrieves passages.

    >>> is_search("search_documents"), is_search("tide_table"), is_search("file_search")
    (True, False, True)
    """
    return _SEARCH.search(tool) is not None


def conversation_rows(
    messages: Sequence[ChatMessage],
    metadata: Mapping[str, Any],
    *,
    source: str,
    name: str = "",
    line: int = 0,
) -> TraceRows:
    """Make a row for each turn that has an answer.

    Args:
        messages: the whole conversation.
        metadata: metadata of all rows.
        source: the field that holds the messages, for the report of sources.
        name: the id of the conversation; turns get it with their number. Empty for ``line``.
        line: the number of the record.
    """
    rows, skipped = [], []
    turns = exchanges(_with_tools(messages))
    for number, turn in enumerate(turns, 1):
        if turn.answer() is None:
            skipped.append(NO_REPLY)
            continue
        own = name or str(line)
        facts = {"session_id": name or None, "turn": number} if len(turns) > 1 else {}
        identifier = f"{own}-{number}" if len(turns) > 1 else own
        rows.append(turn_row(turn, {**metadata, **facts}, source=source, identifier=identifier, line=line))
    return all_rows(rows, skipped or ([] if turns else ["it has no message of the user"]))


def turn_row(
    turn: Exchange,
    metadata: Mapping[str, Any],
    *,
    source: str,
    identifier: str | None,
    line: int,
    no_question: str = "the messages of the user have no text",
    costs: SpanCosts = NO_COSTS,
) -> TraceRow:
    """Make the row of a turn: contexts are results of retrieval tools, or documents of its messages.

    ``source`` is the field of the messages; ``no_question`` says why a turn without question has none;
    ``costs`` are tokens and cost.
    """
    documents, reason, places = turn_documents(turn)
    others = [message for message in turn.replies if message.tool and not is_search(message.tool)]
    fields = {
        "id": identifier,
        "question": "\n\n".join(turn.questions) if turn.questions else None,
        "contexts": None if reason else [document.text for document in documents],
        **({} if reason else ranked_fields(documents)),
        "response": turn.answer(),
        **costs._asdict(),
    }
    facts = {
        **metadata,
        **unranked_facts(documents, fields),
        "tools": [message.tool for message in others],
        "tool_outputs": [(message.text or "")[:_TOOL_RESULT] for message in others],
    }
    sources = {
        "question": f"{source}, role user",
        "contexts": ", ".join(places),
        "response": f"{source}, role assistant",
    }
    if reason == NO_SEARCH and metadata.get("system"):
        reason = f"{NO_SEARCH}; if the system prompt has the passages, use --map contexts=metadata.system"
    absent = {"contexts": reason, "question": no_question}
    return make_row(fields, sources, facts, absent=absent, line=line)


def turn_documents(turn: Exchange) -> tuple[list[Document], str, tuple[str, ...]]:
    """Return the documents of a turn, why they are unknown (or an empty text), and where they are from."""
    documents: list[Document] = []
    places: dict[str, None] = {}
    searches = without_documents = 0
    for message in turn.replies:
        results = message.documents
        place = message.source
        if results is None and message.tool is not None and is_search(message.tool):
            results = _tool_documents(message.text)
            place = f"tool {message.tool}"
        elif results is None:
            continue
        searches += 1
        if results is None:
            without_documents += 1
            continue
        documents += results
        places[place] = None
    if not searches:
        return [], NO_SEARCH, ()
    known = distinct_documents(documents)
    return known, unknown_passages(known, searches, without_documents), tuple(places)


def _tool_documents(text: str | None) -> Sequence[Document] | None:
    """Return the documents in the result of a retrieval tool; plain text is one passage."""
    if text is None:
        return None
    results = documents_in(text)
    if results is None and text.strip() and text.lstrip()[:1] not in {"{", "["}:
        return [Document(text)]
    return results


def _with_tools(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Give results of tools without a name the name of the call before them, in order."""
    waiting: list[str] = []
    renamed = []
    for message in messages:
        waiting = [*waiting, *message.calls] if message.role == "assistant" else waiting
        if message.role == "tool" and message.tool is None and waiting:
            renamed.append(ChatMessage(message.role, message.text, tool=waiting.pop(0)))
        else:
            renamed.append(message)
    return renamed
