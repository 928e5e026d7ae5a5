"""Completeness with a judge: the share of the claims of the reference that the response states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import TypedDict

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.judged.claims import EXTRACT, VERIFY, Claims, claims_of, verify_claims
from sgi.metrics.listed_facts import listed_facts, scores_of_facts, set_needs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.metric import Scores
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features
    from sgi.metrics.judged.claims import Claim


@closed
class JudgedStatement(TypedDict):
    """A claim of the reference, or a fact.

    Attributes:
        stated: whether the response states it.
        text: its words.
        judge_reason: the reason that the judge gives.
    """

    stated: bool
    text: str
    judge_reason: str


@closed
class JudgedCompletenessDetails(JudgedDetails, total=False):
    """The claims of the reference, or the facts.

    Attributes:
        statements: the claims or facts, in order.
    """

    statements: list[JudgedStatement]


@dataclass(frozen=True)
class CompletenessJudged(JudgedMetric[Claims]):
    r"""Share of the reference's claims, or of listed facts, that the response states, decided by a judge.

    .. math:: \frac{|\text{claims that the response states or implies}|}{|\text{claims of the reference}|}

    In [0, 1]. Two judge calls per row: ``faithfulness`` with the reference in place of the response, and the
    response in place of the passages. With ``facts``, these are the claims, and one call suffices. A blank
    response states nothing: 0, without a call to verify. Only the first accepted answer is used.

    A row is undefined if the reference makes no claim. With ``facts``, a row without the column is
    ``missing``.

    Attributes:
        facts: the name of a column of facts, as for ``completeness``; "" means the reference.

    References: Es et al. (2023), "Ragas", for the claims; assertions as in benchmark-qed 0.4.0.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", response="Anke is a ferry.", metadata={"must": ["It is a ferry.", "It is old."]})
    >>> ferry = Claim(claim="It is a ferry.", reason="Stated.", supported=1)
    >>> old = Claim(claim="It is old.", reason="No age.", supported=0)
    >>> judged = JudgedRows(Batch.of([row]), [Claims(claims=(ferry, old))])
    >>> CompletenessJudged(facts="must").score(judged, Features()).values.tolist()
    [0.5]
    """

    facts: str = ""
    spec: ClassVar = MetricSpec(
        "completeness_judged",
        1,
        needs=RESPONSE | REFERENCE,
        citation="Es et al. (2023), with exchanged roles",
        details=JudgedCompletenessDetails,
        guide=MetricHelp(
            Question.RIGHT,
            "1: the response states every claim of the reference, or every fact. 0: none. The details name "
            "what is missing.",
            "It depends on the judge: compare only runs with the same judge. What the response says beyond "
            "the reference does not count. A row has no value if the reference claims nothing, and fails if "
            "the judge gives no usable reply.",
        ),
    )
    judgement: ClassVar = Claims
    prompts: ClassVar = (EXTRACT, VERIFY)

    def __post_init__(self) -> None:
        set_needs(self, self.facts)

    async def ask(self, sample: Sample, judge: Judge, /) -> Claims:
        """Ask the judge for the claims of the reference, and whether the response states each."""
        claims: tuple[str, ...] | str
        if self.facts:
            claims = listed_facts(sample, self.facts)
        else:
            claims = await claims_of(sample.references[0], sample, judge)
        if isinstance(claims, str):
            return Claims()
        responses = [sample.response] if sample.response.strip() else []
        return await verify_claims(claims, responses, judge)

    def score(self, judged: JudgedRows[Claims], _features: Features, /) -> Scores:
        """Return the share of stated claims of each row."""
        rows = [one.claims for one in judged.judgements]
        texts = [listed_facts(row, self.facts) if self.facts else "" for row in judged.batch.samples]
        return scores_of_facts(
            [_share(row) if row else "the reference states nothing" for row in rows],
            [text if isinstance(text, str) else "" for text in texts],
            [{"statements": [*map(_statement, row)]} if row else {} for row in rows],
        )


def _share(claims: Sequence[Claim]) -> float:
    return sum(claim.supported for claim in claims) / len(claims)


def _statement(claim: Claim) -> dict[str, JsonValue]:
    return {"stated": bool(claim.supported), "text": claim.claim, "judge_reason": claim.reason}
