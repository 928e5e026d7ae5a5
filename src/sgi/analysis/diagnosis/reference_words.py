"""Which words and facts of a reference are in the passages and in the response, without a model."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from sgi.analysis.diagnosis.spans import Span
from sgi.kernel.sample import CONTEXTS, REFERENCE, RESPONSE
from sgi.metrics.grounding.check import Verdict, check_facts
from sgi.metrics.grounding.words import split_words
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.sample import Fields, Sample

_VERDICTS = frozenset({"yes", "no", "true", "fals"})
"""Stems of references that no passage states."""


class Share(NamedTuple):
    """A share with evidence; ``value`` is None if it is unknown, for the ``reason``."""

    value: float | None
    spans: tuple[Span, ...] = ()
    reason: str = ""
    rank: int = 0


def reference_in_passages(sample: Sample) -> Share:
    """Return the largest share of the words of a reference that one passage has, and the first such passage.

    Only content words count, by their stems, and not those of the question (unless no other word is left).
    The reference with the largest share counts.
    """
    if reason := _lacking(sample, CONTEXTS | REFERENCE):
        return Share(None, reason=reason)
    candidates = [words for words in _reference_words(sample) if words - _VERDICTS]
    if not candidates:
        return Share(None, reason="the reference has no word that a passage could state")
    if not sample.contexts:
        return Share(0.0)
    passages = [split_words(text).vocabulary for text in sample.contexts]
    shares = [
        (max(_share(words, passage) for words in candidates), -rank)
        for rank, passage in enumerate(passages, 1)
    ]
    best, rank = max(shares)
    return Share(best, rank=-rank)


def reference_in_response(sample: Sample) -> Share:
    """Return the share of the words of the best reference that the response has, and the missing words."""
    if reason := _lacking(sample, RESPONSE | REFERENCE):
        return Share(None, reason=reason)
    candidates = _reference_words(sample)
    if not candidates:
        return Share(None, reason="the reference is blank")
    response = split_words(sample.response).vocabulary
    words = max(candidates, key=lambda words: _share(words, response))
    spans = tuple(Span("missing word of the reference", word) for word in _missing(sample, words, response))
    return Share(_share(words, response), spans)


def contradictions_of_reference(sample: Sample) -> Share:
    """Count the facts of the response that every reference contradicts."""
    if reason := _lacking(sample, RESPONSE | REFERENCE):
        return Share(None, reason=reason)
    by_reference = [tuple(_contradictions(sample, text)) for text in sample.references]
    spans = min(by_reference, key=len)
    return Share(float(len(spans)), spans)


def _lacking(sample: Sample, fields: Fields) -> str:
    return "" if all(map(sample.has, fields)) else sample.missing_reason(fields)


def _contradictions(sample: Sample, reference: str) -> Iterable[Span]:
    for sentence in sentences(sample.response):
        for check in check_facts(sentence, [reference], sample.question):
            if check.verdict is Verdict.CONTRADICTED:
                kind = f"contradicted {check.fact.kind.value}"
                yield Span(kind, check.fact.text, found=check.found)


def _reference_words(sample: Sample) -> list[frozenset[str]]:
    """Return the stems of the content words of each reference, without those of the question."""
    question = split_words(sample.question).vocabulary
    content = (_content(text) for text in sample.references)
    return [words - question or words for words in content if words]


def _content(text: str) -> frozenset[str]:
    words = split_words(text)
    return frozenset(compress(words.stems, words.content.tolist())) or words.vocabulary


def _share(words: frozenset[str], text: frozenset[str]) -> float:
    return len(words & text) / len(words)


def _missing(sample: Sample, words: frozenset[str], response: frozenset[str]) -> list[str]:
    """Return the words of the references, as they are written, whose stems the response lacks."""
    missing: dict[str, str] = {}
    for text in sample.references:
        found = split_words(text)
        for stem, start, end in zip(found.stems, found.starts.tolist(), found.ends.tolist(), strict=True):
            if stem in words and stem not in response:
                missing.setdefault(stem, text[start:end])
    return [*missing.values()]
