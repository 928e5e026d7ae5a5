"""Metrics of changed rows: with the reference as the response, or the question as the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sgi.kernel.metric import AnyMetric, MetricSpec, Status
from sgi.kernel.sample import CONTEXTS, QUESTION, REFERENCE, RESPONSE, Batch, Sample
from sgi.metrics.wrapper import MetricWrapper

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Fields


def _reference_as_response(sample: Sample) -> Sample:
    return Sample(
        id=sample.id,
        question=sample.question,
        contexts=sample.contexts,
        response=sample.reference or "",
    )


def _question_as_reference(sample: Sample) -> Sample:
    return Sample(id=sample.id, response=sample.response, reference=sample.question)


class _Change(NamedTuple):
    apply: Callable[[Sample], Sample]
    needs: Fields
    replaced: str
    """The text that is replaced, as the reasons of the metric call it."""
    by: str


_CHANGES = {
    "reference_as_response": _Change(
        _reference_as_response, CONTEXTS | REFERENCE, "the response", "the reference"
    ),
    "question_as_reference": _Change(
        _question_as_reference, RESPONSE | QUESTION, "the reference", "the question"
    ),
}


@dataclass(frozen=True)
class DerivedMetric(MetricWrapper):
    """A metric on rows with a replaced text.

    ``change`` is ``reference_as_response`` or ``question_as_reference``.
    """

    metric: AnyMetric
    change: str
    spec: ClassVar = MetricSpec("derived", 1, needs=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", replace(self.metric.spec, needs=_CHANGES[self.change].needs))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters: the metric, and the change that is made to the rows first."""
        return {"metric": self.metric.canonical, "change": self.change}

    @property
    def inner(self) -> AnyMetric:
        """The metric that scores the changed rows."""
        return self.metric

    def prepare(self, rows: Any, /) -> Any:
        """Change the rows, and prepare them for the metric."""
        return super().prepare(rows.compute_once(_changed, _CHANGES[self.change].apply))

    def convert(self, scores: Scores, _batch: Batch) -> Scores:
        """Return the scores with reasons that name the texts of the row, not those of the changed row."""
        change = _CHANGES[self.change]
        reasons = (
            reason.replace(change.replaced, change.by) if status == Status.UNDEFINED else reason
            for reason, status in zip(scores.reasons, scores.status.tolist(), strict=True)
        )
        return replace(scores, reasons=tuple(reasons))


def _changed(batch: Batch, change: Callable[[Sample], Sample]) -> Batch:
    return Batch.of([change(sample) for sample in batch.samples])
