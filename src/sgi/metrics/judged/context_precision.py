"""Context precision: how many of the retrieved passages help to answer the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.kernel.sample import CONTEXTS, QUESTION
from sgi.metrics.judged.claims import blank
from sgi.metrics.judged.reply_types import (
    MOST_ENTRIES,
    Flag,
    Percentage,
    Reason,
    portions,
    question_section,
    reference_section,
)
from sgi.metrics.parameters import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

Weighting = Literal["mean", "rank"]
"""How relevant passages count: all equally (``mean``), or more if they come earlier (``rank``)."""

Empty = Literal["missing", "zero"]
"""Score of a row without passages: no value, or 0."""

_NO_PASSAGES = "the list of passages is empty"
_BLANK_QUESTION = "the question is blank"


class Relevance(Verdict, strict=True):
    """Of what use a passage is for the question."""

    reason: Reason
    relevance: Percentage
    relevant: Flag


class PassageRelevance(BaseModel, frozen=True):
    """The relevance of a passage, from 0 to 100, and whether it helps to answer the question."""

    reason: str
    relevance: int
    relevant: bool


class Relevances(BaseModel, frozen=True):
    """The relevance of each passage, in retrieval order; empty if the judge was not asked."""

    passages: tuple[PassageRelevance, ...] = ()


_BLANK_PASSAGE = PassageRelevance(reason="The passage is blank.", relevance=0, relevant=False)

PROMPT = Prompt(
    "context_precision.relevance",
    """\
Say for each passage whether it helps to answer the question.

