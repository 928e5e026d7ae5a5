"""A row with normalised texts and the analysis of its response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.analysis import ResponseText
from sgi.metrics.grounding.language import is_foreign
from sgi.metrics.grounding.normalize_unicode import PlainText, normalize_text
from sgi.metrics.grounding.yes_no import yes_no_statement
from sgi.text.cited_text import remove_markers
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.kernel.sample import Sample
    from sgi.text.cited_text import TextWithoutMarkers

NO_CLAIMS = "the response claims nothing that passages could support"


@dataclass(frozen=True, eq=False)
class PreparedRow:
    """A row with normalised texts.

    Attributes:
        response: the response without citation markers; for "yes" and "no", what it says about the question.
        passages: the passages that are not blank.
        positions: index of each of these passages in the row's contexts.
        question: the question; "" if it is blank or part of ``response``.
        has_markers: whether the original response has citation markers.
        denied: whether the response is "no" to the question.
    """

    sample: Sample
    response: PlainText
    passages: tuple[PlainText, ...]
    positions: tuple[int, ...]
    question: str
    has_markers: bool
    denied: bool = False

    @classmethod
    def of(cls, sample: Sample) -> PreparedRow:
        """Normalise the texts of a row."""
        contexts = [normalize_text(text) for text in sample.contexts]
        positions = tuple(at for at, plain in enumerate(contexts) if plain.text.strip())
        question = normalize_text(sample.question).text.strip()
        passages = tuple(replace(contexts[at], text=AnalysedText.of(contexts[at].text)) for at in positions)
        unmarked = remove_markers(sample.response, ids=sample.context_ids)
        response = _normalized(unmarked, len(sample.response))
        has_markers = unmarked.positions is not None
        statement = yes_no_statement(response.text, question)
        if statement is None:
            return cls(sample, response, passages, positions, question, has_markers)
        claim = PlainText(statement.text, None, source=(0, len(sample.response)))
        return cls(sample, claim, passages, positions, "", has_markers, denied=statement.denied)

    @cached_property
    def response_text(self) -> ResponseText:
        """Analysis of the response without its passages."""
        return ResponseText.of(self.response.text, self.question)

    @cached_property
    def passage_sentences(self) -> tuple[tuple[str, ...], ...]:
        """The sentences of each passage."""
        return tuple(tuple(sentences(passage.text)) for passage in self.passages)

    @cached_property
    def reason(self) -> str:
        """The reason why the row has no value; "" if it has one."""
        response = self.response_text
        reasons: dict[str, Callable[[], bool]] = {
            "the response is blank": lambda: not response.text.strip() and not self.has_markers,
            "there are no passages": lambda: not self.sample.contexts,
            "all passages are blank": lambda: not self.passages,
            NO_CLAIMS: lambda: not response.claims_something,
            "the response is not in English": lambda: is_foreign(response.text),
            "the passages are not in English": lambda: all(is_foreign(text.text) for text in self.passages),
        }
        return next((reason for reason, holds in reasons.items() if holds()), "")

    @cached_property
    def original_spans(self) -> tuple[tuple[int, int], ...]:
        """Start and end of each sentence in the original response, with the markers next to it.

        The markers between two sentences belong to the first one, except those at the beginning of the line
        of the second one.
        """
        text = self.sample.response
        spans = [self.response.original_span(start, end) for start, end in self.response_text.spans]
        if not self.has_markers:
            return tuple(spans)
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        for number in range(len(spans) + 1):
            first = ends[number - 1] if number else 0
            last = starts[number] if number < len(spans) else len(text)
            line = text.rfind("\n", first, last) + 1
            cut = 0 if not number else line if line and number < len(spans) else last
            if number:
                ends[number - 1] += len(text[first:cut].rstrip())
            if number < len(spans):
                starts[number] -= len(text[cut:last].lstrip())
        return tuple(zip(starts, ends, strict=True))

    @property
    def response_sentences(self) -> list[str]:
        """The sentences of the response."""
        return [self.response.text[start:end] for start, end in self.response_text.spans]


def _normalized(unmarked: TextWithoutMarkers, length: int) -> PlainText:
    """Normalise a response without markers; positions are those of the response, which has this length."""
    plain = normalize_text(unmarked.text)
    if unmarked.positions is None:
        return plain
    positions = np.array([*unmarked.positions, length], dtype=np.int64)
    return PlainText(plain.text, positions if plain.positions is None else positions[plain.positions])
