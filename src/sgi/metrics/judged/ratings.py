"""Rates answer relevance, context relevance and groundedness from 0 to 3, all in one judge call per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.prompts import Example, Prompt, ReplyModel
from sgi.kernel.sample import CONTEXTS, QUESTION, RESPONSE
from sgi.metrics.judged.reply_types import Rating, Reason, portions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.prompts import Section
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Fields, Sample
    from sgi.kernel.vectors import Features

_NAMES = ("bad", "average", "good", "excellent")
_BEST = len(_NAMES) - 1
_RUBRICS = {
    "answer_relevance": """\
answer_relevance: does the response answer the question? Whether it is true does not matter.
  3 all of it, directly; 2 all but a minor part, or with much beside the point; 1 only a part, or by a \
detour; 0 not at all, or it declines to answer.""",
    "context_relevance": """\
context_relevance: do the passages, taken together, hold what answering the question takes?
  3 all of it; 2 nearly all; 1 a part, or only the surroundings; 0 nothing of use. The response does not \
matter.""",
    "groundedness": """\
groundedness: do the passages bear out what the response says? What you know yourself does not count.
  3 every statement; 2 all but minor ones; 1 some, while others of weight are in no passage; 0 none, or a \
passage contradicts its main statement, or it states nothing, as a refusal does.""",
}
_ANKE: dict[str, Section] = {
    "question": "When was the ferry Anke built, and where?",
    "passages": ("The yard at Tolvik launched the Anke in spring 1950.",),
    "response": "The Anke was built in 1950.",
}


class OneRating(ReplyModel, strict=True):
    """A rating with its reasoning before it."""

    reasoning: Reason
    rating: Rating


class AllRatings(ReplyModel, strict=True):
    """The three ratings."""

    answer_relevance: OneRating
    context_relevance: OneRating
    groundedness: OneRating


_REPLY = AllRatings(
    answer_relevance=OneRating(reasoning="It tells when and leaves out where.", rating=1),
    context_relevance=OneRating(reasoning="Passage 1 gives both the year and the place.", rating=3),
    groundedness=OneRating(reasoning="Passage 1 gives the year 1950.", rating=3),
)


def _prompt(name: str, rubrics: Sequence[str], sections: Mapping[str, Section], reply: ReplyModel) -> Prompt:
    instructions = "\n".join(
        [
            "Rate by whole numbers: 0 bad, 1 average, 2 good, 3 excellent.",
            "",
            *rubrics,
            "",
            "reasoning comes before each rating: one or two sentences that name what decides it.",
        ]
    )
    return Prompt(f"ratings.{name}", instructions, (Example(sections, reply),))


def _single(name: str, *names: str) -> Prompt:
    sections = {section: _ANKE[section] for section in names}
    return _prompt(name, [_RUBRICS[name]], sections, getattr(_REPLY, name))


ALL = _prompt("all", list(_RUBRICS.values()), _ANKE, _REPLY)
ANSWER = _single("answer_relevance", "question", "response")
CONTEXT = _single("context_relevance", "question", "passages")
GROUNDED = _single("groundedness", "passages", "response")
_SINGLE = {"answer_relevance": ANSWER, "context_relevance": CONTEXT, "groundedness": GROUNDED}


class StoredRating(BaseModel, frozen=True):
    """One stored rating, from 0 to 3; empty if the judge was not asked."""

    reasoning: str = ""
    rating: Rating | None = None


class Ratings(BaseModel, frozen=True):
    """All ratings of a sample; a rating is empty if the sample lacks a text that it needs."""

    answer_relevance: StoredRating = StoredRating()
    context_relevance: StoredRating = StoredRating()
    groundedness: StoredRating = StoredRating()


async def ratings_of(sample: Sample, judge: Judge) -> Ratings:
    """Ask the judge for every rating for which the sample has the texts.

    Long passages are sent in portions, with one reply for each. Context relevance and groundedness use the
    best reply. Answer relevance uses the first reply, so that more portions do not raise the rating.
    """
    sections = _sections(sample)
    contexts = [{"passages": portion.texts} for portion in portions(sample.contexts, judge.budget)]
    best = Ratings()
    for passages in contexts or [{}]:
        best = _better(best, await _ask_ratings({**sections, **passages}, judge))
    return best


def _sections(sample: Sample) -> dict[str, Section]:
    """Return the sample's texts that are not blank."""
    passages = tuple(passage for passage in sample.contexts if passage.strip())
    texts = {"question": sample.question, "response": sample.response}
    sections: dict[str, Section] = {name: text for name, text in texts.items() if text.strip()}
    return sections | ({"passages": passages} if passages else {})


async def _ask_ratings(sections: Mapping[str, Section], judge: Judge) -> Ratings:
    texts = {name: sections[name] for name in _ANKE if name in sections}
    if len(texts) == len(_ANKE):
        reply = await judge.ask(ALL.about(**texts), AllRatings)
        return Ratings.model_validate(reply.model_dump())
    for name, prompt in _SINGLE.items():
        if prompt.examples[0].sections.keys() == texts.keys():
            return Ratings.model_validate(
                {name: (await judge.ask(prompt.about(**texts), OneRating)).model_dump()}
            )
    return Ratings()


def _better(first: Ratings, second: Ratings) -> Ratings:
    """Combine two replies: the first answer relevance, and the better rating of the two other criteria."""

    def rank(stored: StoredRating) -> int:
        return -1 if stored.rating is None else stored.rating

    pairs = {name: (getattr(first, name), getattr(second, name)) for name in _RUBRICS}
    best = {name: max(pair, key=rank) for name, pair in pairs.items()}
    if first.answer_relevance.rating is not None:
        best["answer_relevance"] = first.answer_relevance
    return Ratings(**best)


