"""Whether the passages can answer the question, by one judge call for each portion of passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import CONTEXTS, QUESTION
from sgi.metrics.judged.claims import blank
from sgi.metrics.judged.reply_types import Binary, Reason, portions

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

NO_PASSAGES = "there are no passages, or all are blank"
BLANK_QUESTION = "the question is blank"


class Answerability(ReplyModel, strict=True):
    """Whether the passages contain the answer to the question."""

    reason: Reason
    answerable: Binary


class StoredAnswerability(BaseModel, frozen=True):
    """The judge's verdict; empty if the judge was not asked."""

    reason: str = ""
    answerable: Binary | None = None


PROMPT = Prompt(
    "answerability.verdict",
    """\
Decide whether the passages contain the answer to the question.

1: a careful reader can answer the question from the passages alone, also by combining them.
0: something that the question asks for is not in the passages, or they only treat the subject.

Use no knowledge of your own. If the question assumes something that the passages contradict, then a \
correction is an answer: 1. reason comes first: one sentence that names the passage with the answer, or what \
is missing.""",
    (
        Example(
            {
                "question": "When was the ferry Anke launched?",
                "passages": ("The yard at Tolvik launched the Anke in spring 1950.",),
            },
            Answerability(reason="Passage 1 gives the year 1950.", answerable=1),
        ),
        Example(
            {
                "question": "Who paid for the ferry Anke?",
                "passages": ("The yard at Tolvik launched the Anke in spring 1950.",),
            },
            Answerability(reason="No passage says who paid.", answerable=0),
        ),
    ),
)


@closed
class AnswerabilityDetails(JudgedDetails, total=False):
    """Why the question is answerable or not.

    Attributes:
        reason: the reason of the judge.
        warning: why the judge was not asked.
    """

    reason: str
    warning: str


async def ask_answerability(sample: Sample, judge: Judge) -> StoredAnswerability:
    """Ask the judge whether the passages contain the answer; the first portion that contains it decides."""
    last = StoredAnswerability()
    if not sample.question.strip():
        return last
    for portion in portions(sample.contexts, judge.budget):
        inquiry = PROMPT.about(question=sample.question, passages=portion.texts)
        reply = await judge.ask(inquiry, Answerability)
        last = StoredAnswerability(reason=reply.reason, answerable=reply.answerable)
        if reply.answerable:
            break
    return last


@dataclass(frozen=True)
class Answerable(JudgedMetric[StoredAnswerability]):
    """1 if the passages contain the answer to the question, 0 otherwise; the mean is the share of these rows.

    It depends on the question and the passages alone, not on the response, so it measures retrieval. If there
    are no passages, or all are blank, the value is 0 without a call. A row with a blank question is
    undefined. Long passages are sent in portions, and one portion must contain the answer.

    Limits: an answer that needs two portions is missed.

    References: our own; the question is that of SQuAD 2.0 (Rajpurkar et al., 2018).

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", question="When?", contexts=["In 1950."])])
    >>> stored = StoredAnswerability(reason="Passage 1 gives the year.", answerable=1)
    >>> Answerable().score(JudgedRows(row, [stored]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "answerable",
        1,
        needs=QUESTION | CONTEXTS,
        citation="our own, after Rajpurkar et al. (2018)",
        guide=MetricHelp(
            Question.FOUND,
            "1: the passages contain the answer. 0: they do not. The mean is the share of answerable "
            "questions.",
            "It depends on the judge: compare only runs with the same judge. A row fails if the judge gives "
            "no usable reply.",
        ),
        details=AnswerabilityDetails,
    )
    judgement: ClassVar = StoredAnswerability
    prompts: ClassVar = (PROMPT,)

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredAnswerability:
        """Ask the judge whether the passages contain the answer."""
        return await ask_answerability(sample, judge)

    def score(self, judged: JudgedRows[StoredAnswerability], _features: Features, /) -> Scores:
        """Return 1 or 0 for each row."""
        values = np.array([float(one.answerable or 0) for one in judged.judgements], dtype=np.float64)
        undefined = {BLANK_QUESTION: blank(judged.batch.question)}
        return Scores.of(values, undefined=undefined, details=list(map(_details, judged.judgements)))


def _details(stored: StoredAnswerability) -> dict[str, JsonValue]:
    return {"warning": NO_PASSAGES} if stored.answerable is None else {"reason": stored.reason}
