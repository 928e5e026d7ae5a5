"""Metrics: the semantic grounding index (SGI) and its angles."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from itertools import chain
from math import inf, pi
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from typing_extensions import TypedDict

from sgi.geometry.angles import angle
from sgi.kernel.details import closed
from sgi.kernel.metric import RATIO, Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import CONTEXTS, QUESTION, RESPONSE
from sgi.kernel.sample_parts import Ragged
from sgi.metrics.complete_rows import (
    CompleteRows,
    Passages,
    blank_reasons,
    question_and_response,
    unread_reasons,
)
from sgi.metrics.parameters import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.geometry.passages import PassageAngles
    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features, VectorTable

_ALL_THREE = QUESTION | CONTEXTS | RESPONSE
_CITATION = "Marín (2025), arXiv:2512.13771"
VERBATIM_COPY = "verbatim_copy"
"""Key in the details of ``sgi``; present, and true, only if the response is a copy of its passage."""


@dataclass(frozen=True)
class _PassageMetric(Metric[CompleteRows]):
    """Base of metrics that compare question, passages and response."""

    passages: Passages = "max"
    _allows_same_point: ClassVar[bool] = False  # whether a passage equal to the question has a value

    def __post_init__(self) -> None:
        check_choice("passages", self.passages, Passages)

    def prepare(self, rows: Batch, /) -> CompleteRows:
        return CompleteRows.of(rows, self.passages)

    def texts(self, rows: CompleteRows, /) -> Iterable[str]:
        return rows.texts

    def score(self, rows: CompleteRows, features: Features, /) -> Scores:
        vectors = features.vectors
        rows = rows.read_by(vectors)
        angles = rows.angles(Ragged.from_rows(zip(rows.responses, strict=True)), vectors)
        values = self._aggregate(angles, self._of_pairs(angles))
        return rows.scores(
            values, self._details(rows, angles, vectors), defined=angles.separate | self._allows_same_point
        )

    @abstractmethod
    def _of_pairs(self, angles: PassageAngles) -> NDArray[np.float64]:
        """Return the value of each pair of response and passage."""

    def _details(
        self, rows: CompleteRows, angles: PassageAngles, _vectors: VectorTable
    ) -> list[dict[str, JsonValue]]:
        nearest = rows.positions[angles.passage[angles.nearest]].tolist()
        columns = {
            "theta_rq": angles.theta_rq.tolist(),
            "theta_rc": self._aggregate(angles, angles.theta_rc).tolist(),
            "theta_qc": self._aggregate(angles, angles.theta_qc).tolist(),
            "passage": nearest if self.passages == "max" else [None] * len(nearest),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _aggregate(self, angles: PassageAngles, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        return angles.aggregate(pairs, "mean" if self.passages == "mean" else "nearest")


@closed
class AngleDetails(TypedDict, total=False):
    """The angles of a row, in radians.

    Attributes:
        theta_rq: angle between response and question, in [0, π].
        theta_rc: angle between response and the passages, in [0, π].
        theta_qc: angle between question and the passages, in [0, π].
        passage: index of the passage that is used; null with ``mean`` and ``joined``.
    """

    theta_rq: float
    theta_rc: float
    theta_qc: float
    passage: int | None


@closed
class SentenceIndex(TypedDict):
    """The SGI of a sentence of the response.

    Attributes:
        text: the sentence.
        sgi: its SGI; null if it has none.
    """

    text: str
    sgi: float | None


@closed
class IndexDetails(AngleDetails, total=False):
    """The angles of a row, and the SGI of its parts.

    Attributes:
        passages: the SGI of each passage; null for a passage without one; null with ``joined``.
        sentences: the SGI of each sentence of the response.
        verbatim_copy: true if the response copies a passage that is used; absent otherwise.
    """

    passages: list[float | None] | None
    sentences: list[SentenceIndex]
    verbatim_copy: bool


@dataclass(frozen=True)
class SemanticGroundingIndex(_PassageMetric):
    r"""How much closer in meaning the response is to its context than to its question.

    .. math:: \mathrm{SGI} = \theta(r, q) / (\theta(r, c) + \varepsilon), \quad \varepsilon = 10^{-8}

    A ratio in [0, ∞), higher = more grounded; above 1 exactly if cos(r,c) > cos(r,q). It measures engagement
    with the context, not truth.

    If θ(r,c) is below 0.01 rad, the response is a verbatim copy of a passage; SGI then uses 0.01 rad, so it
    is at most π/0.01 ≈ 314. The mean over rows is the mean of SGI/(1 + SGI), converted back to SGI.

    Each passage has its own SGI, except blank ones and those within 0.001 rad of the question. A row has no
    value if the question, the response or all passages are blank, or if every passage equals the question. A
    text of which the vocabulary of the model covers less than 80 % is treated as a blank one.

    Details: the angles; ``passage``, the index of the passage used (None for ``mean`` and ``joined``);
    ``passages``, the SGI of each passage or None; ``sentences``, text and SGI of each sentence of the
    response; and ``verbatim_copy``, only if the response copies a passage that is used.

    Attributes:
        passages: ``max`` uses the passage with the greatest SGI, which is nearest to the response; ``mean``
            takes the mean over passages; ``joined`` compares one text of all passages.
        sentences: whether to score each sentence too, at the cost of one embedding per sentence.

    Source: Marín (2025), arXiv:2512.13771, equation 3.

    >>> SemanticGroundingIndex(passages="mean").canonical
    'sgi(passages="mean")'
    """

    sentences: bool = True
    spec: ClassVar[MetricSpec] = MetricSpec(
        "sgi",
        4,
        needs=_ALL_THREE,
        high=inf,
        unit=RATIO,
        citation=_CITATION,
        details=IndexDetails,
        guide=MetricHelp(
            Question.TOPIC,
            "Above 1: the response is closer to the passages than to the question. Below 1: it mostly "
            "repeats the question.",
            "It measures the topic, not the truth: a wrong number on the right topic gets a high value. "
            "Text that is copied from the passages gets a high value too.",
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sentences, bool):
            raise ValueError(f"sentences must be true or false, not {self.sentences!r}")

    def without_details(self) -> Self:
        """Return the metric without the SGI of each sentence, which saves an embedding per sentence."""
        return replace(self, sentences=False)

    def texts(self, rows: CompleteRows, /) -> Iterable[str]:
        """List questions, passages, responses and, if they are scored, the sentences of responses."""
        return chain(rows.texts, rows.sentences.values if self.sentences else ())

    def _of_pairs(self, angles: PassageAngles) -> NDArray[np.float64]:
        return angles.grounding

    def _details(
        self, rows: CompleteRows, angles: PassageAngles, vectors: VectorTable
    ) -> list[dict[str, JsonValue]]:
        details = super()._details(rows, angles, vectors)
        by_passage = _passage_values(rows, angles) if self.passages != "joined" else [None] * len(details)
        copies = self._aggregate(angles, angles.verbatim.astype(np.float64)) > 0
        for detail, values, is_copy in zip(details, by_passage, copies.tolist(), strict=True):
            detail["passages"] = values
            if is_copy:
                detail[VERBATIM_COPY] = True
        if self.sentences:
            for detail, sentence_values in zip(details, self._sentences(rows, angles, vectors), strict=True):
                detail["sentences"] = sentence_values
        return details

    def _sentences(
        self, rows: CompleteRows, whole: PassageAngles, vectors: VectorTable
    ) -> Iterable[JsonValue]:
        """Return text and SGI of each sentence; a single sentence has the SGI of the whole response."""
        sentences = rows.sentences
        numbers = self._numbers(rows.angles(sentences, vectors)) if sentences.values else ()
        by_sentence = Ragged(tuple(numbers), sentences.offsets)
        for row, (response, value) in enumerate(zip(rows.responses, self._numbers(whole), strict=True)):
            texts, values = sentences[row] or (response.strip(),), by_sentence[row] or (value,)
            values = tuple(
                None if text in vectors.unread else own for text, own in zip(texts, values, strict=True)
            )
            yield [{"text": text, "sgi": number} for text, number in zip(texts, values, strict=True)]

    def _numbers(self, angles: PassageAngles) -> list[float | None]:
        return _numbers(self._aggregate(angles, angles.grounding), angles.separate)


@dataclass(frozen=True)
class BoundedGroundingIndex(_PassageMetric):
    r"""How much closer the response is to its context than to its question, from −1 to 1.

    .. math:: (\theta(r, q) - \theta(r, c)) / \theta(q, c)

    Positive exactly if SGI is above 1; higher = more grounded. The triangle inequality keeps it in [−1, 1].
    ``passages`` and the rows without a value are as for ``sgi``.

    Source: the triangle inequality, arXiv:2512.13771, equation 4.

    >>> BoundedGroundingIndex().spec.low
    -1.0
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "sgi_bounded",
        3,
        needs=_ALL_THREE,
        low=-1.0,
        citation=_CITATION,
        details=AngleDetails,
        guide=MetricHelp(
            Question.TOPIC,
            "Above 0: the response is closer to the passages than to the question.",
            "It measures the topic, not the truth: a wrong number on the right topic gets a high value.",
        ),
    )

    def _of_pairs(self, angles: PassageAngles) -> NDArray[np.float64]:
        return angles.bounded_index


