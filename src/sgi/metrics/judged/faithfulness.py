"""Faithfulness and context recall: how many claims of the response or reference the passages support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.metric import MetricHelp, MetricSpec, Question
from sgi.kernel.sample import CONTEXTS, REFERENCE, RESPONSE
from sgi.metrics.judged.claims import ClaimDetails, ClaimSupport

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class Faithfulness(ClaimSupport):
    r"""Share of the response's claims that the passages support.

    .. math:: \text{claims that some passage states or implies} \,/\, \text{claims of the response}

    In [0, 1]. Two judge calls per row: one extracts claims that can be understood alone, with the help of the
    question; one compares each claim with all passages and gives a reason and then a verdict, 0 or 1.
    Contradicted claims and claims that no passage mentions are both unsupported. Equal claims count once.
    Passages that are too long for one request are sent in portions, until every claim is supported or no
    portion is left.

    A row is undefined if the response claims nothing, such as a refusal. A blank response scores 0, without a
    call. If there are no passages, or only blank ones, the score is 0 after one call.

    Limits: it measures support, not truth: a response that repeats a false passage scores 1. It depends on
    how the judge extracts claims, so compare only runs with the same judge.

    Attributes:
        empty: score of a response without claims: ``undefined``; or ``full``, which is 1.0 as in document
            002, also for a blank response.

    References: Es et al. (2023), "Ragas", section 3; document 002, section 1.

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim, Claims
    >>> row = Sample(id="1", contexts=["Anke is a ferry."], response="Anke is a ferry of 1950.")
    >>> ferry = Claim(claim="Anke is a ferry.", reason="Stated.", supported=1, passage=1)
    >>> year = Claim(claim="Anke was built in 1950.", reason="No year is given.", supported=0)
    >>> judged = JudgedRows(Batch.of([row]), [Claims(claims=(ferry, year))])
    >>> Faithfulness().score(judged, Features()).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "faithfulness",
        2,
        needs=CONTEXTS | RESPONSE,
        citation="Es et al. (2023)",
        details=ClaimDetails,
        guide=MetricHelp(
            Question.SUPPORTED,
            "1: the passages support every claim of the response. 0.5: half of the claims. 0: no claim.",
            "It depends on the judge: compare only runs with the same judge. It measures support, not "
            "truth. A row has no value if the response claims nothing, and fails if the judge gives no "
            "usable reply.",
        ),
    )
    _reasons: ClassVar = ("the response is blank", "the response claims nothing")
    _blank_is_zero: ClassVar = True

    def _text(self, sample: Sample) -> str:
        return sample.response


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

    >>> from sgi.types import Batch, Features, JudgedRows, Sample
    >>> from sgi.metrics.judged.claims import Claim, Claims
    >>> row = Sample(id="1", contexts=["Anke is a ferry."], reference="Anke, a ferry.")
    >>> claims = Claims(claims=(Claim(claim="Anke is a ferry.", reason="Stated.", supported=1, passage=1),))
    >>> ContextRecall().score(JudgedRows(Batch.of([row]), [claims]), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = MetricSpec(
        "context_recall",
        1,
        needs=CONTEXTS | REFERENCE,
        citation="Es et al. (2023)",
        details=ClaimDetails,
        guide=MetricHelp(
            Question.FOUND,
            "1: the passages have everything that the reference says. 0: nothing of it.",
            "It needs a reference, and depends on the judge: compare only runs with the same judge. A row "
            "has no value if the reference claims nothing, and fails if the judge gives no usable reply.",
        ),
    )
    _reasons: ClassVar = ("the reference is blank", "the reference states nothing")

    def _text(self, sample: Sample) -> str:
        return sample.references[0]
