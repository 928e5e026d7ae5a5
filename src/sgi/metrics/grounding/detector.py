"""The grounding detector: is every part of the response supported by some passage?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from sgi.kernel.metric import SCORE, Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.grounding.analysis import Reading, claims_something
from sgi.metrics.grounding.evidence_map import SignalPart
from sgi.metrics.grounding.explain import Nearness, Origin, SentenceScore, evidence_of
from sgi.metrics.grounding.language import is_foreign
from sgi.metrics.grounding.model import combination, sigmoid
from sgi.metrics.grounding.nli import Entailed, pairs_of
from sgi.metrics.grounding.normalize_unicode import typography
from sgi.metrics.grounding.signals import Signals, signals_of, table
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import VectorTable

_CITATION = "worst stretch of lexical, factual and geometric support; trained by scripts/train_grounding.py"
_NOTHING: Mapping[str, JsonValue] = {}


class _Row(NamedTuple):
    """What is read of a row that can have a value."""

    reading: Reading
    passage_sentences: tuple[tuple[str, ...], ...]
    origin: Origin


@dataclass(frozen=True)
class Grounding(Metric):
    r"""Score of how well the passages support every part of the response; no judge is asked.

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
    `sgi.metrics.grounding.nli.Entailed`).

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
        named: object = self.nli
        if not isinstance(named, str):
            raise TypeError(f"nli is the name of an entailment model or its folder, not {named!r}")

    @property
    def entailment_model(self) -> str | None:
        """The model that ``nli`` names."""
        return self.nli or None

    def texts(self, batch: Batch, /) -> Iterable[str]:
        """Sentences of responses and passages, and the questions, of the rows that can have a value."""
        for sample in batch.samples:
            if _reason(sample):
                continue
            yield from sentences(typography(sample.response).text)
            yield from chain.from_iterable(sentences(text) for _, text in _passages(sample))
            if question := typography(sample.question).text.strip():
                yield question

    def entailment_pairs(self, batch: Batch, /) -> Iterable[tuple[str, str]]:
        """Each sentence that claims something behind each of its best passages, where there is a model."""
        for sample in batch.samples if self.nli else ():
            if not _reason(sample):
                yield from chain.from_iterable(pairs_of(_row(sample).reading))

    def score(self, batch: Batch, vectors: VectorTable, /) -> Scores:
        """The score of each row, with its evidence."""
        why = [_reason(sample) for sample in batch.samples]
        values = np.full(len(batch), np.nan)
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * len(batch)
        for number, (sample, reason) in enumerate(zip(batch.samples, why, strict=True)):
            if reason:
                continue
            row = _row(sample)
            entailed = Entailed.of(row.reading, vectors.entailed[self.nli]) if self.nli else None
            values[number], details[number] = _scored(row, vectors, entailed)
        undefined = {
            reason: np.array([reason == found for found in why], dtype=np.bool_)
            for reason in dict.fromkeys(filter(None, why))
        }
        return Scores.of(values, undefined=undefined, details=details)


def _reason(sample: Sample) -> str:
    """Why a row can have no value; "" where it can."""
    response, passages = typography(sample.response).text, [text for _, text in _passages(sample)]
    reasons: dict[str, Callable[[], bool]] = {
        "the response is blank": lambda: not response.strip(),
        "there are no passages": lambda: not sample.contexts,
        "all passages are blank": lambda: not passages,
        "the response claims nothing that passages could support": lambda: not claims_something(response),
        "the response is not in English": lambda: is_foreign(response),
        "the passages are not in English": lambda: all(map(is_foreign, passages)),
    }
    return next((reason for reason, holds in reasons.items() if holds()), "")


def _passages(sample: Sample) -> list[tuple[int, str]]:
    """The passages that are not blank as they are read, each with its position."""
    read = ((at, typography(text).text) for at, text in enumerate(sample.contexts))
    return [(at, text) for at, text in read if text.strip()]


def _row(sample: Sample) -> _Row:
    passages = _passages(sample)
    texts = [text for _, text in passages]
    response = typography(sample.response)
    origin = Origin(
        sample.response,
        response,
        tuple(typography(sample.contexts[at]) for at, _ in passages),
        tuple(at for at, _ in passages),
    )
    reading = Reading.of(response.text, texts, typography(sample.question).text.strip())
    return _Row(reading, tuple(tuple(sentences(text)) for text in texts), origin)


def _scored(row: _Row, vectors: VectorTable, entailed: Entailed | None) -> tuple[float, dict[str, JsonValue]]:
    reading = row.reading
    stated = [reading.response[sentence.start : sentence.end] for sentence in reading.sentences]
    question = vectors.rows([reading.question])[0] if reading.question else None
    nearness = Nearness.of(
        vectors.rows(stated), [vectors.rows(found) for found in row.passage_sentences], question
    )
    whole, each = signals_of(reading, nearness), _by_sentence(reading, nearness)
    logistic = combination().logistic
    measured = table([whole, *(found for found in each if found is not None)])
    parts = logistic.contributions(measured)
    odds = parts.sum(axis=1) + logistic.intercept
    if entailed is not None:
        odds = odds + entailed.log_odds
    scores, contributions = iter(sigmoid(odds).tolist()), iter(parts.tolist())
    value, signals = next(scores), _parts(whole, next(contributions))
    by_sentence = [
        None if found is None else SentenceScore(next(scores), next(contributions)) for found in each
    ]
    found = evidence_of(reading, nearness, row.passage_sentences, row.origin, by_sentence, signals)
    if entailed is not None:
        found = entailed.shown_in(found)
    return value, found.model_dump(mode="json")


def _by_sentence(reading: Reading, nearness: Nearness) -> list[Signals | None]:
    """The signals of each sentence; None where it claims nothing."""
    return [
        signals_of(reading, nearness, number) if reading.claims_in(number) else None
        for number in range(len(reading.sentences))
    ]


def _parts(signals: Signals, parts: Sequence[float]) -> dict[str, SignalPart]:
    return {
        name: SignalPart(
            value=None if math.isnan(value) else round(value, 6) + 0.0, log_odds=round(part, 4) + 0.0
        )
        for name, value, part in zip(Signals._fields, signals, parts, strict=True)
    }
