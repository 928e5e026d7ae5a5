"""Context entity recall: the share of the reference's names, numbers and dates that the passages have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import CONTEXTS, REFERENCE
from sgi.metrics.grounding.check_facts import Check, Verdict, check_facts
from sgi.metrics.grounding.language_tables import AnalysedText
from sgi.text.tokenizers import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features


@closed
class ReferenceFact(TypedDict):
    """A name, number or date of the reference.

    Attributes:
        text: its words.
        kind: ``name``, ``number`` or ``date``.
        passage: the position of the passage that has it, from 1; None if no passage has it.
        found: the words of that passage.
    """

    text: str
    kind: Literal["name", "number", "date"]
    passage: int | None
    found: str


@closed
class EntityRecallDetails(TypedDict, total=False):
    """The facts of the reference, and where they were found.

    Attributes:
        facts: the names, numbers and dates of the reference, each once.
    """

    facts: list[ReferenceFact]


@dataclass(frozen=True)
class ContextEntityRecall(Metric["Batch"]):
    r"""Share of the names, numbers and dates of the reference that the retrieved passages have.

    .. math:: \frac{|\text{facts of the reference that a passage states}|}{|\text{facts of the reference}|}

    In [0, 1]. The facts are extracted and compared as `grounding` does, without a model: numbers also match
    in another unit or format, dates in another format, names without case and accents. Facts with the same
    words count once. With several references, the best one counts. The score is undefined if no reference has
    a name, number or date, and 0 if there are no passages. The details name the passage of each fact.

    Limits: names need capital letters; number words, units and months are English.

    References: Es et al. (2024), "RAGAS", whose context entity recall asks a judge for the entities.

    >>> from sgi.kernel.vectors import Features
    >>> from sgi.kernel.sample import Batch, Sample
    >>> row = Sample(id="1", contexts=("Jane Austen wrote it.",), reference="Jane Austen wrote Emma in 1815.")
    >>> ContextEntityRecall().score(Batch.of([row]), Features.of()).values.tolist()
    [0.3333333333333333]
    """

    spec: ClassVar = MetricSpec(
        "context_entity_recall",
        3,
        needs=CONTEXTS | REFERENCE,
        citation="Es et al. (2024)",
        guide=MetricHelp(
            Question.FOUND,
            "1: the passages have all names, numbers and dates of the reference. 0: none of them.",
            "A row has no value if the reference has no name, number or date.",
        ),
        details=EntityRecallDetails,
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the share of found facts of each row."""
        values = np.zeros(len(batch))
        none = np.zeros(len(batch), dtype=np.bool_)
        details: list[dict[str, JsonValue]] = []
        for row, (contexts, references) in enumerate(zip(batch.contexts, batch.references, strict=True)):
            passages = [AnalysedText.of(text) for text in contexts]
            checked = [facts for text in references if (facts := _check(text, passages))]
            best = max(checked, key=_recall, default=[])
            none[row] = not best
            values[row] = _recall(best) if best else 0.0
            details.append({"facts": [_describe(check) for check in best]} if best else {})
        reason = "the reference has no name, number or date"
        return Scores.of(values, undefined={reason: none}, details=details)


def _check(reference: str, passages: Sequence[str]) -> list[Check]:
    """Check each distinct fact of a reference."""
    checks = (check for sentence in sentences(reference) for check in check_facts(sentence, passages))
    distinct: dict[str, Check] = {}
    for check in checks:
        distinct.setdefault(check.fact.text.casefold(), check)
    return [*distinct.values()]


def _recall(checks: Sequence[Check]) -> float:
    return sum(check.verdict is Verdict.SUPPORTED for check in checks) / len(checks)


def _describe(check: Check) -> dict[str, JsonValue]:
    is_found = check.verdict is Verdict.SUPPORTED
    return {
        "text": check.fact.text,
        "kind": check.fact.kind.value,
        "passage": check.passage + 1 if is_found and check.passage is not None else None,
        "found": check.found if is_found else "",
    }
