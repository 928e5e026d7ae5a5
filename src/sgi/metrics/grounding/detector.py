"""The metric ``grounding``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sgi.kernel.metric import SCORE, Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.evidence_map import SignalPart
from sgi.metrics.grounding.explain import OriginalTexts, SentenceScore, build_evidence_map
from sgi.metrics.grounding.language import is_foreign
from sgi.metrics.grounding.model import grounding_model, sigmoid
from sgi.metrics.grounding.nli import ResponseEntailment, entailment_pairs_of
from sgi.metrics.grounding.normalize_unicode import PlainText, normalize_text
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.passage_similarity import PassageSimilarity
from sgi.metrics.grounding.signals import Signals, signals_of, table
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.features import Features
    from sgi.kernel.metric import EntailmentNeeds
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import VectorTable

_CITATION = "worst stretch of lexical, factual and geometric support; trained by scripts/train_grounding.py"
_NOTHING: Mapping[str, JsonValue] = {}


@dataclass(frozen=True, eq=False)
class PreparedRow:
    """A row with normalised typography and cached analysis.

    Attributes:
        passages: the passages that are not blank.
        positions: index of each of them among the row's contexts.
        question: the question; empty if it is blank.
    """

    sample: Sample
    response: PlainText
    passages: tuple[PlainText, ...]
    positions: tuple[int, ...]
    question: str

    @classmethod
    def of(cls, sample: Sample) -> PreparedRow:
        """Bring the texts of a row to plain typography."""
        read = [normalize_text(text) for text in sample.contexts]
        positions = tuple(at for at, plain in enumerate(read) if plain.text.strip())
        question = normalize_text(sample.question).text.strip()
        passages = tuple(replace(read[at], text=AnalysedText.of(read[at].text)) for at in positions)
        return cls(sample, normalize_text(sample.response), passages, positions, question)

    @cached_property
    def response_text(self) -> ResponseText:
        """What can be read of the response alone."""
        return ResponseText.of(self.response.text)

    @cached_property
    def passage_sentences(self) -> tuple[tuple[str, ...], ...]:
        """The sentences of each passage."""
        return tuple(tuple(sentences(passage.text)) for passage in self.passages)

    @cached_property
    def reason(self) -> str:
        """Why the row has no value; empty where it has one."""
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
    def stated(self) -> list[str]:
        """The sentences of the response."""
        return [self.response.text[start:end] for start, end in self.response_text.spans]


def _prepared(batch: Batch) -> tuple[PreparedRow, ...]:
    return tuple(map(PreparedRow.of, batch.samples))


def _analyses(rows: Iterable[PreparedRow]) -> Iterator[ResponseAnalysis]:
    """Analyse each row; consecutive rows with the same passages share what is read of them."""
    index = PassageIndex.of(())
    for row in rows:
        texts = tuple(passage.text for passage in row.passages)
        if index.texts != texts:
            index.forget()  # what is read of passages needs much more memory than the passages
            index = PassageIndex.of(texts)
        yield ResponseAnalysis.of(row.response_text, index, row.question)


@dataclass(frozen=True)
class Grounding(Metric[tuple[PreparedRow, ...]]):
    r"""How well the passages support every part of the response, without a judge.

    .. math:: \sigma\Big(b + \sum_k w_k (x_k - m_k) / s_k\Big), \quad w_k \ge 0

    The signals x are `sgi.metrics.grounding.signals.Signals`: words, word pairs and copied runs that the
    passages contain, each over the *weakest stretch* of the response; numbers, dates and names that the
    passages do not support; and how much closer each sentence is to the passages than to the question. The
    weights are in a small committed file. They were trained to be non-negative, with length as a nuisance.

    In [0, 1]; higher = better supported. It is a score, not a probability: on data that it was not trained
    on, its calibration error is large. ``sgi calibrate`` turns it into a probability, with labelled rows of
    your own. Only English is scored. There is no value where the response or all passages are blank, where
    the response claims nothing ("Yes", "I don't know", "the passages do not say"), or where the response or
    all passages are in another language.

    With ``nli``, an entailment model also scores whether each sentence follows from one of its best passages.
    The sentence that follows least gives one more signal, whose weight is a prior that was never trained (see
    `sgi.metrics.grounding.nli.ResponseEntailment`).

    Attributes:
        nli: an entailment model: a folder, ``owner/model`` of the hub, or ``torch:`` and either; none if
            empty.

    Details: ``signals`` with their value and contribution in log odds; ``sentences`` with text, position,
    score, best passage, similarity to every passage, unsupported stretches and checked facts; ``unused``, the
    passages that support no sentence. With ``nli`` also the signal ``entailment``, and for each sentence
    ``entailment``, ``contradiction`` and the number of windows in which the model read a passage.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> Grounding().spec.name
    'grounding'
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "grounding", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0, unit=SCORE, citation=_CITATION
    )
    nli: str = ""

    def __post_init__(self) -> None:
        model_name: object = self.nli
        if not isinstance(model_name, str):
            raise TypeError(f"nli is the name of an entailment model or its folder, not {model_name!r}")

    @property
    def entailment_model(self) -> str:
        """The model that ``nli`` names."""
        return self.nli

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """The metric, if ``nli`` names a model."""
        return self if self.nli else None

    def prepare(self, rows: Batch, /) -> tuple[PreparedRow, ...]:
        """Bring the texts of each row to plain typography; the row keeps what is computed of them."""
        return rows.shared(_prepared)

    def texts(self, rows: tuple[PreparedRow, ...], /) -> Iterable[str]:
        """List sentences of responses and passages, and questions, of the rows that have a value."""
        for row in rows:
            if not row.reason:
                yield from chain(row.stated, *row.passage_sentences)
                if row.question:
                    yield row.question

    def pairs(self, rows: tuple[PreparedRow, ...], /) -> Iterable[tuple[str, str]]:
        """List each sentence that claims something with each of its best passages."""
        for analysis in _analyses(row for row in rows if not row.reason):
            yield from chain.from_iterable(entailment_pairs_of(analysis))

    def score(self, rows: tuple[PreparedRow, ...], features: Features, /) -> Scores:
        """Return the score of each row, with its evidence map."""
        reasons = [row.reason for row in rows]
        values = np.full(len(rows), np.nan)
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * len(rows)
        usable = [number for number, reason in enumerate(reasons) if not reason]
        for number, analysis in zip(usable, _analyses(rows[number] for number in usable), strict=True):
            entailed = ResponseEntailment.of(analysis, features.entailments) if self.nli else None
            values[number], details[number] = _score_row(rows[number], analysis, features.vectors, entailed)
        undefined = {
            reason: np.array([reason == other for other in reasons], dtype=np.bool_)
            for reason in dict.fromkeys(filter(None, reasons))
        }
        return Scores.of(values, undefined=undefined, details=details)


