"""Scores one row of a trace, as a row of a growing run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.engine.run_recorder import batch_without_texts
from sgi.kernel.placeholders import placeholder
from sgi.service.records import scores_of_row
from sgi.store.growing_runs import EvaluationRow
from sgi.store.samples import StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.service.scorer import Scorer


@dataclass(frozen=True)
class RowScorer:
    """Scores rows with an open scorer; with ``no_texts``, the results have placeholders in place of texts."""

    scorer: Scorer
    metrics: Sequence[AnyMetric]
    no_texts: bool = False

    async def score(self, sample: Sample) -> EvaluationRow:
        """Score one row; rows of concurrent calls form one batch."""
        scores = await self.scorer.score_batch((sample,), self.metrics)
        resources = self.scorer.resources
        answer = sample.response if "response" in sample.model_fields_set else None
        used = {"truncated": [*scores.truncated], "left_out": dict(scores.failures)}
        sample = sample.model_copy(
            update={"metadata": sample.metadata | {name: value for name, value in used.items() if value}}
        )
        if self.no_texts:
            categories = {metric.canonical: metric.spec.category for metric in self.metrics}
            sample, scores = sample.with_placeholders(), batch_without_texts(scores, categories)
            answer = None if answer is None else placeholder(answer)
        return EvaluationRow(
            sample.with_response(None),
            None if answer is None else StoredAnswer(answer),
            scores_of_row(self.metrics, scores, resources),
            resources.fingerprints,
            resources.judge_identity(self.metrics),
        )
