"""LangSmith: an evaluator that scores the runs of an experiment with metrics of SGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sgi.integrations.adapter import HostEvaluator, explain
from sgi.integrations.langchain_rows import run_error, run_row, without_messages
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.langsmith", "langsmith"):
    from langsmith.evaluation import EvaluationResult, RunEvaluator

if TYPE_CHECKING:
    from uuid import UUID

    from langsmith.evaluation import EvaluationResults
    from langsmith.schemas import Example, Run

    from sgi.kernel.metric import Score


class SgiEvaluator(HostEvaluator, RunEvaluator):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a run: the feedback ``METRIC``, and the feedback ``METRIC.coverage``, which is 1 or 0.

    A run without a value has no score in ``METRIC``; its comment has status and reason. The comment of a
    value has the sentences that `grounding` doubts. The mean of ``METRIC.coverage`` is the share of runs with
    a value.

    The fields come from inputs and outputs of the run and from the example. Passages that are not in the
    outputs come from the retrievers in the run.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``inputs``, ``outputs`` or ``reference_outputs``, such as
            ``{"contexts": "outputs.search.hits"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: a metric or an option is invalid.
    """

    # What the outputs and inputs do not have under a known name comes from messages and from child runs.
    parts: ClassVar = {
        "outputs": "response",
        "run_response": "response",
        "reference_outputs": "reference",
        "inputs": "question",
        "run_question": "question",
        "run_contexts": "contexts",
    }

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback."""
        return [key for name in self._host.metrics for key in (name, f"{name}.coverage")]

    def evaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: UUID | None = None,  # noqa: ARG002 - the host's signature
    ) -> EvaluationResults:
        """Score a run; an asynchronous experiment calls it in a thread."""
        row = run_row(run)
        scores = self._host.score(
            outputs=without_messages(run.outputs or {}),
            reference_outputs=None if example is None else example.outputs,
            inputs=without_messages(run.inputs or {}),
            **{f"run_{field}": row[field] for field in ("question", "contexts", "response")},
        )
        results = []
        for name, score in scores.items():
            results += [
                EvaluationResult(key=name, score=score.value, comment=_comment(score, run)),
                EvaluationResult(key=f"{name}.coverage", score=float(score.value is not None)),
            ]
        return {"results": results}


def _comment(score: Score, run: Run) -> str | None:
    error = run_error(run) if score.value is None else None
    return (explain(score) or None) if error is None else f"{explain(score)}. The run failed: {error}"
