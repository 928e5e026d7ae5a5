"""Answer relevance: similarity of the question and the questions that a response answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationInfo, model_validator

from sgi.geometry.angles import cosine
from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import QUESTION, RESPONSE
from sgi.metrics.complete_rows import unread_reasons
from sgi.metrics.judged.claims import blank
from sgi.metrics.judged.reply_types import Flag, Quarters, Reason, Statement, pieces
from sgi.metrics.parameters import check_choice
from sgi.text.read_share import unread_by_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features, VectorTable

Scale = Literal["cosine", "affine"]
"""The mean cosine, 0 if it is negative; or the mean of (1 + cos) / 2."""

Noncommittal = Literal["zero", "ignore"]
"""Score of a response that evades the question: 0, or computed from its questions like any other score."""

_MOST_QUESTIONS = 10
_QUARTER = 0.25


class Questions(ReplyModel, strict=True):
    """The questions a text answers, as many as were asked for or none, and whether it evades."""

    questions: Annotated[tuple[Statement, ...], Field(max_length=_MOST_QUESTIONS)]
    reason: Reason
    noncommittal: Flag

    @model_validator(mode="after")
    def _check_count(self, info: ValidationInfo) -> Questions:
        count = (info.context or {}).get("items")
        if count is not None and len(self.questions) not in {0, count}:
            raise ValueError(f"{count} questions are required, or none; the reply has {len(self.questions)}")
        return self

    @classmethod
    def typical(cls, example: ReplyModel, items: int | None) -> ReplyModel:
        """Return the example with the requested number of questions."""
        if not isinstance(example, Questions) or items is None:
            return example
        return example.model_copy(update={"questions": (example.questions * items)[:items]})


class DirectRating(ReplyModel, strict=True):
    """How well a response answers the question, in quarters."""

    reasoning: Reason
    rating: Quarters


class AnsweredQuestions(BaseModel, frozen=True):
    """The questions that a response answers, or its direct rating if there are none."""

    questions: tuple[str, ...] = ()
    reason: str = ""
    noncommittal: bool = False
    rating: DirectRating | None = None


GENERATE = Prompt(
    "answer_relevance.questions",
    """\
Find the questions to which the response would be a good answer, as if you had only the response.

- Write as many questions as there are places, one for each, in the language of the response.
- Each asks for what the response tells, so that the response answers it in full or in part; together they \
cover all it tells. Where it tells only one thing, ask for that in different words.
- Name what the response names. Do not guess what else the asker may have wanted to know.
- Only a text of which nothing can be asked, such as noise, has an empty list.
- reason, before noncommittal, says in one sentence whether the response commits itself to an answer.
- noncommittal is true where it evades: it says that it does not know, cannot tell or will not answer, or it \
is so vague that it fits any question. A hedged answer is an answer, and so is "no".""",
    (
        Example(
            {
                "response": "The Anke was launched at Tolvik in 1950.",
                "places": ("question 1", "question 2", "question 3"),
            },
            Questions(
                questions=(
                    "When was the Anke launched?",
                    "Where was the Anke launched?",
                    "What happened at Tolvik in 1950?",
                ),
                reason="It states a place and a year plainly.",
                noncommittal=False,
            ),
        ),
        Example(
            {"response": "That would be hard to say.", "places": ("question 1",)},
            Questions(
                questions=("What is hard to say?",),
                reason="It fits any question and answers none.",
                noncommittal=True,
            ),
        ),
    ),
    items="places",
)

RATE = Prompt(
    "answer_relevance.rating",
    """\
Rate how well the response answers the question. Whether it is true does not matter here.

4: it answers the whole question, directly.
3: it answers the question but for a minor part.
2: it answers about half of what was asked.
1: it stays near the subject and answers next to nothing of what was asked.
0: it answers nothing of it, or is no answer at all.

