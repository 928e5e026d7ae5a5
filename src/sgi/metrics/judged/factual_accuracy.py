"""Factual accuracy: how correct, complete and consistent a response is, compared with the accepted answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.judged.reply_types import Percentage, Reason, question_section, reference_section
from sgi.metrics.parameters import checked_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

CRITERIA = ("correctness", "completeness", "consistency")
"""The criteria that the judge rates, in the order of the weights."""

_GRADES = ((80.0, "A"), (60.0, "B"), (40.0, "C"), (20.0, "D"), (-math.inf, "E"))
_WORST = "E"
_DIGITS = 9


class Criterion(ReplyModel, strict=True):
    """One criterion, reasoned and then rated from 0 to 100."""

    reasoning: Reason
    score: Percentage


class Criteria(ReplyModel, strict=True):
    """The three criteria."""

    correctness: Criterion
    completeness: Criterion
    consistency: Criterion


class Accuracy(BaseModel, frozen=True):
    """The ratings of a response with their reasons; empty if the judge was not asked."""

    criteria: Criteria | None = None


PROMPT = Prompt(
    "factual_accuracy.criteria",
    """\
Compare the response with the accepted answer and rate three things, each by itself, in whole numbers from 0 \
to 100. Where there are several accepted answers, compare with the one that suits the response best.

correctness: are the facts of the response right, measured by the accepted answer?
  90-100 all right; 70-89 slips that change nothing of weight; 50-69 the main point right, other facts \
wrong; 30-49 several facts of weight wrong; 0-29 the main point wrong or made up.
  What the accepted answer does not mention is no error unless it contradicts it. Other words, another order \
or another unit of the same value are no error.
completeness: does the response hold all that is essential in the accepted answer?
  90-100 all; 70-89 all but details; 50-69 the core, important parts missing; 30-49 large gaps; 0-29 next to \
nothing. A short response that holds all that was asked is complete.
consistency: is the response in harmony with itself?
  90-100 no contradiction; 70-89 an ambiguity; 50-69 a contradiction beside the point; 30-49 one that \
touches the point; 0-29 it contradicts itself throughout.