- relevant is true where the passage holds something the answer can rest on: the answer itself, a part of \
it, or a fact or definition needed to reach it.
- relevant is false where it only shares words or subject with the question, speaks of something else of the \
same name, or is a title page, a list of links or other filling.
- Where accepted answers are given, a passage that supports one of them is relevant.
- Judge each passage by itself, as if there were no other; that two say the same makes neither less \
relevant. Whether what it says is true does not matter.
- reason comes first: in one sentence, what the passage holds for the question.
- relevance is a whole number: 0 nothing at all, 50 something needed that does not suffice, 100 all of the \
answer.
- One verdict for each passage, with its number as index.""",
    (
        Example(
            {
                "question": "When was the ferry Anke built?",
                "passages": (
                    "The yard at Tolvik launched the Anke in spring 1950.",
                    "Anke Brandt wrote nine novels. The last appeared in 1950.",
                ),
            },
            Verdicts[Relevance](
                verdicts=(
                    Relevance(
                        index=1,
                        reason="It gives the year of the ferry's launch.",
                        relevance=95,
                        relevant=True,
                    ),
                    Relevance(
                        index=2,
                        reason="It speaks of a writer of that name and not of the ferry.",
                        relevance=0,
                        relevant=False,
                    ),
                )
            ),
        ),
    ),
    items="passages",
)


@closed
class PassageDetails(JudgedDetails, total=False):
    """The number of passages.

    Attributes:
        passages: the number of passages that the judge rated.
        relevant: the number of relevant passages.
    """

    passages: int
    relevant: int


@dataclass(frozen=True)
class ContextPrecision(JudgedMetric[Relevances]):
    r"""Share of the passages that help to answer the question.

    .. math:: \frac{1}{N} \sum_k rel_k \quad\text{or, by rank,}\quad \sum_k P@k \, rel_k \,/\, \sum_k rel_k

    rel is 0 or 1, P@k the share of relevant passages among the first k. In [0, 1]; 0 if none is relevant.
    One judge call per row, with the accepted answers if there are any: each passage gets a reason, a
    relevance from 0 to 100, which is only stored, and the verdict rel. More than 50 passages, or passages
    that are too long for one request, need further calls; if a passage is sent in pieces, its best piece
    counts. A blank passage is not relevant and needs no call.

    A row with an empty list of passages is ``missing``, a row with a blank question is undefined; neither
    needs a call.

    Limits: the judge looks at each passage alone, so two passages that only answer together may both count as
    not relevant. With ``rank`` the score measures how early relevant passages come, not how many there are.

    Attributes:
        weighting: ``mean``: the first formula; ``rank``: the second, which rewards early relevant passages.
        empty: score of an empty list of passages: ``missing``, or ``zero``, as in document 002.

    References: document 002, section 2; average precision, Manning et al. (2008), section 8.4.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> rows = Batch.of([Sample(id="1", question="When?", contexts=["The Ida.", "The Anke, 1950."])])
    >>> ida = PassageRelevance(reason="Another ferry.", relevance=5, relevant=False)
    >>> anke = PassageRelevance(reason="It gives the year.", relevance=95, relevant=True)
    >>> judged = JudgedRows(rows, [Relevances(passages=(ida, anke))])
    >>> ContextPrecision().score(judged, Features()).values.tolist()
    [0.5]
    """

    weighting: Weighting = "mean"
    empty: Empty = "missing"
    spec: ClassVar = MetricSpec(
        "context_precision",
        1,
        needs=QUESTION | CONTEXTS,
        citation="GraphRAG evaluation metrics, section 2",
        guide=MetricHelp(
            Question.FOUND,
            "1: every passage helps to answer the question. 0: none does.",
            "The judge reads each passage alone, so passages that only help together can count as useless. "
            "It does not see passages that were not retrieved. A row fails if the judge gives no usable "
            "reply.",
        ),
        details=PassageDetails,
    )
    judgement: ClassVar = Relevances
    prompts: ClassVar = (PROMPT,)

    def __post_init__(self) -> None:
        check_choice("weighting", self.weighting, Weighting)
        check_choice("empty", self.empty, Empty)

    async def ask(self, sample: Sample, judge: Judge, /) -> Relevances:
        """Ask the judge for the relevance of each passage."""
        if not sample.question.strip():
            return Relevances()
        best: dict[int, PassageRelevance] = {}
        for portion in portions(sample.contexts, judge.budget, most=MOST_ENTRIES):
            inquiry = PROMPT.about(
                **question_section(sample), **reference_section(sample), passages=portion.texts
            )
            reply = await judge.ask(inquiry, Verdicts[Relevance])
            for number, verdict in zip(portion.numbers, reply.verdicts, strict=True):
                passage_relevance = PassageRelevance(**verdict.model_dump(exclude={"index"}))
                best[number] = max(best.get(number, passage_relevance), passage_relevance, key=_rank)
        numbers = range(1, len(sample.contexts) + 1)
        return Relevances(passages=tuple(best.get(number, _BLANK_PASSAGE) for number in numbers))

    def score(self, judged: JudgedRows[Relevances], _features: Features, /) -> Scores:
        """Return the precision of each row."""
        empty = np.array([not sample.contexts for sample in judged.batch.samples], dtype=np.bool_)
        missing = np.flatnonzero(empty & (self.empty == "missing"))
        present = np.setdiff1d(np.arange(len(judged.batch)), missing)
        parts = [
            (present, self._of_passages(judged.take(present))),
            (missing, Scores.without_value(Status.MISSING, [_NO_PASSAGES] * len(missing))),
        ]
        return Scores.assemble(len(judged.batch), parts)

    def _of_passages(self, judged: JudgedRows[Relevances]) -> Scores:
        rows = [[passage.relevant for passage in relevances.passages] for relevances in judged.judgements]
        formula = _average_precision if self.weighting == "rank" else _share
        values = np.array([formula(relevant) for relevant in rows], dtype=np.float64)
        details = [{"passages": len(relevant), "relevant": sum(relevant)} for relevant in rows]
        return Scores.of(values, undefined={_BLANK_QUESTION: blank(judged.batch.question)}, details=details)


def _rank(passage: PassageRelevance) -> tuple[bool, int]:
    return passage.relevant, passage.relevance


def _share(relevant: Sequence[bool]) -> float:
    return sum(relevant) / len(relevant) if relevant else 0.0


def _average_precision(relevant: Sequence[bool]) -> float:
    """Return the mean of the precision at k over the ranks k of the relevant passages."""
    places = [place for place, is_relevant in enumerate(relevant, 1) if is_relevant]
    return sum(count / place for count, place in enumerate(places, 1)) / len(places) if places else 0.0
