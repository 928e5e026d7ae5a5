"""Citation recall, citation precision, citation validity, and the share of statements without a citation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricSpec
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.citation_map import CitationMap
from sgi.metrics.citations.cited_row import NO_CITATIONS, cited_rows
from sgi.metrics.citations.oracle import (
    ENTAILMENT_THRESHOLD,
    GROUNDING_THRESHOLD,
    EntailmentOracle,
    GroundingOracle,
    entailment_pairs,
    grounding_texts,
)
from sgi.metrics.citations.row_values import RowValue, scores_of
from sgi.metrics.citations.verdicts import citation_map
from sgi.metrics.parameters import check_share
from sgi.text.linear_pattern import LinearPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.features import Features
    from sgi.kernel.metric import EntailmentNeeds, Scores, VectorNeeds
    from sgi.kernel.sample import Batch
    from sgi.metrics.citations.cited_row import CitedRow

_ALCE = "Gao et al. (2023), Enabling large language models to generate text with citations (ALCE)"
Rows = tuple["CitedRow", ...]


@dataclass(frozen=True)
class _OfMarkers(Metric[Rows]):
    """Base of metrics that find the citations of a response."""

    pattern: str = ""

    def __post_init__(self) -> None:
        syntax: object = self.pattern
        if not isinstance(syntax, str):
            raise TypeError(f"pattern must be a regular expression, not {syntax!r}")
        if self.pattern:
            LinearPattern(self.pattern)

    def prepare(self, rows: Batch, /) -> Rows:
        """Find the statements and citations of each row; metrics of a batch share the result."""
        return rows.compute_once(cited_rows, self.pattern)

    def score(self, rows: Rows, features: Features, /) -> Scores:
        """Return the score of each row."""
        return scores_of([self._value(row, features) for row in rows])

    @abstractmethod
    def _value(self, row: CitedRow, features: Features) -> RowValue: ...


@dataclass(frozen=True)
class _Checked(_OfMarkers):
    """Base of metrics that check whether cited passages support the statements."""

    threshold: float | None = None
    nli: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None:
            check_share("threshold", self.threshold)
        model_name: object = self.nli
        if not isinstance(model_name, str):
            raise TypeError(f"nli must be the name of an entailment model or its folder, not {model_name!r}")

    @property
    def vector_needs(self) -> VectorNeeds | None:
        """This metric without ``nli``, otherwise None."""
        return None if self.nli else self

    @property
    def entailment_model(self) -> str:
        """The name or folder of the entailment model, from ``nli``."""
        return self.nli

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """This metric if ``nli`` names a model, otherwise None."""
        return self if self.nli else None

    def texts(self, rows: Rows, /) -> Iterable[str]:
        """List the sentences of cited passages and of the statements that cite them, and the questions."""
        return chain.from_iterable(grounding_texts(row) for row in rows if not self._reason(row))

    def pairs(self, rows: Rows, /) -> Iterable[tuple[str, str]]:
        """List the (passages, statement) pairs of the entailment model."""
        return chain.from_iterable(entailment_pairs(row) for row in rows if not self._reason(row))

    def _reason(self, row: CitedRow) -> str:
        """Return why the row has no value; with an entailment model, texts may be in other languages."""
        if row.reason or not row.sample.contexts:
            return row.reason or "there are no passages"
        return "" if self.nli else row.row.reason

    def _map(self, row: CitedRow, features: Features) -> CitationMap:
        """Return the citation map; metrics of a batch with the same settings share it."""
        tables = features.entailments if self.nli else features.vectors
        key = (self.threshold, self.nli)
        if key not in row.results or row.results[key][0] is not tables:
            oracle = (
                EntailmentOracle(row, features.entailments)
                if self.nli
                else GroundingOracle(row, features.vectors)
            )
            default = ENTAILMENT_THRESHOLD if self.nli else GROUNDING_THRESHOLD
            threshold = default if self.threshold is None else self.threshold
            row.results[key] = tables, citation_map(row, oracle, threshold)
            row.forget()
        found: CitationMap = row.results[key][1]
        return found


@dataclass(frozen=True)
class CitationRecall(_Checked):
    r"""Share of the statements that the passages they cite support together.

    .. math:: \text{statements that their cited passages support} \,/\, \text{statements}

    In [0, 1]; higher is better. A statement is a sentence that states something; its text is checked without
    markers. A statement without a citation of an existing passage counts as not supported. A set of passages
    supports a statement if one of its passages alone does, or all together do. See ``docs/citations.md`` for
    markers and for the statement that a marker cites.

    By default, passages support a statement if its `grounding` score with these passages alone reaches the
    threshold. With ``nli``, an entailment model reads the passages, joined by line breaks, and the statement,
    as in the source.

    A row is undefined if the response is blank or states nothing, if there are no passages, or (without
    ``nli``) if the texts are not in English.

    Attributes:
        pattern: the syntax of inline ids, such as ``"[a-z]+-[0-9]+"``; "" means that only markers of the
            known forms and ids in brackets are citations.
        threshold: smallest score with which passages support a statement; None means the measured default,
            or 0.5 with ``nli``.
        nli: an entailment model, as for `grounding`; "" means the grounding detector.

    Differences from the source: statements that claim nothing are not counted; a citation of a missing
    passage does not make the statement unsupported; there is no limit of three citations per statement.

    References: Gao et al. (2023), section 3.

    >>> CitationRecall(threshold=0.6).canonical
    'citation_recall(threshold=0.6)'
    """

    spec: ClassVar = MetricSpec(
        "citation_recall", 1, needs=CONTEXTS | RESPONSE, citation=_ALCE, details=CitationMap
    )

    def _value(self, row: CitedRow, features: Features) -> RowValue:
        reason = self._reason(row)
        if reason:
            return RowValue(None, reason)
        found = self._map(row, features)
        supported = [part.supported for part in found.statements if part.claims]
        return RowValue(supported.count(True) / len(supported), details=found.model_dump(mode="json"))


@dataclass(frozen=True)
class CitationPrecision(_Checked):
    r"""Share of the citations that are right.

    .. math:: \text{right citations} \,/\, \text{citations}

    In [0, 1]; higher is better. A citation is right if its passage alone supports the statement, or if the
    cited passages support the statement only with this passage. Other citations are needless (the rest
    supports the statement), wrong, or invalid (there is no such passage). ``[1, 2]`` are two citations.
    Citations of sentences that state nothing are not counted, except invalid ones.

    A row is undefined for the reasons of ``citation_recall``, and if the response cites nothing.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.
        threshold: smallest score with which passages support a statement, as for ``citation_recall``.
        nli: an entailment model, as for ``citation_recall``.

    Difference from the source: a response without citations has no value, where the source counts 0.

    References: Gao et al. (2023), section 3.

    >>> CitationPrecision().spec.needs == CitationRecall().spec.needs
    True
    """

    spec: ClassVar = MetricSpec(
        "citation_precision", 1, needs=CONTEXTS | RESPONSE, citation=_ALCE, details=CitationMap
    )

    def _value(self, row: CitedRow, features: Features) -> RowValue:
        reason = self._reason(row) or ("" if row.citations else NO_CITATIONS)
        if reason:
            return RowValue(None, reason)
        found = self._map(row, features)
        verdicts = [part.verdict for citation in found.citations for part in citation.passages]
        counted = [verdict for verdict in verdicts if verdict != "unchecked"]
        if not counted:
            return RowValue(None, "no statement that could be supported has a citation")
        return RowValue(counted.count("right") / len(counted), details=found.model_dump(mode="json"))


@closed
class ValidityDetails(TypedDict, total=False):
    """The citations of a response.

    Attributes:
        citations: the number of cited passages; ``[1, 2]`` counts twice.
        invalid: the positions and ids that no passage has, in order.
    """

    citations: int
    invalid: list[str]


@dataclass(frozen=True)
class CitationValidity(_OfMarkers):
    r"""Share of the citations that name an existing passage.

    .. math:: \text{citations of existing passages} \,/\, \text{citations}

    In [0, 1]; higher is better. A citation names a passage by its position, from 1, or by its id
    (``context_ids``). ``[1, 2]`` are two citations. A blank passage exists. If there are no passages, every
    citation is invalid. It needs no model and works for every language.

    A row is undefined if the response is blank or cites nothing.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    >>> from sgi import Batch, Features, Sample
    >>> metric = CitationValidity()
    >>> row = Sample(id="1", contexts=["It is old."], response="It is old [1] and red [7].")
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "citation_validity", 1, needs=CONTEXTS | RESPONSE, citation="our own", details=ValidityDetails
    )

    def _value(self, row: CitedRow, _features: Features) -> RowValue:
        if not row.sample.response.strip():
            return RowValue(None, "the response is blank")
        targets = [target for citation in row.citations for target in citation.targets]
        if not targets:
            return RowValue(None, NO_CITATIONS)
        invalid = [target.name for target in targets if target.passage is None]
        return RowValue(
            1 - len(invalid) / len(targets), details={"citations": len(targets), "invalid": [*invalid]}
        )


