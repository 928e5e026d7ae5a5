"""Citation recall and citation precision: whether passages support the statements that cite them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.metric import MetricHelp, MetricSpec, Question
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.metrics.citations.citation_map import CitationMap, citation_map, precision_value, recall_value
from sgi.metrics.citations.cited_row import NO_PASSAGES, RowValue
from sgi.metrics.citations.markers import OfMarkers, Rows
from sgi.metrics.citations.oracle import (
    ENTAILMENT_THRESHOLD,
    GROUNDING_THRESHOLD,
    EntailmentOracle,
    GroundingOracle,
    entailment_pairs,
)
from sgi.metrics.parameters import check_share

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.vectors import EntailmentNeeds, Features
    from sgi.metrics.citations.cited_row import CitedRow

_ALCE = "Gao et al. (2023), Enabling large language models to generate text with citations (ALCE)"


@dataclass(frozen=True)
class _Checked(OfMarkers):
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
    def entailment_model(self) -> str:
        """The name or folder of the entailment model, from ``nli``."""
        return self.nli

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """This metric if ``nli`` names a model, otherwise None."""
        return self if self.nli else None

    def pairs(self, rows: Rows, /) -> Iterable[tuple[str, str]]:
        """List the (passages, statement) pairs of the entailment model."""
        return chain.from_iterable(entailment_pairs(row) for row in rows if not self._reason(row))

    def _reason(self, row: CitedRow) -> str:
        """Return why the row has no value; with an entailment model, texts may be in other languages."""
        if row.reason or not row.sample.contexts:
            return row.reason or NO_PASSAGES
        return row.unnamed or ("" if self.nli else row.row.reason)

    def _map(self, row: CitedRow, features: Features) -> CitationMap:
        """Return the citation map; metrics of a batch with the same settings share it."""
        tables = features.entailments if self.nli else None
        key = (self.threshold, self.nli)
        if key not in row.results or row.results[key][0] is not tables:
            oracle = EntailmentOracle(row, features.entailments) if self.nli else GroundingOracle(row)
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
    supports a statement if one of its passages alone does, or all together do. The syntax of
    markers, and the statement that a marker cites, are described in the documentation: "Citations".

    By default, passages support a statement if its `grounding` score with these passages alone reaches the
    threshold. With ``nli``, an entailment model reads the passages, joined by line breaks, and the statement,
    as in the source.

    A row is undefined if the response is blank or states nothing, if there are no passages, if it is unknown
    which passages the markers name (see ``citation_validity``), or (without ``nli``) if `grounding` does not
    read the language of the texts.

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
        "citation_recall",
        2,
        needs=CONTEXTS | RESPONSE,
        citation=_ALCE,
        details=CitationMap,
        guide=MetricHelp(
            Question.CITED,
            "1: the cited passages support every statement. It falls with every statement without a "
            "citation, or with a wrong one.",
            "It uses the score of `grounding`, with the same limits. A row has no value if the response "
            "states nothing.",
        ),
    )

    def _value(self, row: CitedRow, features: Features) -> RowValue:
        reason = self._reason(row)
        if reason:
            return RowValue(None, reason)
        return recall_value(self._map(row, features))


@dataclass(frozen=True)
class CitationPrecision(_Checked):
    r"""Share of the citations that are right.

    .. math:: \text{right citations} \,/\, \text{citations}

    In [0, 1]; higher is better. A citation is right if its passage alone supports the statement, or if the
    cited passages support the statement only with this passage. Other citations are needless (the rest
    supports the statement), wrong, or invalid (the passage does not exist). ``[1, 2]`` are two citations.
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
        "citation_precision",
        2,
        needs=CONTEXTS | RESPONSE,
        citation=_ALCE,
        details=CitationMap,
        guide=MetricHelp(
            Question.CITED,
            "1: every citation is needed and right. It falls with every citation that does not support its "
            "statement.",
            "It uses the score of `grounding`, with the same limits. A row has no value if the response "
            "cites nothing.",
        ),
    )

    def _value(self, row: CitedRow, features: Features) -> RowValue:
        reason = self._reason(row) or row.no_citations
        if reason:
            return RowValue(None, reason)
        return precision_value(self._map(row, features))
