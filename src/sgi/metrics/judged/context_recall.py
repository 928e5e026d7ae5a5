"""Context recall: how many of the reference's statements the passages support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.metric import MetricSpec
from sgi.kernel.sample import CONTEXTS, REFERENCE
from sgi.metrics.judged.claims import ClaimDetails, ClaimSupport

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class ContextRecall(ClaimSupport):
    r"""Share of the reference's statements that the passages support.

    .. math:: \text{statements that some passage states or implies} \,/\, \text{statements of the reference}

    In [0, 1]. Two judge calls per row, as for ``faithfulness``: one extracts the statements of the reference,
    one verifies them. If the reference equals the response, both metrics share one extraction.

    A row is undefined if the reference makes no statement; a blank reference needs no call. If there are no
    passages, or only blank ones, the score is 0 after one call. Only the first accepted answer is used.

    Limits: it compares the retrieval with one answer; it cannot see other passages that would help.

    Attributes:
        empty: score of a reference without statements: ``undefined``, or ``full``, which is 1.0 as in
            document 002.

    References: Es et al. (2023), "Ragas"; document 002, section 3.

    >>> from sgi import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim, Claims
    >>> row = Sample(id="1", contexts=["Anke is a ferry."], reference="Anke, a ferry.")
    >>> claims = Claims(claims=(Claim(claim="Anke is a ferry.", reason="Stated.", supported=1, passage=1),))
    >>> ContextRecall().score(JudgedRows(Batch.of([row]), [claims]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "context_recall", 1, needs=CONTEXTS | REFERENCE, citation="Es et al. (2023)", details=ClaimDetails
    )
    _reasons: ClassVar = ("the reference is blank", "the reference states nothing")

    def _text(self, sample: Sample) -> str:
        return sample.references[0]