@closed
class UncitedDetails(TypedDict, total=False):
    """The statements of a response.

    Attributes:
        statements: the number of statements.
        uncited: the statements without a citation, in order.
    """

    statements: int
    uncited: list[str]


@dataclass(frozen=True)
class UncitedShare(_OfMarkers):
    r"""Share of the statements that have no citation.

    .. math:: \text{statements without a citation} \,/\, \text{statements}

    In [0, 1]; lower is better. A statement is a sentence that states something, as for ``citation_recall``.
    A citation of a missing passage is a citation here; see ``citation_validity``. It needs no passages and no
    model. Sentences that state nothing are recognised in English only.

    A row is undefined if the response is blank or states nothing.

    Attributes:
        pattern: the syntax of inline ids, as for ``citation_recall``.

    >>> from sgi import Batch, Features, Sample
    >>> metric = UncitedShare()
    >>> row = Sample(id="1", response="The tower is old [1]. It has a red door.")
    >>> metric.score(metric.prepare(Batch.of([row])), Features()).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "uncited_share",
        1,
        needs=RESPONSE,
        higher_is_better=False,
        citation="our own",
        details=UncitedDetails,
    )

    def _value(self, row: CitedRow, _features: Features) -> RowValue:
        if row.reason:
            return RowValue(None, row.reason)
        cited = {number for citation in row.citations for number in citation.statements}
        claims = [number for number, statement in enumerate(row.statements) if statement.claims]
        uncited = [row.statements[number].text for number in claims if number not in cited]
        return RowValue(
            len(uncited) / len(claims), details={"statements": len(claims), "uncited": [*uncited]}
        )