def _score_row(
    row: PreparedRow, analysis: ResponseAnalysis, vectors: VectorTable, entailed: ResponseEntailment | None
) -> tuple[float, dict[str, JsonValue]]:
    question = vectors.rows([analysis.question])[0] if analysis.question else None
    similarity = PassageSimilarity.of(
        vectors.rows(row.stated),
        [vectors.rows(sentences) for sentences in row.passage_sentences],
        question,
    )
    whole, each = signals_of(analysis, similarity), _by_sentence(analysis, similarity)
    logistic = grounding_model().logistic
    measured = table([whole, *(signals for signals in each if signals is not None)])
    parts = logistic.contributions(measured)
    odds = parts.sum(axis=1) + logistic.intercept
    if entailed is not None:
        odds = odds + entailed.log_odds
    scores, contributions = iter(sigmoid(odds).tolist()), iter(parts.tolist())
    value, signals = next(scores), _parts(whole, next(contributions))
    by_sentence = [
        None if sentence_signals is None else SentenceScore(next(scores), next(contributions))
        for sentence_signals in each
    ]
    origin = OriginalTexts(row.sample.response, row.response, row.passages, row.positions)
    evidence_map = build_evidence_map(
        analysis, similarity, row.passage_sentences, origin, by_sentence, signals
    )
    if entailed is not None:
        evidence_map = entailed.shown_in(evidence_map)
    return value, evidence_map.model_dump(mode="json")


def _by_sentence(analysis: ResponseAnalysis, similarity: PassageSimilarity) -> list[Signals | None]:
    """The signals of each sentence; None where it claims nothing."""
    return [
        signals_of(analysis, similarity, number) if analysis.claims_in(number) else None
        for number in range(len(analysis.sentences))
    ]


def _parts(signals: Signals, parts: Sequence[float]) -> dict[str, SignalPart]:
    return {
        name: SignalPart(
            value=None if math.isnan(value) else round(value, 6) + 0.0, log_odds=round(part, 4) + 0.0
        )
        for name, value, part in zip(Signals._fields, signals, parts, strict=True)
    }
