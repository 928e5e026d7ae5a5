"""Context recall: how much of what the reference claims was retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricSpec
from sgi.kernel.sample import CONTEXTS, REFERENCE
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
"""What a reference without statements is worth: nothing one can say, or 1."""


@dataclass(frozen=True)
class ContextRecall(JudgedMetric[Claims]):
    r"""Share of the reference's statements that the passages support.

    .. math:: \text{statements that some passage states or implies} \,/\, \text{statements of the reference}

    In [0, 1]. Two calls a row: one takes the reference apart into statements, with the question at hand; one
    gives each a reason, a verdict, 0 or 1, and the number of the passage it comes from. Long passages are
    asked about in portions, as for faithfulness, which asks in the same words: a reference equal to the
    response is taken apart once.

    A reference that states nothing is undefined; a blank one is so without a call. If there are no passages,
    or only blank ones, nothing can be attributed: 0, by one call. Of several accepted answers the first is
    the reference.

    Limits: it judges the retrieval against one answer; what else would have been worth retrieving it cannot
    see.

    Attributes:
        empty: what a reference without statements is: ``undefined``, or ``full``, which is 1.0 as in
            document 002.

    References: Es et al. (2023), "Ragas"; document 002, section 3.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.claims import Claim
    >>> row = Sample(id="1", contexts=["Anke is a ferry."], reference="Anke, a ferry.")
    >>> claims = Claims(claims=(Claim(claim="Anke is a ferry.", reason="Stated.", supported=1, passage=1),))
    >>> ContextRecall().score(Judged(Batch.of([row]), [claims]), Features()).values.tolist()
    [1.0]
    """

    empty: Empty = "undefined"
    spec: ClassVar = MetricSpec(
        "context_recall", 1, needs=CONTEXTS | REFERENCE, low=0.0, high=1.0, citation="Es et al. (2023)"
    )
    judgement: ClassVar = Claims
    prompts: ClassVar = (EXTRACT, VERIFY)

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, Empty)

    async def ask(self, sample: Sample, judge: Judge, /) -> Claims:
        """The reference's statements, each with its verdict."""
        return await verify_claims(
            await claims_of(sample.references[0], sample, judge), sample.contexts, judge
        )

    def score(self, judged: Judged[Claims], features: Features, /) -> Scores:
        """The attributed share of each row."""
        del features
        undefined = {
            "the reference is blank": blank(
                [judged.batch.references[row][0] for row in range(len(judged.batch))]
            ),
            "the reference states nothing": np.ones(len(judged.batch), dtype=np.bool_),
        }
        return supported_share(judged.judgements, undefined, full=self.empty == "full")
