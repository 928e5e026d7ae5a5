"""Which words and facts of a reference are in the passages and in the response, without a model."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from sgi.analysis.diagnosis.spans import MISSING_WORD, Span
from sgi.kernel.sample import CONTEXTS, REFERENCE, RESPONSE
from sgi.metrics.completeness import YES_OR_NO
from sgi.metrics.grounding.check_facts import Verdict, check_facts
from sgi.metrics.grounding.facts import FactKind, Quantity
from sgi.metrics.grounding.prepared_row import yes_no_statement
from sgi.metrics.grounding.words import split_words
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.sample import Fields, Sample
    from sgi.metrics.grounding.facts import Fact

_VERDICTS = frozenset({"yes", "no", "true", "fals"})
"""Stems of references that no passage states."""

_SHORT = 3  # content words

_WITHOUT_QUESTION = "Words of the question do not count."


class Share(NamedTuple):
    """A share with its evidence; ``value`` is None if it is unknown, and ``reason`` says why.

    ``note`` says what the share leaves out.
    """

    value: float | None
    spans: tuple[Span, ...] = ()
    reason: str = ""
    rank: int = 0
    note: str = ""


def reference_in_passages(sample: Sample) -> Share:
    """Return the largest share of the words of a reference that one passage has, and the first such passage.

    Only content words count, by their stems. Words of the question do not count, unless no other word is
    left. The reference with the largest share counts.
    """
    if reason := _lacking(sample, CONTEXTS | REFERENCE):
        return Share(None, reason=reason)
    found, note = _reference_words(sample)
    candidates = [words for words in found if words - _VERDICTS]
    if not candidates:
        return Share(None, reason="the reference has no word that a passage could state")
    if not sample.contexts:
        return Share(0.0, note=note)
    passages = [split_words(text).vocabulary for text in sample.contexts]
    shares = [
        (max(_share(words, passage) for words in candidates), -rank)
        for rank, passage in enumerate(passages, 1)
    ]
    best, rank = max(shares)
    return Share(best, rank=-rank, note=note)


def reference_in_response(sample: Sample) -> Share:
    """Return the share of the words of the best reference that the response has, and the missing words."""
    if reason := _lacking(sample, RESPONSE | REFERENCE):
        return Share(None, reason=reason)
    candidates, note = _reference_words(sample)
    if not candidates:
        return Share(None, reason="the reference is blank")
    response = split_words(sample.response).vocabulary | _equal_values(sample)
    words = max(candidates, key=lambda words: _share(words, response))
    spans = tuple(Span(MISSING_WORD, word) for word in _missing(sample, words, response))
    if spans and yes_no_statement(sample.response, sample.question):
        # What "yes" says is in the question, so its missing words are no evidence.
        found = " / ".join(sample.references)
        spans = (Span("yes or no", sample.response, 0, len(sample.response), found=found),)
    return Share(_share(words, response), spans, note=note)


def contradictions_of_reference(sample: Sample) -> Share:
    """Count the facts of the response that every reference contradicts.

    A number or date also contradicts a reference if the response does not state the one of the reference, and
    so does "no" if the reference says "yes".
    """
    if reason := _lacking(sample, RESPONSE | REFERENCE):
        return Share(None, reason=reason)
    by_reference = [tuple(_contradictions(sample, text)) for text in sample.references]
    spans = min(by_reference, key=len)
    return Share(float(len(spans)), spans)


def content_words(sample: Sample) -> Share:
    """Count the distinct content words of a response."""
    if reason := _lacking(sample, RESPONSE):
        return Share(None, reason=reason)
    return Share(float(len(_content(sample.response))))


def _lacking(sample: Sample, fields: Fields) -> str:
    return "" if all(map(sample.has, fields)) else sample.missing_reason(fields)


def _contradictions(sample: Sample, reference: str) -> Iterable[Span]:
    said, expected = YES_OR_NO.match(sample.response), YES_OR_NO.match(reference)
    if said and expected and said[1].casefold() != expected[1].casefold():
        yield Span("contradicted answer", said[1], *said.span(1), found=expected[1])
    missing = _missing_values(sample, reference)
    is_short = len(_content(sample.response)) <= _SHORT
    for start, end in sentence_spans(sample.response):
        for check in check_facts(sample.response[start:end], [reference], sample.question):
            fact = check.fact
            found = check.found if check.verdict is Verdict.CONTRADICTED else ""
            if check.verdict is Verdict.ABSENT:
                found = next((value.text for value in missing if _replaces(fact, value, is_short)), "")
            if found:
                place = start + fact.start, start + fact.end
                yield Span(f"contradicted {fact.kind.value}", fact.text, *place, found=found)


def _equal_values(sample: Sample) -> frozenset[str]:
    """Return the stems of numbers and dates of the references that the response states in other words."""
    equal = (
        split_words(check.fact.text).vocabulary
        for reference in sample.references
        for check in check_facts(reference, [sample.response])
        if check.verdict is Verdict.SUPPORTED and check.fact.kind is not FactKind.NAME
    )
    return frozenset().union(*equal)


def _missing_values(sample: Sample, reference: str) -> list[Fact]:
    """Return the numbers and dates of a reference if the response states none of them."""
    checks = [
        check for check in check_facts(reference, [sample.response]) if check.fact.kind is not FactKind.NAME
    ]
    stated = any(check.verdict is Verdict.SUPPORTED for check in checks)
    return [] if stated else [check.fact for check in checks]


def _replaces(fact: Fact, value: Fact, is_short: bool) -> bool:
    """Return whether a fact of a response can stand in the place of another value, and is not equal to it."""
    if not (isinstance(fact, Quantity) and isinstance(value, Quantity)):
        return fact.kind is FactKind.DATE and value.kind is FactKind.DATE
    if (fact.low, fact.high) == (value.low, value.high) and (not fact.units or fact.units == value.units):
        return False
    bare = is_short and not fact.units and not fact.noun
    counted = not (fact.units or value.units) and fact.noun == value.noun != ""
    return bare or counted or (bool(fact.dimension) and fact.dimension == value.dimension)


def _reference_words(sample: Sample) -> tuple[list[frozenset[str]], str]:
    """Return the stems of the content words of each reference, without those of the question, and a note.

    The note says that words of the question do not count, if a reference has such words and others.
    """
    question = split_words(sample.question).vocabulary
    content = [words for words in map(_content, sample.references) if words]
    is_shortened = any(words & question and words - question for words in content)
    return [words - question or words for words in content], _WITHOUT_QUESTION if is_shortened else ""


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
