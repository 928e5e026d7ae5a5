"""Classifies answers as correct, wrong or "don't know"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from pydantic import BaseModel
from typing_extensions import TypedDict

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.judged.reply_types import Reason, question_section, reference_section
from sgi.metrics.parameters import check_choice
from sgi.text.refusals import is_no_answer, mentions_uncertainty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

Phrases = Literal["whole", "substring"]
"""Whether a phrase of uncertainty must be the whole answer, or may occur anywhere in it."""

AnswerClass = Literal["correct", "wrong", "dont_know"]

_IS_UNCERTAIN: Mapping[str, Callable[[str], bool]] = {
    "whole": is_no_answer,
    "substring": mentions_uncertainty,
}


class Judgement(ReplyModel, strict=True):
    """Whether an answer is right."""

    reasoning: Reason
    verdict: Literal["CORRECT", "WRONG"]


class AnswerVerdict(BaseModel, frozen=True):
    """The judge's verdict on an answer; empty if the judge was not asked."""

    reasoning: str = ""
    verdict: Literal["CORRECT", "WRONG"] | None = None


PROMPT = Prompt(
    "answer_classification.verdict",
    """\
Decide whether the response is a correct answer, measured by the accepted answer. Where there are several \
accepted answers, agreeing with one of them is enough.

CORRECT: it says what the accepted answer says about the point that was asked, in whatever words, order, \
language or unit; more detail that does not contradict the accepted answer does no harm.
WRONG: it says something else about that point, contradicts the accepted answer, leaves out what the \
question turns on, offers several answers of which not all hold, or answers another question.

There is nothing between: a half-right response is WRONG where the missing half was asked for. reasoning \
comes first: one or two sentences that compare the two on the point that was asked.""",
    (
        Example(
            {
                "question": "In which year was the ferry Anke launched?",
                "accepted_answers": ("1950",),
                "response": "She left the yard in 1950 and sails to this day.",
            },
            Judgement(reasoning="The year asked for is 1950, and the response gives it.", verdict="CORRECT"),
        ),
        Example(
            {
                "question": "Who built the Anke?",
                "accepted_answers": ("the yard of Tolvik",),
                "response": "A yard on Lake Serrin, probably that of Omsund.",
            },
            Judgement(reasoning="The builder was Tolvik; the response names Omsund.", verdict="WRONG"),
        ),
    ),
)


@dataclass(frozen=True)
class _Classification(JudgedMetric[AnswerVerdict]):
    """Base of metrics that are 1 for answers of the class ``_target``, and 0 for other answers."""

    phrases: Phrases = "whole"
    judgement: ClassVar = AnswerVerdict
    prompts: ClassVar = (PROMPT,)
    _target: ClassVar[AnswerClass]

    def __post_init__(self) -> None:
        check_choice("phrases", self.phrases, Phrases)

    async def ask(self, sample: Sample, judge: Judge, /) -> AnswerVerdict:
        accepted = reference_section(sample)
        blank = not sample.response.strip()
        if not accepted or blank or _IS_UNCERTAIN[self.phrases](sample.response):
            return AnswerVerdict()
        inquiry = PROMPT.about(**question_section(sample), **accepted, response=sample.response)
        reply = await judge.ask(inquiry, Judgement)
        return AnswerVerdict(reasoning=reply.reasoning, verdict=reply.verdict)

    def score(self, judged: JudgedRows[AnswerVerdict], _features: Features, /) -> Scores:
        pairs = zip(judged.batch.samples, judged.judgements, strict=True)
        rows = [self._of_row(sample, judgement.verdict) for sample, judgement in pairs]
        return Scores.assemble(len(judged.batch), ((np.array([row]), one) for row, one in enumerate(rows)))

    def _of_row(self, sample: Sample, verdict: str | None) -> Scores:
        if _IS_UNCERTAIN[self.phrases](sample.response):
            return self._value("dont_know")
        if not reference_section(sample):
            return Scores.without_value(Status.UNDEFINED, ["the reference is blank"])
        if not sample.response.strip():
            return self._value("wrong", warning="the response is blank")
        if verdict is None:  # the judgement was stored for a rule that needed no call
            return Scores.without_value(Status.FAILED, ["the judge was not asked about this response"])
        return self._value("correct" if verdict == "CORRECT" else "wrong")

    def _value(self, answer_class: AnswerClass, **detail: str) -> Scores:
        return Scores.of(
            np.array([float(answer_class == self._target)]), details=[{"class": answer_class, **detail}]
        )


_Class = TypedDict("_Class", {"class": AnswerClass}, total=False)


