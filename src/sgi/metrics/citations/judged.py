"""Citation recall and citation precision with a judge."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import MetricHelp, MetricSpec, Question
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.citation_map import (  # pydantic reads the annotations
    CitationEvidence,
    StatementEvidence,
    citation_map,
    precision_value,
    recall_value,
)
from sgi.metrics.citations.cited_row import (
    NO_PASSAGES,
    CitedRow,
    RowValue,
    scores_of,
)
from sgi.metrics.judged.claims import VERIFY, verify_claims
from sgi.metrics.judged.reply_types import Binary
from sgi.text.linear_pattern import check_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi.kernel.judged_metric import JudgedRows
    from sgi.kernel.metric import Scores
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.kernel.vectors import Features
    from sgi.metrics.citations.citation_map import CitationMap
    from sgi.metrics.citations.cited_row import Statement

_SOURCE = "Gao et al. (2023), with a judge"
_YES = 0.5
_Question = tuple[int, tuple[int, ...]]


class SetVerdict(BaseModel, frozen=True):
    """The judge's verdict whether some contexts together support a statement, with its reason."""

    statement: int
    contexts: tuple[int, ...]
    reason: str
    supported: Binary


class CitationJudgement(BaseModel, frozen=True):
    """The verdicts of a judge about the citations of a response."""

    verdicts: tuple[SetVerdict, ...] = ()


@closed
class JudgedCitationDetails(JudgedDetails, total=False):
    """Statements and citations of a response, with their verdicts.

    Attributes:
        statements: the statements, in order.
        citations: the citations, in order.
        threshold: 0.5; the judge says 1 or 0.
        unread: superscripts after years, which can be citations or exponents and do not count.
    """

    statements: list[StatementEvidence]
    citations: list[CitationEvidence]
    threshold: float
    unread: list[str]


@dataclass(frozen=True)
class _JudgedOracle:
    """Looks up the verdicts of a judge."""

    row: CitedRow
    verdicts: dict[_Question, SetVerdict]

    def score(self, statement: Statement, contexts: Sequence[int], /) -> float:
        """Return 1 if the judge says that these contexts support the statement."""
        return float(self.verdicts[self.row.statements.index(statement), tuple(contexts)].supported)


@dataclass(frozen=True)
class _JudgedCitations(JudgedMetric[CitationJudgement]):
    """Base of citation metrics with a judge."""

    pattern: str = ""
    judgement: ClassVar = CitationJudgement
    prompts: ClassVar = (VERIFY,)

    def __post_init__(self) -> None:
        check_pattern(self.pattern)

    async def ask(self, sample: Sample, judge: Judge, /) -> CitationJudgement:
        """Ask the judge which cited passages support each statement: alone, together, and all but one."""
        row = CitedRow(sample, self.pattern, {})
        if _reason(row):
            return CitationJudgement()
        cited = {
            number: statement.cited
            for number, statement in enumerate(row.statements)
            if statement.claims and statement.cited
        }
        verdicts = await _verdicts(row, [(n, (one,)) for n, own in cited.items() for one in own], judge)
        single = {n for (n, _), verdict in verdicts.items() if verdict.supported}
        open_sets = [(n, own) for n, own in cited.items() if n not in single and len(own) > 1]
        together = await _verdicts(row, open_sets, judge)
        rests = [
            (n, tuple(other for other in own if other != one))
            for n, own in open_sets
            if together[n, own].supported and len(own) > 2  # noqa: PLR2004 - the rest of two is one
            for one in own
        ]
        verdicts |= together | await _verdicts(row, rests, judge)
        return CitationJudgement(verdicts=tuple(verdicts.values()))

    def score(self, judged: JudgedRows[CitationJudgement], _features: Features, /) -> Scores:
        """Return the score of each row."""
        pairs = zip(judged.batch.samples, judged.judgements, strict=True)
        return scores_of([self._row_value(CitedRow(sample, self.pattern, {}), one) for sample, one in pairs])

    def _row_value(self, row: CitedRow, judgement: CitationJudgement) -> RowValue:
        reason = _reason(row)
        if reason:
            return RowValue(None, reason)
        verdicts = {(one.statement, one.contexts): one for one in judgement.verdicts}
        return self._value(row, citation_map(row, _JudgedOracle(row, verdicts), _YES))

    @abstractmethod
    def _value(self, row: CitedRow, found: CitationMap) -> RowValue: ...


