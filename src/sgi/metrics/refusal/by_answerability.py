"""Refusals of answerable and of unanswerable questions; answerability comes from a column or from a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.sample import ANSWERABLE, CONTEXTS, QUESTION, RESPONSE
from sgi.metrics.judged.answerability import (
    BLANK_QUESTION,
    PROMPT,
    StoredAnswerability,
    ask_answerability,
)
from sgi.metrics.refusal.refusal_detector import JudgedRefusalDetails, Refusal, RefusalDetails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

_REFUSAL = Refusal()


class _Rule:
    """Which rows a metric is about, and which responses it counts.

    Attributes:
        of_answerable: whether the metric is about answerable questions, or about the others.
        counts_refusals: whether it counts refusals, or answers.
    """

    of_answerable: ClassVar[bool]
    counts_refusals: ClassVar[bool]

    def _of_rows(self, batch: Batch, answerable: Sequence[bool | None], features: Features) -> Scores:
        """Score the rows whose answerability, None if unknown, is the one that the metric is about."""
        chosen = np.flatnonzero([one is self.of_answerable for one in answerable])
        scores = _REFUSAL.score(batch.take(chosen), features)
        values = scores.values if self.counts_refusals else 1.0 - scores.values
        others = np.setdiff1d(np.arange(len(batch)), chosen)
        not_counted = "the question is not answerable" if self.of_answerable else "the question is answerable"
        reasons = [BLANK_QUESTION if answerable[row] is None else not_counted for row in others.tolist()]
        parts = [
            (chosen, Scores(values, scores.status, scores.reasons, scores.details)),
            (others, Scores.without_value(Status.UNDEFINED, reasons)),
        ]
        return Scores.assemble(len(batch), parts)


class _ByColumn(_Rule, Metric["Batch"]):
    """Base of metrics that read the field ``answerable``."""

    def score(self, batch: Batch, features: Features, /) -> Scores:
        """Return 1 or 0 for each row that the metric is about."""
        return self._of_rows(batch, [sample.answerable for sample in batch.samples], features)


class _ByJudge(_Rule, JudgedMetric[StoredAnswerability]):
    """Base of metrics that ask a judge whether the passages contain the answer."""

    judgement: ClassVar = StoredAnswerability
    prompts: ClassVar = (PROMPT,)

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredAnswerability:
        """Ask the judge whether the passages contain the answer, as `answerable` does."""
        return await ask_answerability(sample, judge)

    def score(self, judged: JudgedRows[StoredAnswerability], features: Features, /) -> Scores:
        """Return 1 or 0 for each row that the metric is about."""
        return self._of_rows(judged.batch, _verdicts(judged), features)


def _verdicts(judged: JudgedRows[StoredAnswerability]) -> list[bool | None]:
    """Return whether each question is answerable: None if it is blank, False without passages."""
    return [
        bool(one.answerable) if sample.question.strip() else None
        for sample, one in zip(judged.batch.samples, judged.judgements, strict=True)
    ]


def _spec(name: str, reading: str, *, higher_is_better: bool = False, judged: bool = False) -> MetricSpec:
    limits = (
        "A row has no value if its question is of the other kind, or if the response is blank or in a "
        "language that `refusal` does not read."
    )
    return MetricSpec(
        name,
        4,
        needs=RESPONSE | (QUESTION | CONTEXTS if judged else ANSWERABLE),
        higher_is_better=higher_is_better,
        citation="our own, from refusal and answerability",
        details=JudgedRefusalDetails if judged else RefusalDetails,
        guide=MetricHelp(Question.REFUSED, reading, limits),
    )


@dataclass(frozen=True)
class NeedlessRefusal(_ByColumn):
    """1 if the response refuses although the question is answerable; the mean is a share of answerable rows.

    The field ``answerable`` says which questions the data can answer; `refusal` decides whether a response
    refuses. A row with an unanswerable question, or with a blank response, is undefined.

    References: our own.

    >>> import sgi
    >>> row = {"response": "I don't know.", "answerable": True}
    >>> sgi.evaluate([row], "needless_refusal")["needless_refusal"].row(0).value
    1.0
    """

    spec: ClassVar = _spec(
        "needless_refusal", "The mean is the share of answerable questions that the system refused."
    )
    of_answerable: ClassVar = True
    counts_refusals: ClassVar = True


@dataclass(frozen=True)
class CorrectRefusal(_ByColumn):
    """1 if the response refuses an unanswerable question; the mean is a share of unanswerable rows.

    The field ``answerable`` says which questions the data can answer; `refusal` decides whether a response
    refuses. A row with an answerable question, or with a blank response, is undefined.

    References: our own.

    >>> import sgi
    >>> row = {"response": "I don't know.", "answerable": False}
    >>> sgi.evaluate([row], "correct_refusal")["correct_refusal"].row(0).value
    1.0
    """

    spec: ClassVar = _spec(
        "correct_refusal",
        "The mean is the share of unanswerable questions that the system refused.",
        higher_is_better=True,
    )
    of_answerable: ClassVar = False
    counts_refusals: ClassVar = True


@dataclass(frozen=True)
class AnsweredUnanswerable(_ByColumn):
    """1 if the response answers an unanswerable question; the mean is a share of unanswerable rows.

    It is 1 − `correct_refusal` in every row. A row with an answerable question, or with a blank response, is
    undefined.

    References: our own.

    >>> import sgi
    >>> row = {"response": "In Rome.", "answerable": False}
    >>> sgi.evaluate([row], "answered_unanswerable")["answered_unanswerable"].row(0).value
    1.0
    """

    spec: ClassVar = _spec(
        "answered_unanswerable",
        "The mean is the share of unanswerable questions that the system answered; such answers are often "
        "invented.",
    )
    of_answerable: ClassVar = False
    counts_refusals: ClassVar = False


@dataclass(frozen=True)
class NeedlessRefusalJudged(_ByJudge):
    """1 if the response refuses although the passages contain the answer; a share of the answerable rows.

    As `needless_refusal`, but a judge decides which questions are answerable, in the same call as for
    `answerable`.

    References: our own.
    """

    spec: ClassVar = _spec(
        "needless_refusal_judged",
        "The mean is the share of answerable questions that the system refused.",
        judged=True,
    )
    of_answerable: ClassVar = True
    counts_refusals: ClassVar = True


@dataclass(frozen=True)
class CorrectRefusalJudged(_ByJudge):
    """1 if the response refuses and the passages do not contain the answer; a share of unanswerable rows.

    As `correct_refusal`, but a judge decides which questions are answerable, in the same call as for
    `answerable`. Without passages, a question is unanswerable.

    References: our own.
    """

    spec: ClassVar = _spec(
        "correct_refusal_judged",
        "The mean is the share of unanswerable questions that the system refused.",
        higher_is_better=True,
        judged=True,
    )
    of_answerable: ClassVar = False
    counts_refusals: ClassVar = True


@dataclass(frozen=True)
class AnsweredUnanswerableJudged(_ByJudge):
    """1 if the response answers and the passages do not contain the answer; a share of unanswerable rows.

    As `answered_unanswerable`, but a judge decides which questions are answerable, in the same call as for
    `answerable`. Without passages, a question is unanswerable.

    References: our own.
    """

    spec: ClassVar = _spec(
        "answered_unanswerable_judged",
        "The mean is the share of unanswerable questions that the system answered; such answers are often "
        "invented.",
        judged=True,
    )
    of_answerable: ClassVar = False
    counts_refusals: ClassVar = False
