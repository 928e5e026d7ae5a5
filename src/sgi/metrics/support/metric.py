"""The grounding detector: is every part of the response supported by some passage?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.support.combination import combination, probability
from sgi.metrics.support.evidence import Nearness, evidence_of
from sgi.metrics.support.evidence_map import SignalPart
from sgi.metrics.support.reading import Reading
from sgi.metrics.support.signals import Signals, signals_of, table
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import VectorTable

_CITATION = "worst stretch of lexical, factual and geometric support; trained by scripts/train_grounding.py"
_NOTHING: Mapping[str, JsonValue] = {}
_BLANK = "the response is blank"
_NO_PASSAGES = "there are no passages"
_BLANK_PASSAGES = "all passages are blank"
_NO_CLAIM = "the response claims nothing that passages could support"


class _Row(NamedTuple):
    """What is read of a row that can have a value."""

    reading: Reading
    passage_sentences: tuple[tuple[str, ...], ...]
    positions: tuple[int, ...]
    question: str


@dataclass(frozen=True)
class Grounding(Metric):
    r"""The probability that every part of the response is supported by its passages.

    .. math:: P = \sigma\Big(b + \sum_k w_k (x_k - m_k) / s_k\Big), \quad w_k \ge 0

    The signals x are `sgi.metrics.support.signals.Signals`: words, word pairs and copied runs that the
    passages have, each over the *weakest stretch* of the response; numbers, dates and names that they do not
    bear out; and how much nearer the passages than the question each sentence lies. The weights are a small
    committed file, learnt with non-negative weights and length as a nuisance. No judge is asked.

    In [0, 1], a probability where supported and unsupported answers are equally frequent; higher = more
    likely supported. No value where the response or all passages are blank, and where the response claims
    nothing ("I don't know", "the passages do not say"). English: in other languages words are compared as
    written, and the probability is not calibrated.

    Details: ``signals`` with their value and contribution in log odds; ``sentences`` with text, place,
    probability, best passage, similarity to every passage, unbacked stretches and checked facts;
    ``unused``, the passages that no sentence rests on.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> Grounding().spec.name
    'grounding'
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "grounding", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0, citation=_CITATION
    )

    def texts(self, batch: Batch, /) -> Iterable[str]:
        """Sentences of responses and passages, and the questions."""
        for sample in batch.samples:
            if not sample.response.strip() or not any(map(str.strip, sample.contexts)):
                continue
            yield from sentences(sample.response)
            yield from chain.from_iterable(map(sentences, sample.contexts))
            if sample.question.strip():
                yield sample.question

    def score(self, batch: Batch, vectors: VectorTable, /) -> Scores:
        """The probability of each row, with its evidence."""
        rows = [_row(sample) for sample in batch.samples]
        values = np.full(len(batch), np.nan)
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * len(batch)
        silent = np.zeros(len(batch), dtype=np.bool_)
        for number, row in enumerate(rows):
            if row is None:
                continue
            if not row.reading.claims.any():
                silent[number] = True
                continue
            values[number], details[number] = _scored(row, vectors)
        blank = np.array([not response.strip() for response in batch.response], dtype=np.bool_)
        reasons = {
            _BLANK: blank,
            _NO_PASSAGES: batch.contexts.lengths == 0,
            _BLANK_PASSAGES: np.array([not any(map(str.strip, row)) for row in batch.contexts], dtype=np.bool_),
            _NO_CLAIM: silent,
        }
        return Scores.of(values, undefined=reasons, details=details)


def _row(sample: Sample) -> _Row | None:
    kept = [(at, text) for at, text in enumerate(sample.contexts) if text.strip()]
    if not kept or not sample.response.strip():
        return None
    passages = tuple(text for _, text in kept)
    reading = Reading.of(sample.response, passages, sample.question)
    return _Row(
        reading, tuple(tuple(sentences(text)) for text in passages), tuple(at for at, _ in kept), sample.question
    )


def _scored(row: _Row, vectors: VectorTable) -> tuple[float, dict[str, JsonValue]]:
    reading = row.reading
    stated = [reading.response[sentence.start : sentence.end] for sentence in reading.sentences]
    question = vectors.rows([row.question])[0] if row.question.strip() else None
    nearness = Nearness.of(
        vectors.rows(stated), [vectors.rows(found) for found in row.passage_sentences], question
    )
    whole = signals_of(reading, nearness)
    logistic = combination().logistic
    each = _by_sentence(reading, nearness)
    odds = logistic.log_odds(table([whole, *(found for found in each if found is not None)]))
    chances = iter(probability(odds).tolist())
    value = next(chances)
    by_sentence = [None if found is None else next(chances) for found in each]
    found = evidence_of(
        reading, nearness, row.passage_sentences, row.positions, by_sentence, _parts(whole)
    )
    return value, found.model_dump(mode="json")


def _by_sentence(reading: Reading, nearness: Nearness) -> list[Signals | None]:
    """The signals of each sentence; None where it claims nothing."""
    return [
        signals_of(reading, nearness, [number]) if reading.claims[sentence.words].any() else None
        for number, sentence in enumerate(reading.sentences)
    ]


def _parts(signals: Signals) -> dict[str, SignalPart]:
    parts = combination().logistic.contributions(table([signals]))[0].tolist()
    return {
        name: SignalPart(value=None if np.isnan(value) else round(float(value), 6), log_odds=round(part, 4))
        for name, value, part in zip(Signals._fields, signals, parts, strict=True)
    }
