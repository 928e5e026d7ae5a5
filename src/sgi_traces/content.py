"""What a span is and what it holds, whatever its conventions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.io.json_values import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from sgi.io.chat_messages import Message
    from sgi.io.documents import Document


class Kind(StrEnum):
    """What a span does."""

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
    """What a span holds.

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

    def add_evaluation(self, values: Mapping[str, Any]) -> None:
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
