"""Citation validity and the share of statements without a citation; they need no model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.cited_row import BLANK, RowValue, cited_rows, scores_of
from sgi.text.linear_pattern import check_pattern

if TYPE_CHECKING:
    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features
    from sgi.metrics.citations.cited_row import CitedRow

Rows = tuple["CitedRow", ...]


@dataclass(frozen=True)
class OfMarkers(Metric[Rows]):
    """Base of metrics that find the citations of a response."""

    pattern: str = ""

    def __post_init__(self) -> None:
        check_pattern(self.pattern)

    def prepare(self, rows: Batch, /) -> Rows:
        """Find the statements and citations of each row; metrics of a batch share the result."""
        return rows.compute_once(cited_rows, self.pattern)

    def score(self, rows: Rows, features: Features, /) -> Scores:
        """Return the score of each row."""
        return scores_of([self._value(row, features) for row in rows])

    @abstractmethod
    def _value(self, row: CitedRow, features: Features) -> RowValue: ...


@closed
class ValidityDetails(TypedDict, total=False):
    """The citations of a response.

    Attributes:
        citations: the number of cited passages; ``[1, 2]`` counts twice.
        invalid: the positions and ids that no passage has, in order.
        unread: superscripts after years, which can be citations or exponents and do not count.
    """

    citations: int
    invalid: list[str]
    unread: list[str]


@dataclass(frozen=True)
class CitationValidity(OfMarkers):
    r"""Share of the citations that name an existing passage.

    .. math:: \text{citations of existing passages} \,/\, \text{citations}

    In [0, 1]; higher is better. A citation names a passage by its position, from 1, or by its id
    (``context_ids``), ``[Data: Reports (2)]`` by the id ``report:2``. ``[1, 2]`` are two citations. A blank
    passage exists. If there are no passages, every citation is invalid. It needs no model and works for every
    language.

    A row is undefined if the response is blank or cites nothing, if citations name kinds and no id has one,
    and if markers are numbers and the ids have several kinds.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    >>> from sgi.types import Batch, Features, Sample
    >>> metric = CitationValidity()
    >>> row = Sample(id="1", contexts=["It is old."], response="It is old [1] and red [7].")
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "citation_validity",
        2,
        needs=CONTEXTS | RESPONSE,
        citation="our own",
        details=ValidityDetails,
        guide=MetricHelp(
            Question.CITED,
            "1: every citation names a passage that exists. 0: none does.",
            "It does not read whether the passage supports the statement: see `citation_recall`. A row has "
            "no value if the response cites nothing.",
        ),
    )

    def _value(self, row: CitedRow, _features: Features) -> RowValue:
        if not row.sample.response.strip():
            return RowValue(None, BLANK)
        targets = [target for citation in row.citations for target in citation.targets]
        if not targets:
            return RowValue(None, row.no_citations, row.unread_details)
        if row.unnamed:
            return RowValue(None, row.unnamed)
        invalid = [target.name for target in targets if target.passage is None]
        details = {"citations": len(targets), "invalid": [*invalid]}
        return RowValue(1 - len(invalid) / len(targets), details=details | row.unread_details)


@closed
class UncitedDetails(TypedDict, total=False):
    """The statements of a response.

    Attributes:
        statements: the number of statements.
        uncited: the statements without a citation, in order.
        unread: superscripts after years, which can be citations or exponents and do not count.
    """

    statements: int
    uncited: list[str]
    unread: list[str]


@dataclass(frozen=True)
class UncitedShare(OfMarkers):
    r"""Share of the statements that have no citation.

    .. math:: \text{statements without a citation} \,/\, \text{statements}

    In [0, 1]; lower is better. A statement is a sentence that states something, as for ``citation_recall``.
    A citation of a missing passage is a citation here; see ``citation_validity``. It needs no passages and no
    model. Sentences that state nothing are recognised in English only.

    A row is undefined if the response is blank or states nothing.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    >>> from sgi.types import Batch, Features, Sample
    >>> metric = UncitedShare()
    >>> row = Sample(id="1", response="The tower is old [1]. It has a red door.")
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "uncited_share",
        2,
        needs=RESPONSE,
        higher_is_better=False,
        citation="our own",
        guide=MetricHelp(
            Question.CITED,
            "0: every statement has a citation. 1: no statement has one.",
            "It does not read whether a citation is right: see `citation_recall`.",
        ),
        details=UncitedDetails,
    )

    def _value(self, row: CitedRow, _features: Features) -> RowValue:
        if row.reason:
            return RowValue(None, row.reason)
        cited = {number for citation in row.citations for number in citation.statements}
        claims = [number for number, statement in enumerate(row.statements) if statement.claims]
        uncited = [row.statements[number].text for number in claims if number not in cited]
        details = {"statements": len(claims), "uncited": [*uncited]}
        return RowValue(len(uncited) / len(claims), details=details | row.unread_details)
