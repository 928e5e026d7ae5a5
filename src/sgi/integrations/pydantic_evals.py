"""pydantic-evals: an evaluator that scores each case with metrics of SGI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.integrations.adapter import HostScorer
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.pydantic_evals", "pydantic-evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import AnyMetric

_PARTS = {"inputs": "question", "output": "response", "expected_output": "reference", "metadata": ""}


@dataclass(repr=False)
class SgiEvaluator(Evaluator[Any, Any, Any]):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a case: the score ``METRIC`` if there is a value, and always the label ``METRIC.status``.

    The averages of a report skip cases without the score. The label is ``ok``, ``undefined``, ``missing`` or
    ``failed``, with its reason, and its average is the coverage: the share of cases with each status.

    Attributes:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``inputs``, ``output``, ``expected_output`` or ``metadata``, such as
            ``{"contexts": "output.documents"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    metrics: str | AnyMetric | Sequence[str | AnyMetric] = "grounding"
    embedder: EmbedderLike | None = None
    columns: Mapping[str, str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._scorer = HostScorer(
            self.metrics, self.embedder, parts=_PARTS, columns=self.columns, **self.options
        )

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, Any]:
        """Return the score and the label of each metric."""
        scores = await self._scorer.ascore(**{name: getattr(ctx, name) for name in _PARTS})
        values = {name: score.value for name, score in scores.items() if score.value is not None}
        return values | {
            f"{name}.status": EvaluationReason(score.status.value, score.reason or None)
            for name, score in scores.items()
        }
