"""Phoenix evals: an evaluator that scores the rows of a dataframe with metrics of SGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pydantic import BaseModel, ConfigDict

from sgi.integrations.adapter import HostScorer, explain
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.phoenix", "phoenix"):
    from phoenix.evals import Evaluator, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.engine.open_resources import ModelKeywords
    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import AnyMetric


class Row(BaseModel):
    """Any columns; SGI recognises their names."""

    model_config = ConfigDict(extra="allow")


class SgiEvaluator(Evaluator):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a row with some metrics; gives one score for each, with the name of the metric.

    ``label`` is the status. A row without a value has no ``score``, and its ``explanation`` has status and
    reason. The ``explanation`` of a value has the sentences that `grounding` doubts. A bad row raises no
    exception, which Phoenix would retry.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        name: the name of the evaluator.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: a metric or an option is invalid.
    """

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric] = "grounding",
        embedder: EmbedderLike | None = None,
        *,
        name: str = "sgi",
        **options: Unpack[ModelKeywords],
    ) -> None:
        super().__init__(name=name, kind="code", input_schema=Row)
        self._scorer = HostScorer(metrics, embedder, parts={"row": "row"}, **options)

    def _evaluate(self, eval_input: Mapping[str, Any]) -> list[Score]:
        """Score a row; an asynchronous evaluation calls it in a thread."""
        return [
            Score(
                name=name,
                score=score.value,
                label=score.status.value,
                explanation=explain(score) or None,
                kind="code",
                direction="maximize" if self._scorer.specs[name].higher_is_better else "minimize",
            )
            for name, score in self._scorer.score(row=eval_input).items()
        ]