@dataclass(frozen=True)
class ResponseContextAngle(_PassageMetric):
    """Angle between response and context, in radians; the denominator of SGI.

    θ(r,c), in [0, π]; smaller is better. It equals the angle in the details of ``sgi``. The choice of the
    passage is the same, so it needs the question too. ``passages`` and blank texts are treated as by ``sgi``.

    Source: Marín (2025), arXiv:2512.13771, equation 2.

    >>> ResponseContextAngle().spec.higher_is_better
    False
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "theta_rc",
        3,
        needs=_ALL_THREE,
        high=pi,
        higher_is_better=False,
        unit="rad",
        citation=_CITATION,
        guide=MetricHelp(
            Question.TOPIC,
            "Small: the response is about the topic of the passages.",
            "It measures the topic, not the truth.",
        ),
        details=AngleDetails,
    )
    _allows_same_point: ClassVar[bool] = True

    def _of_pairs(self, angles: PassageAngles) -> NDArray[np.float64]:
        return angles.theta_rc


@dataclass(frozen=True)
class QuestionContextAngle(_PassageMetric):
    """Angle between question and context, in radians; it bounds SGI.

    θ(q,c), in [0, π]. It describes the retrieval, not the answer: a wider angle allows SGI a wider range, so
    it is marked higher = better. It equals the angle in the details of ``sgi``. The choice of the passage is
    the same, so it needs the response too. ``passages`` is as for ``sgi``.

    Source: Marín (2025), arXiv:2512.13771, equations 2 and 4.

    >>> QuestionContextAngle("joined").canonical
    'theta_qc(passages="joined")'
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "theta_qc",
        3,
        needs=_ALL_THREE,
        high=pi,
        unit="rad",
        citation=_CITATION,
        details=AngleDetails,
        guide=MetricHelp(
            Question.TOPIC,
            "Small: the passages are about the topic of the question.",
            "It measures the topic; a passage on the topic need not have the answer.",
        ),
    )
    _allows_same_point: ClassVar[bool] = True

    def _of_pairs(self, angles: PassageAngles) -> NDArray[np.float64]:
        return angles.theta_qc