def _reason(row: CitedRow) -> str:
    return row.reason or row.unnamed or ("" if row.sample.contexts else NO_PASSAGES)


async def _verdicts(
    row: CitedRow, questions: Iterable[_Question], judge: Judge
) -> dict[_Question, SetVerdict]:
    """Ask about statements and sets of contexts; one request has all statements with the same set."""
    by_contexts: dict[tuple[int, ...], list[int]] = {}
    for number, contexts in questions:
        by_contexts.setdefault(contexts, []).append(number)
    verdicts = {}
    for contexts, numbers in by_contexts.items():
        texts = list(dict.fromkeys(row.statements[number].text for number in numbers))
        reply = await verify_claims(texts, [row.sample.contexts[context] for context in contexts], judge)
        by_text = {claim.claim: claim for claim in reply.claims}
        for number in numbers:
            claim = by_text[row.statements[number].text]
            verdicts[number, contexts] = SetVerdict(
                statement=number, contexts=contexts, reason=claim.reason, supported=claim.supported
            )
    return verdicts


@dataclass(frozen=True)
class CitationRecallJudged(_JudgedCitations):
    r"""Share of the statements that the passages they cite support together, decided by a judge.

    .. math:: \text{statements that their cited passages support} \,/\, \text{statements}

    In [0, 1]. Statements, citations and verdicts are defined as in ``citation_recall``. A judge decides on
    support, in every language. One judge call for each cited passage, with all statements that cite it; then
    one for each set of passages of which none alone supports its statement, and, if the set does, one for
    each of its passages left out. ``citation_precision_judged`` uses the same replies.

    A row is undefined if the response is blank or states nothing, if there are no passages, or if it is
    unknown which passages the markers name; see ``citation_validity``.

    Limits: the judge sees each statement alone, so it may not know what a pronoun means.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    References: Gao et al. (2023), section 3.

    >>> CitationRecallJudged().canonical
    'citation_recall_judged'
    """

    spec: ClassVar = MetricSpec(
        "citation_recall_judged",
        2,
        needs=CONTEXTS | RESPONSE,
        citation=_SOURCE,
        guide=MetricHelp(
            Question.CITED,
            "1: the cited passages support every statement. It falls with every statement without a "
            "citation, or with a wrong one.",
            "It depends on the judge: compare only runs with the same judge. A row has no value if the "
            "response states nothing, and fails if the judge gives no usable reply.",
        ),
        details=JudgedCitationDetails,
    )

    def _value(self, _row: CitedRow, found: CitationMap) -> RowValue:
        return recall_value(found)


@dataclass(frozen=True)
class CitationPrecisionJudged(_JudgedCitations):
    r"""Share of the citations that are right, decided by a judge.

    .. math:: \text{right citations} \,/\, \text{citations}

    In [0, 1]. Verdicts are defined as in ``citation_precision``. A judge decides on support, in every
    language. It uses the judge's replies of ``citation_recall_judged``.

    A row is undefined for the reasons of ``citation_recall_judged``, and if the response cites nothing.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    References: Gao et al. (2023), section 3.

    >>> CitationPrecisionJudged(pattern="[a-z]+-[0-9]+").canonical
    'citation_precision_judged(pattern="[a-z]+-[0-9]+")'
    """

    spec: ClassVar = MetricSpec(
        "citation_precision_judged",
        2,
        needs=CONTEXTS | RESPONSE,
        citation=_SOURCE,
        guide=MetricHelp(
            Question.CITED,
            "1: every citation is needed and right. It falls with every citation that does not support its "
            "statement.",
            "It depends on the judge: compare only runs with the same judge. A row has no value if the "
            "response cites nothing, and fails if the judge gives no usable reply.",
        ),
        details=JudgedCitationDetails,
    )

    def _value(self, row: CitedRow, found: CitationMap) -> RowValue:
        return precision_value(found) if row.citations else RowValue(None, row.no_citations)
