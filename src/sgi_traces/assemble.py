"""Make rows of the spans of one trace: a row for each turn."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.chat_messages import last_text
from sgi.io.documents import ranked_fields, unranked_facts
from sgi.kernel.errors import DataError
from sgi.kernel.sample_parts import AnswerCosts
from sgi.kernel.short_text import quote
from sgi_traces.content import Attribute, Content, Kind, SpanCosts, answer_in, question_in
from sgi_traces.span import SERVICE, UNREADABLE
from sgi_traces.turns import CHECKS, Passages, passages_of, turns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi_traces.span import Span
    from sgi_traces.turns import Node, Turn

ERROR_REASON = "no answer, but an error"
"""The reason of a turn that recorded an exception; the message of the exception follows."""
_MAX_TOOL_OUTPUT = 2000
_MAX_ERROR = 80
_SECOND = 1_000_000_000


class _Source(NamedTuple):
    """A text and its source; without a text, it is None and ``source`` is the reason."""

    text: str | None
    source: str


@dataclass(frozen=True)
class TraceRow:
    """A row of a trace.

    Attributes:
        values: the row: ``id``, ``question``, ``contexts``, ``response``, latency, tokens and cost as
            far as they are known, and ``metadata``.
        sources: field → the kinds of spans and the attributes that hold it.
        absent: field → why it is absent.
        line: the line of the row's first span.
    """

    values: dict[str, Any]
    sources: Mapping[str, tuple[str, ...]]
    absent: Mapping[str, str]
    line: int = 0

    def with_columns(self, columns: Mapping[str, object], fields: Mapping[str, str]) -> TraceRow:
        """Return the row with columns of the record; ``fields`` has the field that each column replaces."""
        own = {*fields.values()}
        ranked = {"context_ids", "context_scores"} if "contexts" in own else set()
        values = {key: value for key, value in self.values.items() if key not in own | ranked}
        absent = {name: reason for name, reason in self.absent.items() if name not in own}
        metadata = {key: value for key, value in values["metadata"].items() if key != "absent"}
        values["metadata"] = metadata | {"absent": absent} if absent else metadata
        sources = {**self.sources, **{field: (column,) for column, field in fields.items()}}
        return TraceRow({**values, **columns}, sources, absent, self.line)


@dataclass(frozen=True)
class TraceRows:
    """The rows of a trace, and why turns gave no row."""

    rows: tuple[TraceRow, ...]
    unanswered: tuple[str, ...] = field(default=())


def rows_of_trace(spans: Sequence[Span]) -> TraceRows:
    """Make a row for each turn of a trace that has an answer.

    The question is the input of the turn's root span, otherwise the last user message. The response is its
    output, otherwise the last text of a language model. The contexts are the passages that the answer could
    use: see `sgi_traces.turns`. They are absent if a span cannot be read or the text of a document
    is unknown, and ``metadata["absent"]`` says why.

    Raises DataError, with the span's id and the attribute, for values of wrong types.

    >>> from sgi_traces.span import Span
    >>> root = Span("t", "1", attributes={"input.value": "Who?", "output.value": "She."})
    >>> documents = [{"document.content": "It was she."}]
    >>> search = Span("t", "2", "1", attributes={"retrieval.documents": documents})
    >>> row = rows_of_trace([root, search]).rows[0].values
    >>> row["question"], row["contexts"], row["response"], row["metadata"]["trace_id"]
    ('Who?', ['It was she.'], 'She.', 't')
    """
    readable = [span for span in spans if UNREADABLE not in span.attributes]
    turns = turns_of(readable)
    unreadable = len(spans) - len(readable)
    rows: list[TraceRow] = []
    unanswered: list[str] = []
    for turn in turns:
        answer = _answer(turn)
        if answer.text is None:
            unanswered.append(_failure(turn) or answer.source)
        else:
            rows.append(_row(turn, answer, unreadable, with_span=len(turns) > 1))
    return TraceRows(tuple(rows), tuple(unanswered))


def _row(turn: Turn, answer: _Source, unreadable: int, *, with_span: bool) -> TraceRow:
    passages = passages_of(turn)
    if unreadable:
        passages = passages._replace(
            reason=f"{unreadable} of the trace's spans cannot be read", is_complete=False
        )
    question = _question(turn, passages)
    first = _first_span(turn)
    costs, unknown = sum_costs(turn)
    absent = {"contexts": passages.reason} if passages.reason else {}
    if question.text is None:
        absent["question"] = question.source
    absent |= unknown
    values: dict[str, object] = {"id": f"{first.trace_id}-{first.span_id}" if with_span else first.trace_id}
    if question.text is not None:
        values["question"] = question.text
    if not passages.reason:
        values["contexts"] = [document.text for document in passages.documents]
    if passages.is_complete:
        values |= ranked_fields(passages.documents)
    values["response"] = answer.text
    known = costs._replace(latency_ms=_latency(turn))._asdict()
    values |= {name: value for name, value in known.items() if value is not None}
    metadata = _metadata(turn, first, passages) | unranked_facts(passages.documents, values)
    values["metadata"] = metadata | {"absent": absent} if absent else metadata
    sources = {"question": (question.source,), "contexts": passages.sources, "response": (answer.source,)}
    return TraceRow(
        values,
        {name: parts for name, parts in sources.items() if parts and name in values},
        absent,
        first.line,
    )


def _first_span(turn: Turn) -> Span:
    node = turn.first or turn.nodes[0]
    return node.span if node.span is not None else next(span for span, _ in turn.spans())


def _question(turn: Turn, passages: Passages) -> _Source:
    content = None if turn.first is None else turn.first.content
    if content is not None and content.input is not None and content.kind is not Kind.LLM:
        text = question_in(content.input.value, content.input.mime)
        if text is not None:
            return _source(text, content, content.input.name)
    for _, model in reversed([*turn.spans()]):
        if model.kind is not Kind.LLM:
            continue
        text = last_text(model.input_messages, "user")
        if text is not None:
            return _query_inside(turn, passages, text) or _source(
                text, model, model.from_attribute["input_messages"]
            )
        if model.input is not None and (text := question_in(model.input.value, model.input.mime)) is not None:
            return _source(text, model, model.input.name)
    return _query(turn) or _Source(None, "the trace has no question that can be recognised")


def _query_inside(turn: Turn, passages: Passages, message: str) -> _Source | None:
    """Return the query of a retrieval if the user message is a prompt that has it between the passages."""
    texts = [document.text for document in passages.documents if document.text and document.text.strip()]
    if not any(text in message for text in texts):
        return None
    query = _query(turn)
    return query if query is not None and query.text and query.text in message else None


def _query(turn: Turn) -> _Source | None:
    for _, content in turn.spans():
        if content.kind is Kind.RETRIEVER:
            if content.query:
                return _source(content.query, content, "gen_ai.retrieval.query.text")
            if content.input is not None and (text := question_in(content.input.value, content.input.mime)):
                return _source(text, content, content.input.name)
    return None


def _answer(turn: Turn) -> _Source:
    content = None if turn.last is None else turn.last.content
    if content is not None and content.output is not None and content.kind is not Kind.LLM:
        text = answer_in(content.output.value, content.output.mime)
        if text is not None:
            return _source(text, content, content.output.name)
    models = [found for _, found in turn.spans() if found.kind is Kind.LLM]
    if not models:
        return _Source(None, "no answer: no output and no call of a language model")
    last = models[-1]
    if last.output_messages:
        text = last.output_messages[-1].text
        if last.output_messages[-1].calls_tools:
            return _Source(None, "no answer: the last call of a language model asked for a tool")
        if text is not None:
            return _source(text, last, last.from_attribute["output_messages"])
    if last.output is not None and (text := answer_in(last.output.value, last.output.mime)) is not None:
        return _source(text, last, last.output.name)
    return _Source(None, "no answer: the last call of a language model has no text")


def _failure(turn: Turn) -> str | None:
    """Return the error of the first span that recorded an exception."""
    events = (event for span, _ in turn.spans() for event in span.events if event.name == "exception")
    messages = (event.attributes.get("exception.message") for event in events)
    message = next((message for message in messages if isinstance(message, str) and message.strip()), None)
    return None if message is None else f"{ERROR_REASON}: {quote(message, _MAX_ERROR)}"


def _source(text: str, content: Content, attribute: str) -> _Source:
    return _Source(text, attribute if content.kind is Kind.OTHER else f"{content.kind} {attribute}")


def _metadata(turn: Turn, first: Span, passages: Passages) -> dict[str, Any]:
    contents = [content for _, content in turn.spans()]
    own: dict[str, Any] = {}
    evaluations: dict[str, Any] = {}
    for content in contents:
        evaluations |= content.evaluations
    for content in reversed(contents):
        own |= content.metadata
    models = [content.model for content in contents if content.kind is Kind.LLM and content.model]
    tools = [content for content in contents if content.kind is Kind.TOOL]
    known: dict[str, Any] = {
        "trace_id": first.trace_id,
        "span_id": first.span_id,
        "session_id": turn.session,
        "service": first.resource.get(SERVICE),
        "span_name": first.name or None,
        "start": _time(first.start),
        "model": models[-1] if models else None,
        "retrievals": passages.searches or None,
        "tools": _any([content.tool for content in tools]),
        "tool_outputs": [_shown(content.output) for content in tools if content.output] or None,
        "evaluations": evaluations or None,
    }
    return own | {name: value for name, value in known.items() if value is not None}


def _any(values: list[object]) -> list[object] | None:
    return values if any(value is not None for value in values) else None


def _shown(output: Attribute) -> str:
    text = output.value if isinstance(output.value, str) else json.dumps(output.value, ensure_ascii=False)
    return text if len(text) <= _MAX_TOOL_OUTPUT else f"{text[:_MAX_TOOL_OUTPUT]}…"


def _time(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    try:
        return datetime.fromtimestamp(nanoseconds / _SECOND, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        raise DataError(f"{nanoseconds} nanoseconds are not a date", field="start") from None


def _latency(turn: Turn) -> float | None:
    spans = [span for span, content in turn.spans() if content.kind not in CHECKS]
    node = turn.first
    if node is not None and node.span is not None and node is turn.last:
        spans = [node.span]
    starts = [span.start for span in spans if span.start is not None]
    ends = [span.end for span in spans if span.end is not None]
    if not starts or not ends or max(ends) < min(starts):  # clocks of two hosts can disagree
        return None
    return round((max(ends) - min(starts)) / 1e6, 3)


_UNKNOWN = math.nan
_WORDS = {"prompt_tokens": "number of prompt tokens", "completion_tokens": "number of completion tokens"}


class TurnCosts(NamedTuple):
    """Costs of a turn; ``absent`` has the reason for each part that only some models recorded."""

    costs: AnswerCosts
    absent: dict[str, str]


def sum_costs(turn: Turn) -> TurnCosts:
    """Sum tokens and cost over the language models of a turn.

    A span counts as the larger of its own value and the sum of the spans inside it, so a wrapper or an agent
    that repeats the usage of its models counts once. If a model has no value, and no span around it has one,
    the sum is unknown. Embeddings count for the cost, not for the tokens.
    """
    sums = {name: _sum(turn, name) for name in SpanCosts._fields}
    absent = {
        name: f"a call of a language model has no {_WORDS.get(name, name)}"
        for name, value in sums.items()
        if value is not None and math.isnan(value) and _is_known_in_part(turn, name)
    }
    known = {name: value for name, value in sums.items() if value is not None and math.isfinite(value)}
    tokens = {name: int(known[name]) for name in ("prompt_tokens", "completion_tokens") if name in known}
    return TurnCosts(AnswerCosts(cost=known.get("cost"), **tokens), absent)


def _is_known_in_part(turn: Turn, name: str) -> bool:
    return any(getattr(content.costs, name) is not None for _, content in turn.spans())


def _sum(turn: Turn, name: str) -> float | None:
    """Return the sum over the roots of a turn: None without a model, NaN if a part is unknown."""
    within = {id(node) for node in turn.nodes}
    inside = {id(child) for node in turn.nodes for child in node.children}
    roots = [node for node in turn.nodes if id(node) not in inside]
    order: list[Node] = []
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [child for child in node.children if id(child) in within]
    values: dict[int, float | None] = {}
    for node in reversed(order):
        parts = [value for child in node.children if (value := values.get(id(child))) is not None]
        values[id(node)] = _value(node, name, math.fsum(parts) if parts else None)
    known = [value for root in roots if (value := values[id(root)]) is not None]
    return math.fsum(known) if known else None


def _value(node: Node, name: str, parts: float | None) -> float | None:
    if node.kind in CHECKS or (node.kind is Kind.EMBEDDING and name != "cost"):
        return None
    own = None if node.content is None else getattr(node.content.costs, name)
    if own is None:
        return _UNKNOWN if parts is None and node.kind is Kind.LLM else parts
    return float(own) if parts is None or math.isnan(parts) else max(own, parts)
