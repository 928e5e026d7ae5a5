"""The parts of a row that are evidence for its cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.kernel.sample import Sample

MISSING_STATEMENT = "missing statement"
MISSING_WORD = "missing word of the reference"
_MAX_SPANS = 20


@dataclass(frozen=True)
class Span:
    """A part of a response, and what contradicts it.

    Attributes:
        kind: what it is, such as ``contradicted number`` or ``unsupported sentence``.
        text: the part.
        start: its start in the response, in characters; None if it is not a part of the response.
        end: its end.
        passage: the position of the passage that it is compared with, from 1; None without one.
        found: the words of that passage, or of the reference.
    """

    kind: str
    text: str
    start: int | None = None
    end: int | None = None
    passage: int | None = None
    found: str = ""

    def __str__(self) -> str:
        source = "the reference" if self.passage is None else f"passage {self.passage}"
        beside = f"; {source}: “{self.found}”" if self.found else ""
        return f"{self.kind} “{self.text}”{beside}"


def distinct(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans without repeats, and without the missing words of a missing statement."""
    different = tuple(dict.fromkeys(spans))
    shown = [split_words(span.text).vocabulary for span in different if span.kind == MISSING_STATEMENT]
    return tuple(
        span
        for span in different
        if span.kind != MISSING_WORD
        or not any(split_words(span.text).vocabulary <= statement for statement in shown)
    )


def found_facts(checks: Iterable[Mapping[str, Any]], _sample: Sample) -> tuple[Span, ...]:
    """Return the checked facts of an evidence map."""
    spans = (
        Span(
            f"{check['verdict']} {check['kind']}",
            check["fact"],
            check["start"],
            check["end"],
            None if check["passage"] is None else check["passage"] + 1,
            check["found"],
        )
        for check in checks
    )
    return tuple(spans)[:_MAX_SPANS]


def shown_sentences(sentences: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    """Return the unsupported sentences of an evidence map, each with the nearest sentence of its passage."""
    return tuple(
        Span(
            "unsupported sentence",
            each["text"],
            each["start"],
            each["end"],
            each["passage"] + 1,
            each["beside"],
        )
        for each in sentences[:_MAX_SPANS]
    )


def wrong_passages(citations: Iterable[Mapping[str, Any]], sample: Sample) -> tuple[Span, ...]:
    """Return the cited passages that do not support the statement that cites them."""
    return tuple(
        Span(
            "wrong citation",
            citation["text"] or part["target"],
            citation["start"],
            citation["end"],
            part["passage"] + 1,
            sample.contexts[part["passage"]],
        )
        for citation in citations
        for part in citation["passages"]
        if part["verdict"] == "wrong"
    )[:_MAX_SPANS]
