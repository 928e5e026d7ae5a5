"""Extracts claims from a text and verifies them against passages, for faithfulness and context recall."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationInfo, model_validator

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.errors import JudgeMalformedError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import Scores
from sgi.kernel.prompts import Example, Prompt, ReplyModel, Verdict, Verdicts
from sgi.metrics.judged.reply_types import (
    MOST_ENTRIES,
    Binary,
    Portion,
    Reason,
    Statement,
    pieces,
    portions,
    question_section,
)
from sgi.metrics.parameters import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features

Empty = Literal["undefined", "full"]
"""Score of a text without claims: no value, or 1."""

_MOST_CLAIMS = 100
_NO_PASSAGE = "There is no passage."


class ClaimList(ReplyModel, strict=True):
    """The claims of a text; none where it states nothing."""

    claims: Annotated[tuple[Statement, ...], Field(max_length=_MOST_CLAIMS)]


class Support(Verdict, strict=True):
    """Whether passages support a claim, and which of them, by its number."""

    reason: Reason
    supported: Binary
    passage: int | None

    @model_validator(mode="after")
    def _check_passage(self, info: ValidationInfo) -> Support:
        count = (info.context or {}).get("lengths", {}).get("passages")
        if not self.supported or self.passage is None or count is None or 1 <= self.passage <= count:
            return self
        raise ValueError(f"there is no passage {self.passage}: they are numbered from 1 to {count}")


class Claim(BaseModel, frozen=True):
    """A claim with its verdict.

    Attributes:
        claim: a sentence that can be understood without the rest of the text.
        reason: why it is supported or not; one text, also if the passages were sent in several portions.
        supported: 1 if a passage states or implies it, 0 otherwise.
        passage: number of that passage, from 1; None if no passage supports the claim alone.
    """

    claim: str
    reason: str
    supported: Binary
    passage: int | None = None


class Claims(BaseModel, frozen=True):
    """The claims of a text, each with its verdict."""

    claims: tuple[Claim, ...] = ()


EXTRACT = Prompt(
    "claims.extract",
    f"""\
Take the text apart into the facts it states.

- Each claim is one sentence that states one fact: split what is joined by commas, "and" or a subordinate \
clause.
- Each claim can be understood without the text and without the question: name persons, places and things \
instead of writing "he", "there" or "it". Where the text is only a word or a fragment, let the question say \
what is claimed of it.
- Keep numbers, dates, units, names, negations and degrees of certainty as the text has them. Correct \
nothing, add nothing, leave no fact out, state none twice, even if the text is wrong.
- Questions, greetings, opinions, advice and remarks about what is not known or cannot be answered state no \
fact.
- Write in the language of the text. At most {_MOST_CLAIMS} claims. A text without facts has an empty \
list.""",
    (
        Example(
            {
                "question": "Who painted the Harbour Ceiling?",
                "text": "Mira Oduya, who lived in Tolvik, painted it in 1731. I hope this helps!",
            },
            ClaimList(
                claims=(
                    "Mira Oduya painted the Harbour Ceiling.",
                    "Mira Oduya lived in Tolvik.",
                    "The Harbour Ceiling was painted in 1731.",
                )
            ),
        ),
        Example(
            {
                "question": "How deep is Lake Serrin?",
                "text": "Sorry, the passages do not say how deep it is.",
            },
            ClaimList(claims=()),
        ),
    ),
)

VERIFY = Prompt(
    "claims.verify",
    """\
Say for each claim whether the passages support it.