def _value(value: float, **detail: JsonValue) -> Scores:
    return Scores.of(np.array([value]), details=[detail])


_NO_PASSAGES = "there are no passages, or all are blank"


@dataclass(frozen=True)
class _RatedMetric(JudgedMetric[StoredRating]):
    """Base of metrics that divide a rating by 3; ``_rating`` is the name of the rating."""

    judgement: ClassVar = StoredRating
    _rating: ClassVar[str]
    _required: ClassVar[str]  # the text without which a row is undefined
    _without_rating: ClassVar[Scores]  # of a row that has this text, but not the other

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredRating:
        if not _SINGLE[self._rating].examples[0].sections.keys() <= _sections(sample).keys():
            return StoredRating()
        stored: StoredRating = getattr(await ratings_of(sample, judge), self._rating)
        return stored

    def score(self, judged: JudgedRows[StoredRating], _features: Features, /) -> Scores:
        rows = [self._of_row(*row) for row in zip(judged.batch.samples, judged.judgements, strict=True)]
        return Scores.assemble(len(judged.batch), ((np.array([row]), one) for row, one in enumerate(rows)))

    def _of_row(self, sample: Sample, stored: StoredRating) -> Scores:
        if stored.rating is not None:
            return _value(stored.rating / _BEST, rated=_NAMES[stored.rating])
        if not getattr(sample, self._required).strip():
            return Scores.without_value(Status.UNDEFINED, [f"the {self._required} is blank"])
        return self._without_rating


@closed
class RatingDetails(JudgedDetails, total=False):
    """The rating of the judge.

    Attributes:
        rated: the rating in words, from ``bad`` to ``excellent``.
        warning: why the judge was not asked.
    """

    rated: str
    warning: str


def _spec(name: str, question: Question, reading: str, needs: Fields) -> MetricSpec:
    limits = "Four grades only, and judges are often mild: compare only runs with the same judge."
    return MetricSpec(
        name,
        1,
        needs=needs,
        citation="RAG evaluation records, rated triad",
        details=RatingDetails,
        guide=MetricHelp(question, reading, limits),
    )


@dataclass(frozen=True)
class AnswerRelevanceRated(_RatedMetric):
    """How well the response answers the question, rated by a judge from bad to excellent.

    The value is the rating, 0 to 3, divided by 3. The same judge call also gives context relevance and
    groundedness if the sample has passages. A blank response scores 0, and a row with a blank question is
    undefined; neither needs a call for this rating. If passages are sent in portions, the first reply counts.

    Limits: four steps are coarse, and judges rate leniently: compare only runs with the same judge.

    References: document 003, its rated columns.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> stored = StoredRating(reasoning="It gives the year.", rating=3)
    >>> AnswerRelevanceRated().score(JudgedRows(row, [stored]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _spec(
        "answer_relevance_rated",
        Question.TOPIC,
        "1: the judge rates the response as excellent. 0: as bad. It does not say whether the response is "
        "true.",
        QUESTION | RESPONSE,
    )
    prompts: ClassVar = (ALL, ANSWER)
    _rating: ClassVar = "answer_relevance"
    _required: ClassVar = "question"
    _without_rating: ClassVar = _value(0.0, warning="the response is blank")


@dataclass(frozen=True)
class ContextRelevance(_RatedMetric):
    """How much of the information for an answer is in the passages, rated by a judge from bad to excellent.

    The value is the rating, 0 to 3, divided by 3. The same judge call also gives the rated answer relevance
    and groundedness if the sample has a response. A row without passages, or with only blank ones, is
    ``missing``; a row with a blank question is undefined. Long passages are sent in portions and the best
    rating counts, so information spread over two portions is rated too low. Other limits are as in
    ``answer_relevance_rated``.

    References: document 003, its rated columns.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", question="When?", contexts=["In 1950."])])
    >>> stored = StoredRating(reasoning="Nearly all of it.", rating=2)
    >>> round(float(ContextRelevance().score(JudgedRows(row, [stored]), Features()).values[0]), 4)
    0.6667
    """

    spec: ClassVar = _spec(
        "context_relevance",
        Question.FOUND,
        "1: the passages have all that the question needs. 0: they have nothing of it.",
        QUESTION | CONTEXTS,
    )
    prompts: ClassVar = (ALL, CONTEXT)
    _rating: ClassVar = "context_relevance"
    _required: ClassVar = "question"
    _without_rating: ClassVar = Scores.without_value(Status.MISSING, [_NO_PASSAGES])


@dataclass(frozen=True)
class Groundedness(_RatedMetric):
    """How much of the response the passages support, rated by a judge from bad to excellent.

    The value is the rating, 0 to 3, divided by 3. The same judge call also gives the rated answer relevance
    and context relevance if the sample has a question. A row with a blank response is undefined; a response
    without passages, or one that states nothing, such as a refusal, scores 0.

    Limits: long passages are sent in portions and the best rating counts. A response that needs two portions
    is rated too low, and a response that another portion contradicts is rated too high; ``faithfulness`` has
    no such limits. Other limits are as in ``answer_relevance_rated``.

    References: document 003, its rated columns.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", contexts=["In 1950."], response="In 1960.")])
    >>> stored = StoredRating(reasoning="The passage says 1950.", rating=0)
    >>> Groundedness().score(JudgedRows(row, [stored]), Features()).values.tolist()
    [0.0]
    """

    spec: ClassVar = _spec(
        "groundedness",
        Question.SUPPORTED,
        "1: the passages support all of the response. 0: they support nothing of it.",
        RESPONSE | CONTEXTS,
    )
    prompts: ClassVar = (ALL, GROUNDED)
    _rating: ClassVar = "groundedness"
    _required: ClassVar = "response"
    _without_rating: ClassVar = _value(0.0, warning=_NO_PASSAGES)
