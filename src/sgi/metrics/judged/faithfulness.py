"""Faithfulness: how much of what a response claims its passages bear out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricSpec
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.judged.claims import (
    EXTRACT,
    VERIFY,
    Claims,
    blank,
    claims_of,
    supported_share,
    verify_claims,
)
from sgi.metrics.parameters import check_choice

if TYPE_CHECKING:
    from sgi.kernel.features import Features
    from sgi.kernel.judged_metric import Judged
    from sgi.kernel.metric import Scores
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample

Empty = Literal["undefined", "full"]
"""What a text without claims is worth: nothing one can say, or 1."""


@dataclass(frozen=True)
class Faithfulness(JudgedMetric[Claims]):
    r"""Share of the response's claims that the passages support.

    .. math:: \text{claims that some passage states or implies} \,/\, \text{claims of the response}

    In [0, 1]. Two calls a row: one takes the response apart into claims that stand alone, with the question
    at hand; one gives each claim a reason and then a verdict, 0 or 1, against all passages. A contradicted
    claim is as unsupported as one of which the passages say nothing. Passages longer than the judge reads are
    asked about in portions, one after another, until every claim is supported or none is left.

    A blank response is undefined, and nothing is asked; so is one that claims nothing, such as a refusal. If
    there are no passages, or only blank ones, no claim is supported: 0, by one call. A claim the response
    makes twice in the same words counts once.

    Limits: it says nothing of truth, only of support; a response that repeats a false passage scores 1. It
    is as good as the judge's eye for claims: compare runs made with the same judge.

    Attributes:
        empty: what a response without claims is: ``undefined``, or ``full``, which is 1.0 as in document 002.

    References: Es et al. (2023), "Ragas", section 3; document 002, section 1.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", contexts=["Anke is a ferry."], response="Anke is a ferry of 1950.")
    >>> claims = Claims(
    ...     claims=(
    ...         Claim(claim="Anke is a ferry.", reason="Stated.", supported=1, passage=1),
    ...         Claim(claim="Anke was built in 1950.", reason="No year is given.", supported=0),
    ...     )
    ... )
    >>> Faithfulness().score(Judged(Batch.of([row]), [claims]), Features()).values.tolist()
    [0.5]
    """

    empty: Empty = "undefined"
    spec: ClassVar = MetricSpec(
        "faithfulness", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0, citation="Es et al. (2023)"
    )
    judgement: ClassVar = Claims
    prompts: ClassVar = (EXTRACT, VERIFY)

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, Empty)

    async def ask(self, sample: Sample, judge: Judge, /) -> Claims:
        """The response's claims, each with its verdict."""
        claims = await claims_of(sample.response, sample, judge)
        return await verify_claims(claims, sample.contexts, judge)

    def score(self, judged: Judged[Claims], features: Features, /) -> Scores:
        """The supported share of each row."""
        del features
        undefined = {
            "the response is blank": blank(judged.batch.response),
            "the response claims nothing": np.ones(len(judged.batch), dtype=np.bool_),
        }
        return supported_share(judged.judgements, undefined, full=self.empty == "full")
