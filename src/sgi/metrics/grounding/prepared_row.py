"""A row with normalised texts and the analysis of its response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.analysis import ResponseText
from sgi.metrics.grounding.language import is_foreign
from sgi.metrics.grounding.normalize_unicode import PlainText, normalize_text
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.kernel.sample import Sample


@dataclass(frozen=True, eq=False)
class PreparedRow:
    """A row with normalised texts.

    Attributes:
        passages: the passages that are not blank.
        positions: index of each of these passages in the row's contexts.
        question: the question, or "" if it is blank.
    """

    sample: Sample
    response: PlainText
    passages: tuple[PlainText, ...]
    positions: tuple[int, ...]
    question: str

    @classmethod
    def of(cls, sample: Sample) -> PreparedRow:
        """Normalise the texts of a row."""
        contexts = [normalize_text(text) for text in sample.contexts]
        positions = tuple(at for at, plain in enumerate(contexts) if plain.text.strip())
        question = normalize_text(sample.question).text.strip()
        passages = tuple(replace(contexts[at], text=AnalysedText.of(contexts[at].text)) for at in positions)
        return cls(sample, normalize_text(sample.response), passages, positions, question)

    @cached_property
    def response_text(self) -> ResponseText:
        """Analysis of the response without its passages."""
        return ResponseText.of(self.response.text)

    @cached_property
    def passage_sentences(self) -> tuple[tuple[str, ...], ...]:
        """The sentences of each passage."""
        return tuple(tuple(sentences(passage.text)) for passage in self.passages)

    @cached_property
    def reason(self) -> str:
        """The reason why the row has no value; "" if it has one."""
        response = self.response_text
        reasons: dict[str, Callable[[], bool]] = {
            "the response is blank": lambda: not response.text.strip(),
            "there are no passages": lambda: not self.sample.contexts,
            "all passages are blank": lambda: not self.passages,
            "the response claims nothing that passages could support": lambda: not response.claims_something,
            "the response is not in English": lambda: is_foreign(response.text),
            "the passages are not in English": lambda: all(is_foreign(text.text) for text in self.passages),
        }
        return next((reason for reason, holds in reasons.items() if holds()), "")

    @property
    def response_sentences(self) -> list[str]:
        """The sentences of the response."""
        return [self.response.text[start:end] for start, end in self.response_text.spans]
