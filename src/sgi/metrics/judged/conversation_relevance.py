"""Conversation relevance: how well the last answer fits the conversation, by one judge call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel, estimated_tokens
from sgi.kernel.sample import QUESTION, RESPONSE, TURNS
from sgi.metrics.complete_rows import blank_reasons
from sgi.metrics.judged.reply_types import Quarters, Reason
from sgi.text.conversation import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.sample_parts import Turn
    from sgi.kernel.vectors import Features

_QUARTER = 0.25


class ConversationRating(ReplyModel, strict=True):
    """How well the last answer fits the conversation, in quarters."""

    reason: Reason
    rating: Quarters


class StoredConversationRating(BaseModel, frozen=True):
    """The rating of the judge; empty if the judge was not asked.

    Attributes:
        left_out: number of the earliest messages that did not fit into the request.
    """

    reason: str = ""
    rating: Quarters | None = None
    left_out: int = 0


PROMPT = Prompt(
    "conversation_relevance.rating",
    """\
Rate how well the response answers the question within the conversation. Read the question in the light of \
the earlier messages. Whether the response is true does not matter.

4: it answers what the user means, and keeps to what was said and agreed before.
3: it answers but for a minor part, or repeats at length what was said before.
2: it answers about half of what the user means.
1: it answers the words of the question, but not what they mean in this conversation.
0: it answers nothing of it, ignores the conversation, or asks for what the user has already said.

reason comes first: one or two sentences on what the user means here, and what of it is answered.""",
    (
        Example(
            {
                "conversation": (
                    "user: When was the ferry Anke launched?",
                    "assistant: The Anke was launched in 1950.",
                ),
                "question": "And how long is she?",
                "response": "The Anke is 42 m long.",
            },
            ConversationRating(reason="She is the Anke, and the response gives her length.", rating=4),
        ),
        Example(
            {
                "conversation": (
                    "user: When was the ferry Anke launched?",
                    "assistant: The Anke was launched in 1950.",
                ),
                "question": "And how long is she?",
                "response": "Which ferry do you mean?",
            },
            ConversationRating(reason="The user has already named the Anke.", rating=0),
        ),
        Example(
            {
                "question": "When was the ferry Anke launched, and where?",
                "response": "The Anke was launched in 1950.",
            },
            ConversationRating(reason="The first question; the answer leaves out the place.", rating=3),
        ),
    ),
)


@closed
class ConversationDetails(JudgedDetails, total=False):
    """Why the response got its rating.

    Attributes:
        reason: the reason of the judge.
        left_out: number of the earliest messages that did not fit into the request; absent if all did.
    """

    reason: str
    left_out: int


@dataclass(frozen=True)
class ConversationRelevance(JudgedMetric[StoredConversationRating]):
    """How well the last answer answers what the user means in the conversation, rated by a judge.

    The value is a rating in quarters, in [0, 1]. The judge sees the question, the response and the earlier
    messages; if these are too long for one request, the earliest are left out, and the details say how many.
    A row with a blank question or a blank response is undefined. It does not measure truth.

    References: our own, after the turn relevancy of DeepEval.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> row = Batch.of([Sample(id="1", question="And her length?", response="42 m.", turns=[])])
    >>> stored = StoredConversationRating(reason="It gives the length.", rating=4)
    >>> ConversationRelevance().score(JudgedRows(row, [stored]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "conversation_relevance",
        1,
        needs=QUESTION | RESPONSE | TURNS,
        citation="our own",
        guide=MetricHelp(
            Question.TOPIC,
            "1: the judge rates the last answer as excellent for what the user means. 0: as bad.",
            "It does not say whether the answer is true. It depends on the judge: compare only runs with "
            "the same judge. A row fails if the judge gives no usable reply.",
        ),
        details=ConversationDetails,
    )
    judgement: ClassVar = StoredConversationRating
    prompts: ClassVar = (PROMPT,)

    async def ask(self, sample: Sample, judge: Judge, /) -> StoredConversationRating:
        """Ask the judge for a rating."""
        if not sample.question.strip() or not sample.response.strip():
            return StoredConversationRating()
        messages = history(sample)
        lines = _latest(messages, judge.budget)
        conversation = {"conversation": lines} if lines else {}
        inquiry = PROMPT.about(**conversation, question=sample.question, response=sample.response)
        reply = await judge.ask(inquiry, ConversationRating)
        return StoredConversationRating(
            reason=reply.reason, rating=reply.rating, left_out=len(messages) - len(lines)
        )

    def score(self, judged: JudgedRows[StoredConversationRating], _features: Features, /) -> Scores:
        """Return the rating of each row."""
        values = np.array([(one.rating or 0) * _QUARTER for one in judged.judgements], dtype=np.float64)
        undefined = blank_reasons(judged.batch.question, judged.batch.response)
        return Scores.of(values, undefined=undefined, details=list(map(_details, judged.judgements)))


def _latest(messages: Sequence[Turn], budget: int) -> tuple[str, ...]:
    """Return the latest messages with their roles, as many as fit into the budget of tokens."""
    lines: list[str] = []
    for turn in reversed(messages):
        line = f"{turn.role}: {turn.text}"
        budget -= estimated_tokens(line)
        if budget < 0:
            break
        lines.append(line)
    return tuple(reversed(lines))


def _details(stored: StoredConversationRating) -> dict[str, JsonValue]:
    details: dict[str, JsonValue] = {"reason": stored.reason} if stored.reason else {}
    return details | ({"left_out": stored.left_out} if stored.left_out else {})