- supported is 1 where a passage states the claim, or where it follows from the passages without any other \
knowledge. Other words for the same thing are as good.
- supported is 0 where the passages contradict the claim, say nothing of it, or bear out only a part of it: \
a number, name, date or condition that differs makes it unsupported.
- What you know yourself does not count, nor whether the claim is true.
- reason comes first: in one sentence, what the passages say of the claim, or that they say nothing.
- passage is the number of the passage that supports the claim best; null where none supports it, or where \
only several together do.
- One verdict for each claim, with its number as index.""",
    (
        Example(
            {
                "passages": (
                    "The ferry Anke crosses Lake Serrin twice a day and carries 40 people.",
                    "Lake Serrin freezes in most winters.",
                ),
                "claims": (
                    "The ferry on Lake Serrin is called Anke.",
                    "The ferry Anke carries 60 people.",
                    "The ferry Anke was built in Tolvik.",
                ),
            },
            Verdicts[Support](
                verdicts=(
                    Support(
                        index=1,
                        reason="Passage 1 names the ferry that crosses the lake Anke.",
                        supported=1,
                        passage=1,
                    ),
                    Support(
                        index=2,
                        reason="Passage 1 says that it carries 40 people, not 60.",
                        supported=0,
                        passage=None,
                    ),
                    Support(index=3, reason="No passage says where it was built.", supported=0, passage=None),
                )
            ),
        ),
    ),
    items="claims",
)


async def claims_of(text: str, sample: Sample, judge: Judge) -> tuple[str, ...]:
    """Extract the distinct claims of a text; a long text is sent in pieces, a blank one is not sent."""
    claims: dict[str, None] = {}
    for piece in pieces(text, judge.budget):
        reply = await judge.ask(EXTRACT.about(**question_section(sample), text=piece), ClaimList)
        claims.update(dict.fromkeys(reply.claims))
    return tuple(claims)


async def verify_claims(claims: Sequence[str], passages: Sequence[str], judge: Judge) -> Claims:
    """Ask the judge for each claim whether the passages support it.

    Passages that are too long for one request are sent in portions, one after another. Each request has only
    the claims that no earlier portion supports.

    Raises:
        JudgeMalformedError: the judge names a passage that is not in the portion.
    """
    verdicts: dict[str, Claim] = {}
    for portion in portions(passages, judge.budget):
        still = [claim for claim in claims if not (claim in verdicts and verdicts[claim].supported)]
        for start in range(0, len(still), MOST_ENTRIES):
            chunk = tuple(still[start : start + MOST_ENTRIES])
            inquiry = VERIFY.about(passages=portion.texts, claims=chunk)
            reply = await judge.ask(inquiry, Verdicts[Support])
            for claim, verdict in zip(chunk, reply.verdicts, strict=True):
                verdicts[claim] = _claim_with_verdict(claim, verdict, portion, verdicts.get(claim))
    unasked = {claim: Claim(claim=claim, reason=_NO_PASSAGE, supported=0) for claim in claims}
    return Claims(claims=tuple((unasked | verdicts).values()))


def _claim_with_verdict(claim: str, verdict: Support, portion: Portion, before: Claim | None) -> Claim:
    reason = f"{before.reason} {verdict.reason}" if before and not verdict.supported else verdict.reason
    passage = verdict.passage if verdict.supported else None
    # A user's own judge may parse replies without the context that `Support` checks.
    if passage is not None and not 1 <= passage <= len(portion.numbers):
        raise JudgeMalformedError(
            f"Claim {verdict.index}: the judge names passage {passage} of {len(portion.numbers)} passages.",
            text=verdict.model_dump_json(),
        )
    number = None if passage is None else portion.numbers[passage - 1]
    return Claim(claim=claim, reason=reason, supported=verdict.supported, passage=number)


@closed
class ClaimDetails(JudgedDetails, total=False):
    """The number of claims.

    Attributes:
        claims: the number of claims of the text.
        supported: the number of claims that the passages support.
        warning: why the value is 0 without a claim.
    """

    claims: int
    supported: int
    warning: str


@dataclass(frozen=True)
class ClaimSupport(JudgedMetric[Claims]):
    """Base of metrics: the share of a text's claims that the passages support; ``_text`` chooses the text."""

    empty: Empty = "undefined"
    judgement: ClassVar = Claims
    prompts: ClassVar = (EXTRACT, VERIFY)
    _reasons: ClassVar[tuple[str, str]]  # of a blank text, and of a text without claims
    _blank_is_zero: ClassVar = False

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, Empty)

    @abstractmethod
    def _text(self, sample: Sample) -> str: ...

    async def ask(self, sample: Sample, judge: Judge, /) -> Claims:
        """Ask the judge to extract the claims of the text and to verify each claim."""
        return await verify_claims(await claims_of(self._text(sample), sample, judge), sample.contexts, judge)

    def score(self, judged: JudgedRows[Claims], _features: Features, /) -> Scores:
        """Return the share of supported claims of each row."""
        total = np.array([len(one.claims) for one in judged.judgements], dtype=np.float64)
        supported = np.array(
            [sum(claim.supported for claim in one.claims) for one in judged.judgements], dtype=np.float64
        )
        none = total == 0
        values = np.where(none, 1.0, supported / np.where(none, 1.0, total))
        blank_text, no_claims = self._reasons
        is_blank = blank([self._text(sample) for sample in judged.batch.samples])
        zero = is_blank & none if self._blank_is_zero and self.empty != "full" else np.zeros_like(none)
        values[zero] = 0.0
        undefined = {} if self.empty == "full" else {blank_text: is_blank & none, no_claims: none}
        undefined = {reason: rows & ~zero for reason, rows in undefined.items()}
        details = [
            {"claims": int(n), "supported": int(k)} | ({"warning": blank_text} if is_zero else {})
            for n, k, is_zero in zip(total.tolist(), supported.tolist(), zero.tolist(), strict=True)
        ]
        return Scores.of(values, undefined=undefined, details=details)


def blank(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the blank texts, shape (n,)."""
    return np.array([not text.strip() for text in texts], dtype=np.bool_)
