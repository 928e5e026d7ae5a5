"""The grounding of one response, with the evidence map behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.engine.notebook_repr import NotebookRepr
from sgi.kernel.metric import Status
from sgi.kernel.short_repr import short_repr
from sgi.metrics.grounding.evidence_map import EvidenceMap, evidence_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.engine.resources import EmbedderLike
    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Sample

_DOUBTFUL = 0.5


@dataclass(frozen=True)
class GroundingReport(NotebookRepr):
    """One response beside its passages: its grounding, and what each sentence rests on.

    In a notebook it is shown as the evidence map: the sentences with their unsupported words marked, the
    facts that were checked, and the similarity of each sentence to each passage.

    Attributes:
        response: the text.
        contexts: its passages.
        value: the value of ``grounding`` in [0, 1], higher = better supported; None where there is none.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty where there is one.
        evidence: the evidence map; None without a value.
    """

    response: str
    contexts: tuple[str, ...]
    value: float | None
    status: str
    reason: str
    evidence: EvidenceMap | None

    __repr__ = short_repr

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The sentences with a score below 0.5."""
        sentences = self.evidence.sentences if self.evidence is not None else ()
        return tuple(made.text for made in sentences if made.score is not None and made.score < _DOUBTFUL)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        evidence = None if self.evidence is None else self.evidence.model_dump(mode="json")
        return asdict(self) | {"evidence": evidence}

    def __str__(self) -> str:
        if self.value is None or self.evidence is None:
            return f"grounding has no value: {self.reason}"
        of = len(self.evidence.sentences)
        lines = [f"grounding {self.value:.2f}: {len(self.doubtful)} of {of} sentences are doubtful"]
        return "\n".join([*lines, *(f"  doubtful: {text}" for text in self.doubtful)])


def evidence_map(
    response: str,
    contexts: str | Sequence[str],
    *,
    question: str = "",
    embedder: EmbedderLike | None = None,
    nli: str = "",
) -> GroundingReport:
    """Is every sentence of a response supported by its passages? The Python side of ``sgi check``.

    Args:
        response: the response.
        contexts: the passages, or one passage.
        question: the question, where there is one.
        embedder: a name, a folder or an embedder; None for the embedded model.
        nli: an entailment model that reads sentences and passages too: a folder or ``owner/model``.

    >>> report = evidence_map("The tower is 312 m tall.", "The tower is 330 m tall.")
    >>> report.doubtful, report.evidence.sentences[0].checks[0].verdict
    (('The tower is 312 m tall.',), 'contradicted')
    """
    from sgi.engine.evaluate import evaluate
    from sgi.kernel.sample import Sample
    from sgi.metrics.grounding.detector import Grounding

    passages = (contexts,) if isinstance(contexts, str) else tuple(contexts)
    sample = Sample(id="response", question=question, contexts=passages, response=response)
    metric = Grounding(nli)
    scores = evaluate([sample], metric, embedder, max_failures=1.0)[metric.canonical]
    return grounding_report(sample, scores, 0)


def grounding_report(sample: Sample, scores: Scores, row: int) -> GroundingReport:
    """The report of a row that ``grounding`` scored.

    Args:
        sample: the row.
        scores: of ``grounding``, or of a calibrated ``grounding``.
        row: its place among the scores.
    """
    known = scores.status[row] == Status.OK.value
    return GroundingReport(
        response=sample.response,
        contexts=sample.contexts,
        value=float(scores.values[row]) if known else None,
        status=str(scores.status[row]),
        reason=scores.reasons[row],
        evidence=evidence_in(scores.details[row]),
    )
