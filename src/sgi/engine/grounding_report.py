"""The grounding report of one response, with the evidence for each sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.engine.summary import NotebookRepr
from sgi.kernel.metric import Status
from sgi.kernel.short_text import short_repr
from sgi.metrics.citations.citation_map import CitationMap, first_citation_map
from sgi.metrics.grounding.evidence_map import EvidenceMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Sample

_UNSUPPORTED = frozenset({"unsupported", "contradicted"})


@dataclass(frozen=True)
class GroundingReport(NotebookRepr):
    """The grounding of one response, and the evidence for each sentence.

    A notebook shows it as the evidence map: the sentences with their unsupported words marked, the checked
    facts, and the similarity of each sentence to each passage.

    Attributes:
        value: ``grounding`` in [0, 1], higher = better supported; None without a value.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value.
        evidence: the evidence map; None without a value.
        citations: the verdicts on the citations of the response; None if they were not checked.
    """

    response: str
    contexts: tuple[str, ...]
    value: float | None
    status: str
    reason: str
    evidence: EvidenceMap | None
    citations: CitationMap | None = None

    __repr__ = short_repr

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The sentences that are unsupported or contradicted."""
        return () if self.evidence is None else unsupported_sentences(self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        evidence = None if self.evidence is None else self.evidence.model_dump(mode="json")
        citations = None if self.citations is None else self.citations.model_dump(mode="json")
        return asdict(self) | {"evidence": evidence, "citations": citations}

    def __str__(self) -> str:
        if self.value is None or self.evidence is None:
            return f"grounding has no value: {self.reason}"
        bad_sentences = [each for each in self.evidence.sentences if each.verdict in _UNSUPPORTED]
        lines = [f"grounding {self.value:.2f} (0 to 1, not a probability)"]
        lines += [f"  {each.verdict}: {each.text}" for each in bad_sentences]
        citations = () if self.citations is None else self.citations.citations
        bad = [each for each in citations if each.verdict in {"wrong", "needless", "invalid"}]
        return "\n".join([*lines, *(f"  {each.verdict} citation: {each.text}" for each in bad)])


def unsupported_sentences(evidence: EvidenceMap) -> tuple[str, ...]:
    """Return the sentences of a response that are unsupported or contradicted."""
    return tuple(each.text for each in evidence.sentences if each.verdict in _UNSUPPORTED)


def grounding_report(
    sample: Sample, scores: Scores, row: int, others: Iterable[Scores] = ()
) -> GroundingReport:
    """Return the grounding report of a scored row.

    Args:
        sample: the row.
        scores: the scores of ``grounding``, calibrated or not.
        row: index of the row in the scores.
        others: the scores of other metrics; the first citation map is part of the report.
    """
    known = scores.status[row] == Status.OK.value
    return GroundingReport(
        response=sample.response,
        contexts=sample.contexts,
        value=float(scores.values[row]) if known else None,
        status=str(scores.status[row]),
        reason=scores.reasons[row],
        evidence=EvidenceMap.read(scores.details[row]),
        citations=first_citation_map(other.details[row] for other in others),
    )
