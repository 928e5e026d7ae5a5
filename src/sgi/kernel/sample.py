"""One row of RAG data (Sample), and many rows as columns (Batch)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, model_validator
from pydantic import Field as PydanticField

from sgi.kernel.clusters import BY_QUESTION, cluster_number
from sgi.kernel.errors import DataError
from sgi.kernel.parsing import first_problem
from sgi.kernel.sample_parts import (
    NO_COSTS,
    NO_RANKING,
    Amount,
    AnswerCosts,
    Citation,
    Grade,
    Ragged,
    Ranking,
    RetrievalScore,
    TokenCount,
    Turn,
    check_lengths,
    check_spans,
    check_unique,
    relevance_of,
)
from sgi.kernel.short_text import short_repr
from sgi.kernel.signature import placeholder, with_placeholders

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray


T = TypeVar("T")
A = ParamSpec("A")


class Field(StrEnum):
    """The parts of a sample that a metric can require; the last two stand for either of two fields."""

    QUESTION = "question"
    CONTEXTS = "contexts"
    RESPONSE = "response"
    REFERENCE = "reference"
    LABEL = "label"
    CONTEXT_IDS = "context_ids"
    CONTEXT_SCORES = "context_scores"
    RELEVANCE = "relevance"
    GOLD_PASSAGES = "gold_passages"
    CITATIONS = "citations"
    ANSWERABLE = "answerable"
    TURNS = "turns"
    LATENCY_MS = "latency_ms"
    PROMPT_TOKENS = "prompt_tokens"
    COMPLETION_TOKENS = "completion_tokens"
    COST = "cost"
    RETRIEVED = "contexts or context_ids"
    GOLD = "relevance or gold_passages"


_EITHER = {
    Field.RETRIEVED: frozenset({"contexts", "context_ids"}),
    Field.GOLD: frozenset({"relevance", "gold_passages"}),
}
"""Needs that one of several fields fulfils."""
Fields = frozenset[Field]
QUESTION: Fields = frozenset({Field.QUESTION})
CONTEXTS: Fields = frozenset({Field.CONTEXTS})
RESPONSE: Fields = frozenset({Field.RESPONSE})
REFERENCE: Fields = frozenset({Field.REFERENCE})
LABEL: Fields = frozenset({Field.LABEL})
CONTEXT_IDS: Fields = frozenset({Field.CONTEXT_IDS})
CONTEXT_SCORES: Fields = frozenset({Field.CONTEXT_SCORES})
RELEVANCE: Fields = frozenset({Field.RELEVANCE})
GOLD_PASSAGES: Fields = frozenset({Field.GOLD_PASSAGES})
CITATIONS: Fields = frozenset({Field.CITATIONS})
ANSWERABLE: Fields = frozenset({Field.ANSWERABLE})
TURNS: Fields = frozenset({Field.TURNS})
LATENCY_MS: Fields = frozenset({Field.LATENCY_MS})
PROMPT_TOKENS: Fields = frozenset({Field.PROMPT_TOKENS})
COMPLETION_TOKENS: Fields = frozenset({Field.COMPLETION_TOKENS})
COST: Fields = frozenset({Field.COST})
RETRIEVED: Fields = frozenset({Field.RETRIEVED})
GOLD: Fields = frozenset({Field.GOLD})
_TEXTS = ("question", "response", "reference")
_LISTS = ("contexts", "alternatives", "gold_passages")
FURTHER_FIELDS = (
    "context_ids",
    "context_scores",
    "relevance",
    "gold_passages",
    "citations",
    "answerable",
    "turns",
    *AnswerCosts._fields,
)
"""The fields of retrieval, citations, conversations and costs, which most data lacks."""
_OF_CONTEXTS = ("contexts", "context_ids", "context_scores")
"""The fields with one value for each passage."""
_OF_RESPONSE = ("response", "citations", *AnswerCosts._fields)
_OBJECTS = frozenset({"citations", "turns"})


class Sample(BaseModel):
    """One question with its passages, response, reference and label.

    A missing or null field is *absent*: metrics that require it give the row the status ``missing``. A blank
    text is not absent.

    Attributes:
        id: the identifier, unique in the data.
        contexts: the retrieved passages, best first.
        reference: the expected answer.
        alternatives: more accepted answers; metrics that compare with a reference use the best one.
        label: True if the response is grounded or correct.
        context_ids: the ids of the retrieved passages, best first; a row may have ids without texts.
        context_scores: their retrieval scores.
        relevance: the grade of each gold passage by its id; a passage is relevant if its grade is above 0.
        gold_passages: the texts of the gold passages.
        citations: the citations of the response.
        answerable: whether the data can answer the question.
        turns: the conversation, in order.
        latency_ms: the time that the answer took; the tokens, what language models read and wrote for it.
        metadata: further columns; reports can group rows by them.

    >>> sample = Sample(id="1", question="Who?", response="")
    >>> sample.has(Field.RESPONSE), sample.has(Field.REFERENCE)
    (True, False)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str = ""
    contexts: tuple[str, ...] = ()
    response: str = ""
    reference: str | None = None
    alternatives: tuple[str, ...] = ()
    label: bool | None = None
    context_ids: tuple[str, ...] = ()
    context_scores: tuple[RetrievalScore, ...] = ()
    relevance: dict[str, Grade] = PydanticField(default_factory=dict)
    gold_passages: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    answerable: bool | None = None
    turns: tuple[Turn, ...] = ()
    latency_ms: Amount | None = None
    prompt_tokens: TokenCount | None = None
    completion_tokens: TokenCount | None = None
    cost: Amount | None = None
    metadata: dict[str, JsonValue] = PydanticField(default_factory=dict)

    __repr__ = short_repr

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, values: Any) -> Any:
        """Remove null fields, and split a list of references into the first one and its alternatives."""
        if not isinstance(values, dict):
            return values
        present = {key: value for key, value in values.items() if value is not None}
        references = [*_as_list(present.pop("reference", ())), *_as_list(present.pop("alternatives", ()))]
        if None in references:
            raise ValueError("a list of references must not contain null")
        if references:
            present["reference"] = references[0]
        if references[1:]:
            present["alternatives"] = tuple(references[1:])
        for name in ("contexts", "gold_passages"):
            if name in present:
                present[name] = _as_list(present[name])
        return present

    @model_validator(mode="after")
    def _check_passages(self) -> Self:
        """Check that ids are unique, and that fields with a value for each passage have the same length."""
        given = [name for name in _OF_CONTEXTS if name in self.model_fields_set]
        if given and given != ["contexts"]:
            check_lengths({name: getattr(self, name) for name in given})
            check_unique("context_ids", self.context_ids)
        return self

    @classmethod
    def from_row(cls, values: Mapping[str, Any]) -> Self:
        """Make a sample of the fields of a row; ``gold_ids`` and a list of grades become ``relevance``.

        Raises:
            DataError: a value is not valid; the error names the id and the field.
        """
        try:
            if "gold_ids" in values or "relevance" in values:
                values = dict(values)
                values["relevance"] = relevance_of(values.pop("gold_ids", None), values.get("relevance"))
            sample = cls.model_validate(values)
            check_spans(sample.citations, len(sample.response) if sample.has(Field.RESPONSE) else None)
        except (ValidationError, ValueError) as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else str(error)
            place, _, message = problem.partition(": ")
            field, _, part = place.partition(".")
            message = f"{part}: {message}" if part else message
            raise DataError(message, sample_id=values.get("id"), field=field) from None
        return sample

    @property
    def references(self) -> tuple[str, ...]:
        """All accepted answers, the reference first."""
        return () if self.reference is None else (self.reference, *self.alternatives)

    def with_response(
        self,
        response: str | None,
        contexts: tuple[str, ...] | None = None,
        costs: AnswerCosts = NO_COSTS,
        ranking: Ranking = NO_RANKING,
    ) -> Sample:
        """Return a copy with another response (None removes it) and its costs, and perhaps other passages.

        The copy has no citations. If ``contexts`` or the ``ranking`` have values, they replace all fields of
        the passages.
        """
        same_passages = contexts is None and ranking == NO_RANKING
        dropped = _OF_RESPONSE if same_passages else (*_OF_RESPONSE, *_OF_CONTEXTS)
        values = {name: getattr(self, name) for name in self.model_fields_set if name not in dropped}
        if response is not None:
            values["response"] = response
        if contexts is not None:
            values["contexts"] = contexts
        if not same_passages:
            values |= ranking._asdict()
        return type(self)(**values, **costs._asdict())

    def with_texts(self, change: Callable[[str], str]) -> Sample:
        """Return a copy with a function applied to every text; metadata stays the same."""
        fields = self.model_fields_set
        values: dict[str, object] = {name: change(getattr(self, name)) for name in _TEXTS if name in fields}
        values |= {name: tuple(map(change, getattr(self, name))) for name in _LISTS if name in fields}
        if "turns" in fields:
            values["turns"] = tuple(turn.with_texts(change) for turn in self.turns)
        return self.model_copy(update=values)

    def with_placeholders(self) -> Sample:
        """Return a copy with every text and passage id replaced by its placeholder.

        See `sgi.kernel.signature`.
        """
        fields = self.model_fields_set
        values: dict[str, object] = {}
        if self.metadata:
            values["metadata"] = {name: with_placeholders(value) for name, value in self.metadata.items()}
        if "relevance" in fields:
            values["relevance"] = {placeholder(name): grade for name, grade in self.relevance.items()}
        if "context_ids" in fields:
            values["context_ids"] = tuple(map(placeholder, self.context_ids))
        if "citations" in fields:
            values["citations"] = tuple(citation.with_placeholder() for citation in self.citations)
        return self.with_texts(placeholder).model_copy(update=values)

    def field_values(self) -> dict[str, Any]:
        """Return the fields that are present, in alphabetical order, as JSON values."""
        values = {name: getattr(self, name) for name in sorted(self.model_fields_set)}
        values |= {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        for name in _OBJECTS & values.keys():
            values[name] = [part.model_dump(exclude_none=True) for part in values[name]]
        return values

    def further_values(self) -> dict[str, Any]:
        """Return the fields of `FURTHER_FIELDS` that are present, as JSON values."""
        if self.model_fields_set.isdisjoint(FURTHER_FIELDS):
            return {}
        values = self.field_values()
        return {name: values[name] for name in FURTHER_FIELDS if name in values}

    def has(self, field: Field) -> bool:
        """Return whether the field, or one of its alternatives, is present; a blank text is present."""
        if field in _EITHER:
            return not _EITHER[field].isdisjoint(self.model_fields_set)
        return field.value in self.model_fields_set

    @property
    def present(self) -> tuple[Field, ...]:
        """The fields that are present, as by `has`, in the order of `Field`."""
        names = self.model_fields_set
        return tuple(name for name in Field if not names.isdisjoint(_EITHER.get(name, (name.value,))))

    def cluster(self, position: int, by: str = BY_QUESTION) -> int:
        """Return the number of the row's cluster, a signed 64-bit integer; ``by`` is a cluster rule.

        The rows of a cluster are not independent, so statistics resample them together. The rules are in
        `sgi.kernel.clusters`.
        """
        return cluster_number(
            by, position, question=self.question, contexts=self.contexts, metadata=self.metadata
        )

    def missing_reason(self, fields: Fields) -> str:
        """Return the reason for the status ``missing``, which lists the absent fields.

        A reader may say why a field is absent: ``metadata["absent"]`` maps fields to reasons.

        >>> sample = Sample(id="1", metadata={"absent": {"contexts": "4 documents have no text"}})
        >>> sample.missing_reason(CONTEXTS)
        'the sample has no contexts (4 documents have no text)'
        """
        reasons = self.metadata.get("absent")
        reasons = reasons if isinstance(reasons, dict) else {}
        absent = sorted(field.value for field in fields if not self.has(field))
        texts = [f"{name} ({reasons[name]})" if name in reasons else name for name in absent]
        return f"the sample has no {' and no '.join(texts)}"


def _as_list(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples as columns. Row ``i`` of every column belongs to ``samples[i]``.

    >>> batch = Batch.of([Sample(id="1", question="q", contexts=("a", "b"), response="r")])
    >>> batch.question, batch.contexts[0], batch.present(QUESTION | REFERENCE).tolist()
    (('q',), ('a', 'b'), [False])
    """

    samples: tuple[Sample, ...]

    __repr__ = short_repr

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Self:
        """Make a batch of samples."""
        return cls(tuple(samples))

    def __len__(self) -> int:
        return len(self.samples)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the samples."""
        return tuple(sample.id for sample in self.samples)

    @cached_property
    def question(self) -> tuple[str, ...]:
        """The questions; blank if absent."""
        return tuple(sample.question for sample in self.samples)

    @cached_property
    def contexts(self) -> Ragged[str]:
        """The passages of each row."""
        return Ragged.from_rows(sample.contexts for sample in self.samples)

    @cached_property
    def response(self) -> tuple[str, ...]:
        """The responses; blank if absent."""
        return tuple(sample.response for sample in self.samples)

    @cached_property
    def references(self) -> Ragged[str]:
        """The accepted answers of each row, the reference first."""
        return Ragged.from_rows(sample.references for sample in self.samples)

    @cached_property
    def metadata(self) -> tuple[Mapping[str, JsonValue], ...]:
        """The further columns of each row."""
        return tuple(sample.metadata for sample in self.samples)

    @cached_property
    def _results(self) -> dict[Hashable, Any]:
        return {}

    def compute_once(
        self, compute: Callable[Concatenate[Batch, A], T], *arguments: A.args, **keywords: A.kwargs
    ) -> T:
        """Call ``compute(batch, …)`` once for each set of arguments; metrics of a batch share the result."""
        key = (compute, arguments, *keywords.items())
        if key not in self._results:
            self._results[key] = compute(self, *arguments, **keywords)
        result: T = self._results[key]
        return result

    def present(self, fields: Fields) -> NDArray[np.bool_]:
        """Return which rows have all of these fields, shape (n,)."""
        names = tuple(fields)
        return np.fromiter((all(map(s.has, names)) for s in self.samples), dtype=np.bool_, count=len(self))

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return a batch of these rows, in this order."""
        return type(self)(tuple(self.samples[row] for row in rows))