@dataclass(frozen=True)
class ResponseQuestionAngle(Metric):
    """Angle between response and question, in radians; the numerator of SGI.

    θ(r,q), in [0, π]. It is marked higher = better because SGI grows with it. By itself it does not show
    quality, and it depends strongly on the length of the response.

    Source: Marín (2025), arXiv:2512.13771, equation 2.

    >>> ResponseQuestionAngle().spec.unit
    'rad'
    """

    spec: ClassVar[MetricSpec] = MetricSpec(
        "theta_rq",
        3,
        needs=QUESTION | RESPONSE,
        high=pi,
        unit="rad",
        citation=_CITATION,
        guide=MetricHelp(
            Question.TOPIC,
            "Small: the response is close to the question. A large value is normal for an answer that adds "
            "facts.",
            "It measures the topic, not the truth.",
        ),
    )

    def texts(self, batch: Batch, /) -> Iterable[str]:
        """List questions and responses of the rows where neither is blank."""
        rows = question_and_response(batch.question, batch.response)
        return chain((batch.question[row] for row in rows), (batch.response[row] for row in rows))

    def score(self, batch: Batch, features: Features, /) -> Scores:
        """Return the angle of each row."""
        vectors = features.vectors
        rows = question_and_response(batch.question, batch.response)
        values = np.full(len(batch), np.nan)
        if rows.size:
            question = vectors.rows([batch.question[row] for row in rows])
            values[rows] = angle(vectors.rows([batch.response[row] for row in rows]), question)
        reasons = blank_reasons(batch.question, batch.response)
        reasons |= unread_reasons(vectors, question=batch.question, response=batch.response)
        return Scores.of(values, undefined=reasons)


def _passage_values(rows: CompleteRows, angles: PassageAngles) -> Iterable[JsonValue]:
    """Return, for each row, the SGI of its passages in order; None for a passage without a value."""
    numbers = Ragged(tuple(_numbers(angles.grounding, angles.apart)), rows.passages.offsets)
    positions = Ragged(tuple(rows.positions.tolist()), rows.passages.offsets)
    for row, index in enumerate(rows.indices):
        row_values: list[JsonValue] = [None] * len(rows.batch.contexts[index])
        for position, number in zip(positions[row], numbers[row], strict=True):
            row_values[position] = number
        yield row_values


def _numbers(values: NDArray[np.float64], defined: NDArray[np.bool_]) -> list[float | None]:
    """Convert values to a list for JSON, with None for undefined values."""
    return [value if ok else None for value, ok in zip(values.tolist(), defined.tolist(), strict=True)]