reasoning comes first: one or two sentences on what was asked and what of it is answered.""",
    (
        Example(
            {"question": "When and where was the Anke launched?", "response": "In 1950."},
            DirectRating(reasoning="It gives the year and leaves the place out.", rating=2),
        ),
    ),
)


@closed
class RelevanceDetails(JudgedDetails, total=False):
    """How the value was computed.

    Attributes:
        similarities: similarity of the question with each question that the judge wrote for the response.
        noncommittal: true if the response evades the question; absent otherwise.
        rated: true if the judge wrote no question and rated the response directly; absent otherwise.
        warning: why the judge was not asked.
    """

    similarities: list[float]
    noncommittal: bool
    rated: bool
    warning: str


@dataclass(frozen=True)
class AnswerRelevance(JudgedMetric[AnsweredQuestions]):
    r"""Mean cosine similarity between the question and the questions that the response answers.

    .. math:: \max\Bigl(0, \frac{1}{n} \sum_i \cos\theta(q, q_i)\Bigr)

    q is the question and q_i the questions that a judge writes for the response, compared by an embedding
    model. In [0, 1]. One judge call per row; if the judge writes no question, a second call rates the
    response in quarters. A response that is too long for one request is sent in parts, with n questions for
    each.

    A response that is blank or evades the question scores 0. A row is undefined if the question is blank, or
    if the vocabulary of the embedding model covers less than 80 % of a compared question. If either text is
    blank, no call is needed.

    Limits: it does not measure truth; compare only runs with the same embedding model; a correct short answer
    fits many questions and scores below 1.

    Attributes:
        questions: number of questions, from 1 to 10.
        scale: ``cosine``; or ``affine``, the mean of (1 + cos) / 2, which is higher for every response.
        noncommittal: ``zero``: an evading response scores 0; ``ignore``: it is scored by its questions.

    References: Es et al. (2023), "Ragas", section 3; document 002, section 4.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample, VectorTable
    >>> row = Sample(id="1", question="When?", response="In 1950.")
    >>> vectors = VectorTable.of("demo", ["When?", "Which year?"], np.array([[3.0, 4.0], [4.0, 3.0]]))
    >>> judged = JudgedRows(Batch.of([row]), [AnsweredQuestions(questions=("Which year?",))])
    >>> round(float(AnswerRelevance(questions=1).score(judged, Features.of(vectors)).values[0]), 4)
    0.96
    """

    questions: int = 3
    scale: Scale = "cosine"
    noncommittal: Noncommittal = "zero"
    spec: ClassVar = MetricSpec(
        "answer_relevance",
        3,
        needs=QUESTION | RESPONSE,
        citation="Es et al. (2023)",
        guide=MetricHelp(
            Question.TOPIC,
            "1: the response answers exactly this question. Low: it answers another question, or evades it.",
            "It does not say whether the response is true. It depends on the judge and on the embedding "
            "model. A row fails if the judge gives no usable reply.",
        ),
        details=RelevanceDetails,
    )
    judgement: ClassVar = AnsweredQuestions
    prompts: ClassVar = (GENERATE, RATE)

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, Scale)
        check_choice("noncommittal", self.noncommittal, Noncommittal)
        if type(self.questions) is not int or not 1 <= self.questions <= _MOST_QUESTIONS:
            raise ValueError(
                f"questions must be a whole number from 1 to {_MOST_QUESTIONS}, not {self.questions!r}"
            )

    async def ask(self, sample: Sample, judge: Judge, /) -> AnsweredQuestions:
        """Ask the judge which questions the response answers, or for a direct rating if there are none."""
        if not sample.question.strip() or not sample.response.strip():
            return AnsweredQuestions()
        places = tuple(f"question {number}" for number in range(1, self.questions + 1))
        replies = [
            await judge.ask(GENERATE.about(response=part, places=places), Questions)
            for part in pieces(sample.response, judge.budget)
        ]
        answers = AnsweredQuestions(
            questions=tuple(question for reply in replies for question in reply.questions),
            reason=" ".join(reply.reason for reply in replies),
            noncommittal=all(reply.noncommittal for reply in replies),
        )
        if answers.questions:
            return answers
        rating = await judge.ask(RATE.about(question=sample.question, response=sample.response), DirectRating)
        return answers.model_copy(update={"rating": rating})

    def texts(self, judged: JudgedRows[AnsweredQuestions], /) -> Iterator[str]:
        """List the questions of the rows and of the judge, whose embeddings are compared."""
        for sample, answers in zip(judged.batch.samples, judged.judgements, strict=True):
            if self._compares(sample, answers):
                yield sample.question
                yield from answers.questions

    def score(self, judged: JudgedRows[AnsweredQuestions], features: Features, /) -> Scores:
        """Return the relevance of each row."""
        vectors = features.vectors
        rows = [
            self._of_row(*row, vectors) for row in zip(judged.batch.samples, judged.judgements, strict=True)
        ]
        values = np.array([value for value, _ in rows], dtype=np.float64)
        undefined = {"the question is blank": blank(judged.batch.question)}
        if vectors.unread:
            compared = [
                (sample.question, answers.questions) if self._compares(sample, answers) else ("", ())
                for sample, answers in zip(judged.batch.samples, judged.judgements, strict=True)
            ]
            undefined |= unread_reasons(vectors, question=[question for question, _ in compared])
            asked = unread_by_model(vectors.model, "questions that the response answers")
            undefined[asked] = np.array([not vectors.unread.isdisjoint(own) for _, own in compared])
        return Scores.of(values, undefined=undefined, details=[details for _, details in rows])

    def _compares(self, sample: Sample, answers: AnsweredQuestions) -> bool:
        evades = answers.noncommittal and self.noncommittal == "zero"
        return bool(answers.questions and not evades and sample.question.strip() and sample.response.strip())

    def _of_row(
        self, sample: Sample, answers: AnsweredQuestions, vectors: VectorTable
    ) -> tuple[float, dict[str, JsonValue]]:
        if not sample.response.strip():
            return 0.0, {"warning": "the response is blank"}
        if answers.noncommittal and self.noncommittal == "zero":
            return 0.0, {"noncommittal": True}
        if answers.rating is not None:
            return answers.rating.rating * _QUARTER, {"rated": True}
        if not self._compares(sample, answers):
            return 0.0, {}
        question = np.repeat(vectors.rows([sample.question]), len(answers.questions), axis=0)
        cosines = cosine(question, vectors.rows(answers.questions))
        shares = cosines if self.scale == "cosine" else (1.0 + cosines) / 2.0
        return max(0.0, float(shares.mean())), {"similarities": shares.tolist()}
