"""Builds the evidence map of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.metrics.grounding.check_facts import Verdict
from sgi.metrics.grounding.facts import merge_spans
from sgi.metrics.grounding.grounding_model import grounding_model
from sgi.metrics.grounding.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.metrics.grounding.analysis import ResponseAnalysis, Sentence
    from sgi.metrics.grounding.check_facts import Check
    from sgi.metrics.grounding.evidence_map import Finding
    from sgi.metrics.grounding.grounding_model import SentenceVerdict
    from sgi.metrics.grounding.prepared_row import PreparedRow

_DIGITS = 4
_SHORTEST_GAP = 2  # content words in a row that no passage has


class SentenceScore(NamedTuple):
    """The support score of a sentence, with the contribution of each signal to its log odds."""

    score: float
    contributions: Sequence[float]


def build_evidence_map(
    row: PreparedRow,
    analysis: ResponseAnalysis,
    scores: Sequence[SentenceScore | None],
    signals: Mapping[str, Mapping[str, float | None]],
) -> dict[str, Any]:
    """Build the `EvidenceMap` of a response as JSON; ``scores`` has None where a sentence claims nothing."""
    sentences: list[dict[str, Any]] = []
    used: set[int] = set()
    for number, (sentence, score) in enumerate(zip(analysis.sentences, scores, strict=True)):
        support = analysis.support
        places = support.places[number]
        best = (places[0] if places else support.nearest_sentences(number)[0]).passage
        used |= {
            *(place.passage for place in places),
            *(check.passage for check in sentence.checks if check.passage is not None),
        }
        start, end = row.original_spans[number]
        nearest = row.passages[best].original_span(*support.nearest_in(best, number).span)
        sentences.append(
            {
                "text": row.sample.response[start:end],
                "claim": row.response.text if row.response.source else "",
                "start": start,
                "end": end,
                "score": None if score is None else round(score.score, _DIGITS),
                "verdict": None if score is None else _verdict(score, sentence),
                "contributions": _contributions_by_name(score),
                "about_passages": sentence.silent,
                "passage": row.positions[best],
                "beside": row.sample.contexts[row.positions[best]][slice(*nearest)],
                "unbacked": [
                    [*row.response.original_span(*span)] for span in unsupported_spans(analysis, sentence)
                ],
                "checks": [_fact_evidence(check, sentence, row) for check in sentence.checks],
                "entailment": None,
                "contradiction": None,
                "entailment_windows": 0,
                "entailment_pairs": 0,
            }
        )
    unused = [position for at, position in enumerate(row.positions) if at not in used]
    return {
        "finding": _finding(signals),
        "signals": dict(signals),
        "sentences": sentences,
        "passages": [*row.positions],
        "unused": unused,
        "language": row.language.code,
    }


def _finding(signals: Mapping[str, Mapping[str, float | None]]) -> Finding:
    def is_low(name: str) -> bool:
        return (signals[name]["value"] or 0.0) < 0

    if is_low("contradicted"):
        return "contradicted"
    return "fact missing" if is_low("numbers") or is_low("names") else "no finding"


def _verdict(score: SentenceScore, sentence: Sentence) -> SentenceVerdict:
    limits = grounding_model().sentence_limits
    return limits.verdict(score.score, is_contradicted=bool(sentence.contradictions))


def unsupported_spans(analysis: ResponseAnalysis, sentence: Sentence) -> list[tuple[int, int]]:
    """Return the disjoint spans of a sentence that no passage supports.

    A span is two or more content words in a row that no passage has, or a fact that is not supported.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> response = "The old tower was sold to Spanish investors."
    >>> analysis = ResponseAnalysis.of(response, ["The old tower is red."])
    >>> [analysis.response[start:end] for start, end in unsupported_spans(analysis, analysis.sentences[0])]
    ['sold to Spanish investors']
    """
    words, flags = analysis.words, analysis.flags
    spans: list[tuple[int, int]] = []
    run: list[int] = []
    first, last, _ = sentence.words.indices(len(words))
    for place in [*range(first, last), -1]:
        if place >= 0 and not flags.content[place]:
            continue
        if place >= 0 and flags.claims[place] and not flags.known[place]:
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


def _fact_evidence(check: Check, sentence: Sentence, row: PreparedRow) -> dict[str, object]:
    start, end = row.response.original_span(
        sentence.start + check.fact.start, sentence.start + check.fact.end
    )
    location: tuple[int | None, int | None] = (None, None)
    if check.passage is not None and check.start is not None and check.end is not None:
        location = row.passages[check.passage].original_span(check.start, check.end)
    return {
        "fact": check.fact.text if row.response.source else row.sample.response[start:end],
        "kind": check.fact.kind.value,
        "start": start,
        "end": end,
        "verdict": check.verdict.value,
        "passage": None if check.passage is None else row.positions[check.passage],
        "found": check.found,
        "found_start": location[0],
        "found_end": location[1],
        "how": check.how,
    }


def _contributions_by_name(score: SentenceScore | None) -> dict[str, float]:
    parts = () if score is None else score.contributions
    return {name: round(part, _DIGITS) + 0.0 for name, part in zip(Signals._fields, parts, strict=False)}
