"""The signals that a decision table reads: what each is computed from, and its value for a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi.analysis.diagnosis.derived import DerivedMetric
from sgi.analysis.diagnosis.reference_words import (
    Share,
    content_words,
    contradictions_of_reference,
    reference_in_passages,
    reference_in_response,
)
from sgi.analysis.diagnosis.spans import (
    MISSING_STATEMENT,
    Span,
    found_facts,
    shown_sentences,
    wrong_passages,
)
from sgi.kernel.metric import Score, Status
from sgi.kernel.sample import GOLD, REFERENCE
from sgi.metrics.citations.cited_row import NO_CITATIONS
from sgi.metrics.citations.markers import CitationValidity
from sgi.metrics.citations.support import CitationPrecision
from sgi.metrics.completeness import Completeness
from sgi.metrics.grounding.detector import Grounding
from sgi.metrics.grounding.prepared_row import NO_CLAIMS
from sgi.metrics.lexical import SquadTokenF1
from sgi.metrics.refusal.refusal_detector import Refusal
from sgi.metrics.retrieval import Recall
from sgi.metrics.similarity import SemanticSimilarity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample

NO_REFERENCE_DATA = "the row has no reference, no relevant passages and no field answerable"
DOUBTFUL = 0.5
"""A sentence with a lower support score is not supported."""


@dataclass(frozen=True)
class Signal:
    """The value of a signal for a row.

    Attributes:
        value: a number, or true or false; None if it is unknown.
        reason: why it is unknown.
        spans: the parts of the row that it is about.
        note: a sentence on what a share leaves out.
        is_share: whether the value is a share, which sentences show in percent.
    """

    value: float | bool | None
    reason: str = ""
    spans: tuple[Span, ...] = ()
    note: str = ""
    is_share: bool = False

    @property
    def text(self) -> str:
        """The value of the signal as text: yes, no, a number, a percentage, or ``unknown``."""
        if self.value is None:
            return "an unknown share" if self.is_share else "unknown"
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        if self.is_share:
            return f"{100 * self.value:.1f}".removesuffix(".0") + " %"
        return f"{self.value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class SignalSpec:
    """Description of a signal, and the function that reads it.

    Attributes:
        about: one line for the documentation.
        is_yes_no: whether its value is true or false; otherwise it is a number.
        is_share: whether it is a share, from 0 to 1.
        metric: the metric that it is read from; "" if it is read from the texts of the row.
        of_score: reads it from the score of the metric.
        of_sample: reads it from the texts of the row.
    """

    about: str
    is_yes_no: bool = False
    is_share: bool = False
    metric: str = ""
    of_score: Callable[[Score, Sample], Signal] | None = None
    of_sample: Callable[[Sample], Signal] | None = None


METRICS: Mapping[str, AnyMetric] = {
    "refusal": Refusal(),
    "retrieval": Recall(),
    "grounding": Grounding(),
    "reference_grounding": DerivedMetric(Grounding(), "reference_as_response"),
    "citation_validity": CitationValidity(),
    "citation_precision": CitationPrecision(),
    "completeness": Completeness(),
    "token_f1": SquadTokenF1(),
    "similarity": SemanticSimilarity(),
    "question_similarity": DerivedMetric(SemanticSimilarity(), "question_as_reference"),
}
"""The metrics that signals are read from."""

STORED = ("answerable", "faithfulness", "answer_relevance", "factual_accuracy")
"""Judged metrics that signals are read from if the run has them; no judge is asked."""


def _unknown(score: Score) -> Signal:
    return Signal(None, score.reason)


def _value(score: Score, _sample: Sample) -> Signal:
    return _unknown(score) if score.value is None else Signal(score.value)


def _refusal(score: Score, sample: Sample) -> Signal:
    if score.value is None:
        return _unknown(score)
    phrase = score.details.get("phrase")
    if phrase is None:
        return Signal(score.value == 1)
    start, end = score.details["start"], score.details["end"]
    return Signal(score.value == 1, spans=(Span("refusal", sample.response[start:end], start, end),))


def _answerable(score: Score, sample: Sample) -> Signal:
    if sample.answerable is not None:
        return Signal(sample.answerable)
    return _unknown(score) if score.value is None else Signal(score.value == 1)


def _reference_data(score: Score, sample: Sample) -> Signal:
    known = any(map(sample.has, REFERENCE | GOLD)) or _answerable(score, sample).value is not None
    return Signal(known) if known else Signal(None, NO_REFERENCE_DATA)


def _gold_rank(score: Score, _sample: Sample) -> Signal:
    hits = score.details.get("hits", ())
    if score.value is None or not hits:
        return Signal(None, score.reason or "no relevant passage was retrieved")
    return Signal(float(hits[0]["rank"]))


def _gold_retrieved(score: Score, _sample: Sample) -> Signal:
    return _unknown(score) if score.value is None else Signal(bool(score.details.get("hits")))


def _lowest_sentence(score: Score, _sample: Sample) -> Signal:
    scores = [each["score"] for each in score.details.get("sentences", ()) if each["score"] is not None]
    return Signal(min(scores)) if scores else _unknown(score)


def _no_errors_found(score: Score) -> Signal:
    """Return the number of errors in a response without a support score: 0 if it claims nothing."""
    return Signal(0.0) if score.reason == NO_CLAIMS else _unknown(score)


def _unsupported(score: Score, _sample: Sample, *, as_share: bool) -> Signal:
    if score.value is None:
        return _no_errors_found(score)
    known = [each for each in score.details["sentences"] if each["score"] is not None]
    doubtful = [each for each in known if each["score"] < DOUBTFUL]
    value = len(doubtful) / max(1, len(known)) if as_share else float(len(doubtful))
    return Signal(value, spans=shown_sentences(doubtful))


def _unsupported_parts(score: Score, sample: Sample) -> Signal:
    if score.value is None:
        return _no_errors_found(score)
    parts = [part for each in score.details["sentences"] for part in each["unbacked"]]
    spans = tuple(Span("unsupported part", sample.response[start:end], start, end) for start, end in parts)
    return Signal(float(len(parts)), spans=spans)


def _facts(score: Score, sample: Sample, verdict: str) -> Signal:
    if score.value is None:
        return _no_errors_found(score)
    checks = [check for each in score.details["sentences"] for check in each["checks"]]
    chosen = [check for check in checks if check["verdict"] == verdict]
    return Signal(float(len(chosen)), spans=found_facts(chosen, sample))


def _citations(score: Score, _sample: Sample) -> Signal:
    if score.reason == NO_CITATIONS:
        return Signal(0.0)
    return _unknown(score) if score.value is None else Signal(float(score.details["citations"]))


def _invalid_citations(score: Score, _sample: Sample) -> Signal:
    if score.reason == NO_CITATIONS:
        return Signal(0.0)
    if score.value is None:
        return _unknown(score)
    invalid = score.details["invalid"]
    return Signal(float(len(invalid)), spans=tuple(Span("invalid citation", name) for name in invalid))


def _wrong_citations(score: Score, sample: Sample) -> Signal:
    if score.reason == NO_CITATIONS:
        return Signal(0.0)
    if score.value is None:
        return _unknown(score)
    spans = wrong_passages(score.details["citations"], sample)
    return Signal(float(len(spans)), spans=spans)


def _completeness(score: Score, _sample: Sample) -> Signal:
    if score.value is None:
        return _unknown(score)
    statements = score.details["statements"]
    missing = [each["text"] for each in statements if not each["stated"]]
    # A missing statement that is the whole reference says nothing.
    spans = (Span(MISSING_STATEMENT, text) for text in missing if len(statements) > 1)
    return Signal(score.value, spans=tuple(spans))


def _of_share(find: Callable[[Sample], Share]) -> Callable[[Sample], Signal]:
    """Return the reader of a share of the reference."""

    def read(sample: Sample) -> Signal:
        share = find(sample)
        return Signal(share.value, share.reason, share.spans, share.note)

    return read


def _rank_of_reference(sample: Sample) -> Signal:
    share = reference_in_passages(sample)
    if not share.value:
        return Signal(None, share.reason or "no passage has a word of the reference")
    return Signal(float(share.rank))


SIGNALS: Mapping[str, SignalSpec] = {
    "refusal": SignalSpec(
        "whether the response refuses or says that it cannot answer (metric refusal)",
        is_yes_no=True,
        metric="refusal",
        of_score=_refusal,
    ),
    "answerable": SignalSpec(
        "whether the data can answer the question: the column answerable, or the judged metric of the run",
        is_yes_no=True,
        metric="answerable",
        of_score=_answerable,
    ),
    "reference_data": SignalSpec(
        "true if the row has a reference, relevant passages, or the signal answerable; otherwise unknown",
        is_yes_no=True,
        metric="answerable",
        of_score=_reference_data,
    ),
    "gold_retrieved": SignalSpec(
        "whether a relevant passage was retrieved (columns relevance, gold_ids or gold_passages)",
        is_yes_no=True,
        metric="retrieval",
        of_score=_gold_retrieved,
    ),
    "gold_rank": SignalSpec(
        "the best rank of a relevant passage, from 1; unknown if none was retrieved",
        metric="retrieval",
        of_score=_gold_rank,
    ),
    "gold_recall": SignalSpec(
        "the share of the relevant passages that were retrieved (metric recall)",
        is_share=True,
        metric="retrieval",
        of_score=_value,
    ),
    "reference_in_passages": SignalSpec(
        "the largest share of the words of the reference, without those of the question, in one passage",
        is_share=True,
        of_sample=_of_share(reference_in_passages),
    ),
    "reference_rank": SignalSpec(
        "the rank of the first passage with this share",
        of_sample=_rank_of_reference,
    ),
    "reference_grounding": SignalSpec(
        "how well the passages support the reference (metric grounding of the reference)",
        metric="reference_grounding",
        of_score=_value,
    ),
    "grounding": SignalSpec(
        "how well the passages support the response (metric grounding)",
        metric="grounding",
        of_score=_value,
    ),
    "lowest_sentence": SignalSpec(
        "the lowest support score of a sentence of the response",
        metric="grounding",
        of_score=_lowest_sentence,
    ),
    "unsupported_sentences": SignalSpec(
        "the number of sentences of the response with a support score below 0.5",
        metric="grounding",
        of_score=lambda score, sample: _unsupported(score, sample, as_share=False),
    ),
    "unsupported_share": SignalSpec(
        "the share of these sentences",
        is_share=True,
        metric="grounding",
        of_score=lambda score, sample: _unsupported(score, sample, as_share=True),
    ),
    "unsupported_parts": SignalSpec(
        "the number of parts of the response, of two words or a fact, that no passage has",
        metric="grounding",
        of_score=_unsupported_parts,
    ),
    "contradicted_facts": SignalSpec(
        "the number of numbers, dates and names of the response that a passage contradicts",
        metric="grounding",
        of_score=lambda score, sample: _facts(score, sample, "contradicted"),
    ),
    "absent_facts": SignalSpec(
        "the number of numbers, dates and names of the response that no passage states",
        metric="grounding",
        of_score=lambda score, sample: _facts(score, sample, "absent"),
    ),
    "citations": SignalSpec(
        "the number of cited passages in the response",
        metric="citation_validity",
        of_score=_citations,
    ),
    "invalid_citations": SignalSpec(
        "the number of citations of passages that do not exist",
        metric="citation_validity",
        of_score=_invalid_citations,
    ),
    "wrong_citations": SignalSpec(
        "the number of cited passages that do not support their statement (metric citation_precision)",
        metric="citation_precision",
        of_score=_wrong_citations,
    ),
    "reference_in_response": SignalSpec(
        "the share of the words of the reference, without those of the question, in the response",
        is_share=True,
        of_sample=_of_share(reference_in_response),
    ),
    "completeness": SignalSpec(
        "the share of the statements of the reference that the response states (metric completeness)",
        is_share=True,
        metric="completeness",
        of_score=_completeness,
    ),
    "content_words": SignalSpec(
        "the number of distinct content words of the response", of_sample=_of_share(content_words)
    ),
    "reference_contradictions": SignalSpec(
        "the number of numbers, dates, names and yes or no of the response that the reference contradicts",
        of_sample=_of_share(contradictions_of_reference),
    ),
    "token_f1": SignalSpec(
        "the overlap of response and reference (metric squad_token_f1)", metric="token_f1", of_score=_value
    ),
    "similarity": SignalSpec(
        "the similarity of response and reference (metric semantic_similarity)",
        metric="similarity",
        of_score=_value,
    ),
    "question_similarity": SignalSpec(
        "the similarity of response and question, by embedding", metric="question_similarity", of_score=_value
    ),
    "faithfulness": SignalSpec(
        "the judged metric faithfulness, if the run has it", metric="faithfulness", of_score=_value
    ),
    "answer_relevance": SignalSpec(
        "the judged metric answer_relevance, if the run has it", metric="answer_relevance", of_score=_value
    ),
    "factual_accuracy": SignalSpec(
        "the judged metric factual_accuracy, if the run has it", metric="factual_accuracy", of_score=_value
    ),
}
"""All signals, by name."""


def read_signals(names: tuple[str, ...], sample: Sample, scores: Mapping[str, Score]) -> dict[str, Signal]:
    """Return the signals of a row, given the scores by the keys of `METRICS` and `STORED`."""
    specs = {name: SIGNALS[name] for name in names}
    return {name: replace(_read(it, sample, scores), is_share=it.is_share) for name, it in specs.items()}


def _read(spec: SignalSpec, sample: Sample, scores: Mapping[str, Score]) -> Signal:
    if spec.of_sample is not None:
        return spec.of_sample(sample)
    absent = Score(None, Status.MISSING, f"neither the row nor the run has {spec.metric}")
    assert spec.of_score is not None  # noqa: S101 - a signal has one of the two readers
    return spec.of_score(scores.get(spec.metric, absent), sample)