@closed
class ClassDetails(_Class, JudgedDetails, total=False):
    """The class of the response.

    Attributes:
        class: ``correct``, ``wrong`` or ``dont_know``.
        warning: why the judge was not asked.
    """

    warning: str


_LIMITS = (
    "It depends on the judge: compare only runs with the same judge. A row has no value if the reference is "
    "blank, and fails if the judge gives no usable reply."
)


def _spec(name: str, reading: str, *, higher_is_better: bool, category: str = "") -> MetricSpec:
    return MetricSpec(
        name,
        2,
        needs=RESPONSE | REFERENCE,
        higher_is_better=higher_is_better,
        citation="GraphRAG evaluation metrics, sections 9 to 11",
        category=category,
        classes=get_args(AnswerClass) if category else (),
        details=ClassDetails,
        guide=MetricHelp(Question.RIGHT, reading, _LIMITS),
    )


@dataclass(frozen=True)
class AnswerClassification(_Classification):
    """Whether the response is correct, wrong, or says that it does not know.

    The value is 1 for a correct answer and 0 for any other, so the mean is the accuracy. The details hold the
    class: ``correct``, ``wrong`` or ``dont_know``. The summaries of a run and its groups count the classes.

    A response with a phrase of uncertainty ("I don't know") needs no judge call. A blank response is wrong,
    also without a call. For other responses, one call compares the response with all accepted answers. If all
    of these are blank, the row is undefined.

    Limits: the phrases are English; in other languages the judge decides, and rates a refusal as wrong.

    Attributes:
        phrases: ``whole``: a phrase of uncertainty counts only if it is the whole answer, not in "the unknown
            soldier" or "I'm not sure, but it was Paris"; ``substring``: it counts anywhere in the response,
            as in document 002.

    References: document 002, sections 9 to 11.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> replies = ["Paris.", "Lyon.", "I don't know."]
    >>> rows = Batch.of([Sample(id=text, response=text, reference="Paris") for text in replies])
    >>> judgements = [AnswerVerdict(verdict="CORRECT"), AnswerVerdict(verdict="WRONG"), AnswerVerdict()]
    >>> scores = AnswerClassification().score(JudgedRows(rows, judgements), Features())
    >>> scores.values.tolist(), [detail["class"] for detail in scores.details]
    ([1.0, 0.0, 0.0], ['correct', 'wrong', 'dont_know'])
    """

    spec: ClassVar = _spec(
        "answer_classification",
        "1: correct. 0: wrong, or the response says that it does not know. The summary counts the three "
        "classes.",
        higher_is_better=True,
        category="class",
    )
    _target: ClassVar = "correct"


@dataclass(frozen=True)
class CorrectAnswers(_Classification):
    """1 if the response is correct, 0 otherwise; the mean is the share of correct answers.

    Classes, ``phrases``, judge calls, statuses and limits are as in ``answer_classification``.

    References: document 002, section 9.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", response="Paris.", reference="Paris")])
    >>> rows = JudgedRows(row, [AnswerVerdict(verdict="CORRECT")])
    >>> CorrectAnswers().score(rows, Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "correct_answers", "The mean is the share of correct answers.", higher_is_better=True
    )
    _target: ClassVar = "correct"


@dataclass(frozen=True)
class WrongAnswers(_Classification):
    """1 if the response is wrong, 0 otherwise; the mean is the share of wrong answers, and lower is better.

    Classes, ``phrases``, judge calls, statuses and limits are as in ``answer_classification``.

    References: document 002, section 10.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", response="Lyon.", reference="Paris")])
    >>> WrongAnswers().score(JudgedRows(row, [AnswerVerdict(verdict="WRONG")]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "wrong_answers",
        "The mean is the share of wrong answers. An answer that says “I do not know” is not wrong.",
        higher_is_better=False,
    )
    _target: ClassVar = "wrong"


@dataclass(frozen=True)
class DontKnowAnswers(_Classification):
    """1 if the response says that it does not know, 0 otherwise; the mean is the share of such answers.

    Classes, ``phrases``, judge calls, statuses and limits are as in ``answer_classification``. Lower is
    better, but "don't know" is better than a wrong answer: compare with ``wrong_answers``.

    References: document 002, section 11.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", response="The answer is unknown.", reference="Paris")])
    >>> DontKnowAnswers().score(JudgedRows(row, [AnswerVerdict()]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "dont_know_answers",
        "The mean is the share of answers that say that they do not know.",
        higher_is_better=False,
    )
    _target: ClassVar = "dont_know"
