"""The grounding detector: is every part of the response supported by some passage?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

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

    from sgi.kernel.features import Features
    from sgi.kernel.metric import EntailmentNeeds
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import VectorTable

_CITATION = "worst stretch of lexical, factual and geometric support; trained by scripts/train_grounding.py"
_NOTHING: Mapping[str, JsonValue] = {}


@dataclass(frozen=True, eq=False)
class PreparedRow:
    """A row with plain typography; its analysis is computed once, when it is first needed."""

    sample: Sample

    @cached_property
    def passages(self) -> list[tuple[int, str]]:
        """The passages that are not blank, each with its position."""
        read = ((at, typography(text).text) for at, text in enumerate(self.sample.contexts))
        return [(at, text) for at, text in read if text.strip()]

    @cached_property
    def response(self) -> str:
        """The response."""
        return typography(self.sample.response).text

    @cached_property
    def question(self) -> str:
        """The question; empty where it is blank."""
        return typography(self.sample.question).text.strip()

    @cached_property
    def passage_sentences(self) -> tuple[tuple[str, ...], ...]:
        """The sentences of each passage."""
        return tuple(tuple(sentences(text)) for _, text in self.passages)

    @cached_property
    def reason(self) -> str:
        """Why the row has no value; empty where it has one."""
        texts = [text for _, text in self.passages]
        reasons: dict[str, Callable[[], bool]] = {
            "the response is blank": lambda: not self.response.strip(),
            "there are no passages": lambda: not self.sample.contexts,
            "all passages are blank": lambda: not texts,
            "the response claims nothing that passages could support": lambda: (
                not claims_something(self.response)
            ),
            "the response is not in English": lambda: is_foreign(self.response),
            "the passages are not in English": lambda: all(map(is_foreign, texts)),
        }
        return next((reason for reason, holds in reasons.items() if holds()), "")

    @cached_property
    def reading(self) -> Reading:
        """The analysis of the response."""
        return Reading.of(self.response, [text for _, text in self.passages], self.question)

    @property
    def origin(self) -> Origin:
        """The texts as they were written."""
        sample = self.sample
        return Origin(
            sample.response,
            typography(sample.response),
            tuple(typography(sample.contexts[at]) for at, _ in self.passages),
            tuple(at for at, _ in self.passages),
        )


@dataclass(frozen=True)
class Grounding(Metric[tuple[PreparedRow, ...]]):
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
    def entailment_model(self) -> str:
        """The model that ``nli`` names."""
        return self.nli

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """The metric, if ``nli`` names a model."""
        return self if self.nli else None

    def prepare(self, rows: Batch, /) -> tuple[PreparedRow, ...]:
        """Prepare each row; its texts are analysed once, when they are first needed."""
        return tuple(map(PreparedRow, rows.samples))

    def texts(self, rows: tuple[PreparedRow, ...], /) -> Iterable[str]:
        """List sentences of responses and passages, and questions, of the rows that have a value."""
        for row in rows:
            if not row.reason:
                yield from sentences(row.response)
                yield from chain.from_iterable(row.passage_sentences)
                if row.question:
                    yield row.question

    def pairs(self, rows: tuple[PreparedRow, ...], /) -> Iterable[tuple[str, str]]:
        """List each sentence that claims something with each of its best passages."""
        for row in rows:
            if not row.reason:
                yield from chain.from_iterable(pairs_of(row.reading))

    def score(self, rows: tuple[PreparedRow, ...], features: Features, /) -> Scores:
        """Return the score of each row, with its evidence map."""
        values = np.full(len(rows), np.nan)
        details: list[Mapping[str, JsonValue]] = [_NOTHING] * len(rows)
        for number, row in enumerate(rows):
            if not row.reason:
                entailed = Entailed.of(row.reading, features.entailments) if self.nli else None
                values[number], details[number] = _scored(row, features.vectors, entailed)
        reasons = [row.reason for row in rows]
        undefined = {
            reason: np.array([reason == other for other in reasons], dtype=np.bool_)
            for reason in dict.fromkeys(filter(None, reasons))
        }
        return Scores.of(values, undefined=undefined, details=details)


def _scored(
    row: PreparedRow, vectors: VectorTable, entailed: Entailed | None
) -> tuple[float, dict[str, JsonValue]]:
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
