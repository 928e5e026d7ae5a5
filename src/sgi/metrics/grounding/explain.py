"""Builds the evidence map of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.evidence_map import EvidenceMap, FactEvidence, SentenceEvidence
from sgi.metrics.grounding.facts.check import Verdict
from sgi.metrics.grounding.signals import Signals
from sgi.metrics.grounding.spans import merge_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.metrics.grounding.analysis import ResponseAnalysis, Sentence
    from sgi.metrics.grounding.evidence_map import SignalPart
    from sgi.metrics.grounding.facts.check import Check
    from sgi.metrics.grounding.normalize_unicode import PlainText
    from sgi.metrics.grounding.passage_similarity import PassageSimilarity

_DIGITS = 4
_SHORTEST_GAP = 2  # content words in a row that no passage has


class OriginalTexts(NamedTuple):
    """Original texts of a row, to map positions back.

    Attributes:
        response: the original response.
        read: the response with normalised typography.
        passages: the non-blank passages, with normalised typography.
        positions: index of each of them among the row's contexts.
    """

    response: str
    read: PlainText
    passages: tuple[PlainText, ...]
    positions: tuple[int, ...]


class SentenceScore(NamedTuple):
    """The grounding score of a sentence, and each signal's part of its log odds."""

    score: float
    contributions: Sequence[float]


def build_evidence_map(
    analysis: ResponseAnalysis,
    similarity: PassageSimilarity,
    passage_sentences: Sequence[Sequence[str]],
    origin: OriginalTexts,
    scores: Sequence[SentenceScore | None],
    signals: Mapping[str, SignalPart],
) -> EvidenceMap:
    """Build the evidence map of a response.

    ``scores`` holds None for sentences that claim nothing; ``passage_sentences`` and ``similarity`` cover the
    non-blank passages.
    """
    sentences: list[SentenceEvidence] = []
    used: set[int] = set()
    for number, (sentence, scored) in enumerate(zip(analysis.sentences, scores, strict=True)):
        places = analysis.support.places[number]
        best = places[0].passage if places else int(similarity.best[number].argmax())
        used |= {
            *(place.passage for place in places),
            *(check.passage for check in sentence.checks if check.passage is not None),
        }
        start, end = origin.read.written(sentence.start, sentence.end)
        sentences.append(
            SentenceEvidence(
                text=origin.response[start:end],
                start=start,
                end=end,
                score=None if scored is None else round(scored.score, _DIGITS),
                contributions=_named_contributions(scored),
                about_passages=sentence.silent,
                passage=origin.positions[best],
                beside=passage_sentences[best][similarity.place[number, best]],
                similarity=tuple(np.round(similarity.best[number], _DIGITS).tolist()),
                unbacked=tuple(origin.read.written(*span) for span in unsupported_spans(analysis, sentence)),
                checks=tuple(_fact(check, sentence, origin) for check in sentence.checks),
            )
        )
    unused = tuple(position for at, position in enumerate(origin.positions) if at not in used)
    return EvidenceMap(
        signals=dict(signals), sentences=tuple(sentences), passages=origin.positions, unused=unused
    )


def unsupported_spans(analysis: ResponseAnalysis, sentence: Sentence) -> list[tuple[int, int]]:
    """Return disjoint (start, end) spans of a sentence that no passage supports.

    A span has two or more consecutive content words that no passage has, or a fact that fails its check.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> response = "The old tower was sold to Spanish investors."
    >>> analysis = ResponseAnalysis.of(response, ["The old tower is red."])
    >>> [analysis.response[start:end] for start, end in unsupported_spans(analysis, analysis.sentences[0])]
    ['sold to Spanish investors']
    """
    words = analysis.words
    spans: list[tuple[int, int]] = []
    run: list[int] = []
    first, last, _ = sentence.words.indices(len(words))
    for place in [*range(first, last), -1]:
        if place >= 0 and not words.content[place]:
            continue
        if place >= 0 and analysis.claims[place] and not analysis.known[place]:
            run.append(place)
            continue
        if len(run) >= _SHORTEST_GAP:
            spans.append((int(words.starts[run[0]]), int(words.ends[run[-1]])))
        run = []
    spans += [
        (sentence.start + check.fact.start, sentence.start + check.fact.end)
        for check in sentence.checks
        if check.verdict is not Verdict.SUPPORTED
    ]
    return merge_spans(spans)


def _fact(check: Check, sentence: Sentence, origin: OriginalTexts) -> FactEvidence:
    start, end = origin.read.written(sentence.start + check.fact.start, sentence.start + check.fact.end)
    location: tuple[int | None, int | None] = (None, None)
    if check.passage is not None and check.start is not None and check.end is not None:
        location = origin.passages[check.passage].written(check.start, check.end)
    return FactEvidence(
        fact=origin.response[start:end],
        kind=check.fact.kind.value,
        start=start,
        end=end,
        verdict=check.verdict.value,
        passage=None if check.passage is None else origin.positions[check.passage],
        found=check.found,
        found_start=location[0],
        found_end=location[1],
        how=check.how,
    )


def _named_contributions(judged: SentenceScore | None) -> dict[str, float]:
    parts = () if judged is None else judged.contributions
    return {name: round(part, _DIGITS) + 0.0 for name, part in zip(Signals._fields, parts, strict=False)}
