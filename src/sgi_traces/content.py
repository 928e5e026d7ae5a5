"""The kind and the content of a span, the same for all conventions; the question or answer in its JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.chat_messages import json_messages, last_text, message_of
from sgi.io.json_values import number_of, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from sgi.io.chat_messages import Message
    from sgi.io.documents import Document


class Kind(StrEnum):
    """The kind of a span."""

    RETRIEVER = "RETRIEVER"
    RERANKER = "RERANKER"
    LLM = "LLM"
    TOOL = "TOOL"
    CHAIN = "CHAIN"
    AGENT = "AGENT"
    EMBEDDING = "EMBEDDING"
    EVALUATOR = "EVALUATOR"
    GUARDRAIL = "GUARDRAIL"
    OTHER = "OTHER"


class SpanCosts(NamedTuple):
    """The tokens and the cost in US dollars that a span records; None if unknown."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


NO_COSTS = SpanCosts()


class Attribute(NamedTuple):
    """A raw value, the attribute that holds it, and its MIME type if the span has one."""

    name: str
    value: Any
    mime: Any = None


@dataclass(slots=True)
class Content:
    """The content of a span.

    Attributes:
        kind: what the span does.
        input: its input, or None.
        output: its output, or None.
        input_messages: messages to a language model.
        output_messages: messages of a language model.
        documents: documents of a retrieval or reranking; None if the span has none.
        input_documents: documents that a reranker received; None if the span has none.
        from_attribute: attributes of ``input_messages``, ``output_messages`` and ``documents``.
        query: the query of a retrieval.
        model: the name of the model.
        tool: the name of the tool.
        session: the id of the session or conversation.
        is_store: whether a tool is a store of documents.
        evaluations: evaluations and annotations: name → its score, label and explanation.
        metadata: the user's own metadata.
        costs: tokens and cost.
    """

    kind: Kind = Kind.OTHER
    input: Attribute | None = None
    output: Attribute | None = None
    input_messages: list[Message] = field(default_factory=list)
    output_messages: list[Message] = field(default_factory=list)
    documents: list[Document] | None = None
    input_documents: list[Document] | None = None
    from_attribute: dict[str, str] = field(default_factory=dict)
    query: str | None = None
    model: str | None = None
    tool: str | None = None
    session: str | None = None
    is_store: bool = False
    evaluations: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    metadata: dict[str, JsonValue] = field(default_factory=dict)
    costs: SpanCosts = NO_COSTS

    def add_evaluation(self, values: Mapping[str, object]) -> None:
        """Add an evaluation or annotation: its ``name`` and the parts that are given."""
        score = number_of(values.get("score", values.get("score.value")))
        texts = {
            "label": values.get("label", values.get("score.label")),
            "explanation": values.get("explanation"),
            "annotator": values.get("annotator_kind"),
        }
        parts: dict[str, JsonValue] = {} if score is None else {"score": score}
        parts |= {key: text for key, text in texts.items() if isinstance(text, str) and text}
        name = values.get("name")
        name = name if isinstance(name, str) and name else "unnamed"
        if not parts.items() <= self.evaluations.get(name, {}).items():  # an event may repeat an attribute
            self.evaluations[name] = parts


_QUESTION_KEYS = (
    "question", "query", "user_query", "user_input", "query_str", "user_message", "chat_input", "input",
    "inputs", "prompt", "message", "messages", "text", "content", "kwargs", "args", "data", "body", "state",
)  # fmt: skip
_ANSWER_KEYS = (
    "answer", "response", "final_answer", "final_output", "output", "outputs", "result", "generation",
    "completion", "generated_text", "output_text", "reply", "replies", "text", "content", "message",
    "messages", "choices", "generations", "data", "body", "state", "return",
)  # fmt: skip
_FIRST_OF = {"choices", "generations", "replies"}
_MAX_DEPTH = 8


def question_in(value: object, mime: object = None) -> str | None:
    """Find the question in an input: a text, or JSON with a usual key or messages; None if it has none.

    >>> question_in("Who?"), question_in('{"question": "Who?", "top_k": 3}')
    ('Who?', 'Who?')
    >>> question_in({"messages": [{"role": "user", "content": "Who?"}]}), question_in({"top_k": 3})
    ('Who?', None)
    """
    return _text_in(_parsed(value, mime), _QUESTION_KEYS, "user", 0)


def answer_in(value: object, mime: object = None) -> str | None:
    """Find the answer in an output: a text, or JSON with a usual key or messages; None if it has none.

    >>> answer_in('{"answer": "She.", "docs": []}')
    'She.'
    >>> answer_in({"tool_calls": [{"name": "search"}], "content": "", "role": "assistant"}) is None
    True
    """
    return _text_in(_parsed(value, mime), _ANSWER_KEYS, "assistant", 0)


def _parsed(value: object, mime: object) -> object:
    return value if isinstance(mime, str) and mime.startswith("text/") else parse_json(value)


def _text_in(value: object, keys: tuple[str, ...], role: str, depth: int) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth <= _MAX_DEPTH:
        return _text_in_list(value, keys, role, depth)
    return _text_in_object(value, keys, role, depth) if isinstance(value, dict) else None


def _text_in_object(value: dict[str, object], keys: tuple[str, ...], role: str, depth: int) -> str | None:
    message = message_of(value)
    if message is not None:
        return message.text if message.role == role else None
    if depth > _MAX_DEPTH:
        return None
    for key in keys:
        inner = value.get(key)
        if key in _FIRST_OF and isinstance(inner, list):
            inner = inner[0] if inner else None
        if inner is not None and (text := _text_in(inner, keys, role, depth + 1)) is not None:
            return text
    (only,) = value.values() if len(value) == 1 else (None,)
    return _text_in(only, keys, role, depth + 1) if isinstance(only, (dict, list)) else None


def _text_in_list(value: list[object], keys: tuple[str, ...], role: str, depth: int) -> str | None:
    messages = json_messages(value, "")
    if messages:
        if role == "assistant" and messages[-1].calls_tools:
            return None
        return last_text(messages, role)
    return _text_in(value[0], keys, role, depth + 1) if len(value) == 1 else None