For each, reasoning comes first: one or two sentences that name what is right, wrong, missing or \
contradictory. Do not let one rating colour another, and give no overall rating.""",
    (
        Example(
            {
                "question": "Who built the Anke, and when?",
                "accepted_answers": (
                    "The yard of Tolvik built her in 1950, for the crossing of Lake Serrin.",
                ),
                "response": "The Anke was built by the yard of Tolvik in 1960.",
            },
            Criteria(
                correctness=Criterion(
                    reasoning="The builder is right; the year is 1960 instead of 1950.", score=55
                ),
                completeness=Criterion(
                    reasoning="Builder and a year are given; what she was built for is left out.", score=75
                ),
                consistency=Criterion(reasoning="Nothing in it contradicts anything else.", score=100),
            ),
        ),
    ),
)


@closed
class AccuracyDetails(JudgedDetails, total=False):
    """The grade and the criteria.

    Attributes:
        grade: ``A`` (best) to ``E``.
        correctness: the judge's score of correctness, from 0 to 1.
        completeness: the judge's score of completeness, from 0 to 1.
        consistency: the judge's score of consistency, from 0 to 1.
        warning: why the judge was not asked.
    """

    grade: str
    correctness: float
    completeness: float
    consistency: float
    warning: str


@dataclass(frozen=True)
class FactualAccuracy(JudgedMetric[Accuracy]):
    r"""How correct, complete and consistent the response is compared with the reference, with a grade.

    .. math:: (0.5\,\text{correctness} + 0.3\,\text{completeness} + 0.2\,\text{consistency}) \,/\, 100

    In [0, 1]. One judge call per row, with the question (if any) and all accepted answers; the best match
    counts. The judge gives each criterion a reasoning and a whole number from 0 to 100; the metric computes
    the mean. The details hold the criteria and the grade: A from 0.8, B from 0.6, C from 0.4, D from 0.2, E
    below.

    A blank response scores 0, grade E. If all accepted answers are blank, the row is undefined. Neither needs
    a call.

    Limits: judges rate in coarse steps and leniently, so compare only runs with the same judge. The metric
    cannot detect errors about things that the accepted answer does not mention.

    Attributes:
        weights: the weights of correctness, completeness and consistency; they are scaled to a sum of 1.

    References: Liu et al. (2023), "G-Eval"; document 002, section 6.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", response="In 1960.", reference="In 1950.")])
    >>> points = {"correctness": 20, "completeness": 90, "consistency": 100}
    >>> accuracy = Accuracy(criteria={name: {"reasoning": "…", "score": n} for name, n in points.items()})
    >>> scores = FactualAccuracy().score(JudgedRows(row, [accuracy]), Features())
    >>> scores.values.tolist(), scores.details[0]["grade"]
    ([0.57], 'C')
    """

    weights: tuple[float, ...] = (0.5, 0.3, 0.2)
    spec: ClassVar = MetricSpec(
        "factual_accuracy",
        1,
        needs=RESPONSE | REFERENCE,
        citation="GraphRAG evaluation metrics, section 6",
        guide=MetricHelp(
            Question.RIGHT,
            "1: correct, complete and consistent. The grades A to E begin at 0.8, 0.6, 0.4, 0.2 and 0.",
            "Judges rate in coarse steps and are often mild: compare only runs with the same judge. It "
            "cannot see errors about things that the reference does not mention. A row has no value if the "
            "reference is blank, and fails if the judge gives no usable reply.",
        ),
        category="grade",
        classes=("A", "B", "C", "D", "E"),
        details=AccuracyDetails,
    )
    judgement: ClassVar = Accuracy
    prompts: ClassVar = (PROMPT,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights, CRITERIA))

    async def ask(self, sample: Sample, judge: Judge, /) -> Accuracy:
        """Ask the judge to rate the three criteria."""
        accepted = reference_section(sample)
        if not accepted or not sample.response.strip():
            return Accuracy()
        inquiry = PROMPT.about(**question_section(sample), **accepted, response=sample.response)
        return Accuracy(criteria=await judge.ask(inquiry, Criteria))

    def score(self, judged: JudgedRows[Accuracy], _features: Features, /) -> Scores:
        """Return the weighted mean of each row, with its grade."""
        rows = [self._of_row(accuracy) for accuracy in judged.judgements]
        values = np.array([value for value, _ in rows], dtype=np.float64)
        no_reference = np.array([not reference_section(s) for s in judged.batch.samples], dtype=np.bool_)
        undefined = {"the reference is blank": no_reference}
        details = [{} if missing else detail for missing, (_, detail) in zip(no_reference, rows, strict=True)]
        return Scores.of(values, undefined=undefined, details=details)

    def _of_row(self, accuracy: Accuracy) -> tuple[float, dict[str, JsonValue]]:
        if accuracy.criteria is None:
            return 0.0, {"grade": _WORST, "warning": "the response is blank"}
        scores = [getattr(accuracy.criteria, name).score for name in CRITERIA]
        percent = weighted_mean(scores, self.weights)
        detail: dict[str, JsonValue] = {"grade": grade(percent)}
        shares = {name: score / 100 for name, score in zip(CRITERIA, scores, strict=True)}
        return round(percent / 100, _DIGITS + 2), detail | shares


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ wᵢvᵢ / Σ wᵢ, rounded to nine digits, so that rounding errors do not change a grade.

    >>> weighted_mean([90, 70, 70], [0.5, 0.3, 0.2])
    80.0
    """
    shares = [weight / max(weights) for weight in weights]
    total = math.fsum(share * value for share, value in zip(shares, values, strict=True))
    return round(total / math.fsum(shares), _DIGITS)


def grade(percent: float) -> str:
    """Return the grade of a score from 0 to 100: A from 80, B from 60, C from 40, D from 20, E below.

    Source: document 002, section 6.

    >>> grade(80), grade(79.99), grade(0)
    ('A', 'B', 'E')
    """
    return next(name for least, name in _GRADES if percent >= least)
