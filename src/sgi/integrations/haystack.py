"""Haystack: components that score the rows of an evaluation, and the answers of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgi.integrations.adapter import HostScorer, average, explain, nan_if_none
from sgi.kernel.errors import UsageError, require_extra
from sgi.kernel.metric import Status

with require_extra("sgi.integrations.haystack", "haystack"):
    from haystack import Document, GeneratedAnswer, component

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.metric import Score

_LISTS = {
    "questions": "question",
    "contexts": "contexts",
    "predicted_answers": "response",
    "ground_truth_answers": "reference",
}
_ANSWER = {"query": "question", "documents": "contexts", "data": "response"}


@component
class SgiEvaluator:
    """Scores rows with one metric; the outputs go into `EvaluationRunResult`.

    A row without a value has the score NaN; ``statuses`` and ``reasons`` say why. ``score`` is the mean over
    the rows with a value, NaN without any, and ``coverage`` is the share of these rows. To load a saved
    pipeline, `Pipeline.loads` needs ``allowed_modules=["sgi.integrations.haystack"]``.

    Args:
        metric: a name such as ``"rouge_l(beta=2)"``.
        embedder: a name or a folder; None for the bundled model.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: the metric or an option is invalid.
    """

    def __init__(
        self, metric: str = "grounding", embedder: str | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self._scorer = HostScorer(metric, embedder, parts=_LISTS, **(options or {}))
        self.metric, self.embedder, self.options = self._scorer.only_metric(), embedder, options

    @component.output_types(  # type: ignore[untyped-decorator]  # it has no types where we check ours
        score=float, individual_scores=list[float], coverage=float, statuses=list[str], reasons=list[str]
    )
    def run(
        self,
        questions: list[str] | None = None,
        contexts: list[list[str]] | list[list[Document]] | None = None,
        predicted_answers: list[str] | None = None,
        ground_truth_answers: list[str] | list[list[str]] | None = None,
    ) -> dict[str, Any]:
        """Score the rows. Each list has one item for each row; an item that is None is not given.

        Raises:
            UsageError: the lists differ in length.
        """
        lists = dict(zip(_LISTS, (questions, contexts, predicted_answers, ground_truth_answers), strict=True))
        scores = [row[self.metric] for row in self._scorer.score_many(_rows(lists))]
        values = [score.value for score in scores]
        statuses = [score.status.value for score in scores]
        averaged = average(self.metric, values)
        return {
            "score": nan_if_none(averaged.mean),
            "individual_scores": [nan_if_none(value) for value in values],
            "coverage": nan_if_none(averaged.coverage),
            "statuses": statuses,
            "reasons": [score.reason for score in scores],
        }


@component
class SgiAnswerScorer:
    """Scores the answers of an `AnswerBuilder`; each gets ``meta["sgi"]`` with its scores.

    ``meta["sgi"]`` has ``value``, ``status`` and ``explanation`` for each metric. The value is None unless
    the status is ``ok``. The explanation has status and reason, or the sentences that `grounding` doubts. The
    arguments are as in `SgiEvaluator`, with several metrics.
    """

    def __init__(
        self,
        metrics: list[str] | None = None,
        embedder: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.metrics, self.embedder, self.options = metrics, embedder, options
        self._scorer = HostScorer(metrics or ["grounding"], embedder, parts=_ANSWER, **(options or {}))

    @component.output_types(  # type: ignore[untyped-decorator]  # as above
        answers=list[GeneratedAnswer]
    )
    def run(self, answers: list[GeneratedAnswer]) -> dict[str, Any]:
        """Return the answers with their scores."""
        rows = [{name: getattr(answer, name) for name in _ANSWER} for answer in answers]
        scored = zip(answers, self._scorer.score_many(rows), strict=True)
        return {"answers": [_with_scores(answer, scores) for answer, scores in scored]}


def with_coverage(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Add the coverage of each `SgiEvaluator` to the results of an evaluation pipeline.

    Args:
        results: the outputs by component, as for `EvaluationRunResult`.

    Returns:
        The results, and for each component of SGI ``NAME.coverage``: the share of rows with a value, and 1 or
        0 for each row. So the reports of Haystack show the coverage beside the mean.
    """
    shown: dict[str, Mapping[str, Any]] = {}
    for name, outputs in results.items():
        shown[name] = outputs
        if "coverage" in outputs:
            scored = [float(status == Status.OK.value) for status in outputs["statuses"]]
            shown[f"{name}.coverage"] = {"score": outputs["coverage"], "individual_scores": scored}
    return shown


def _rows(lists: Mapping[str, Sequence[Any] | None]) -> list[dict[str, Any]]:
    given = {name: items for name, items in lists.items() if items is not None}
    if len({len(items) for items in given.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(items)}" for name, items in given.items())
        raise UsageError(f"The lists differ in length: {sizes}.")
    return [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]


def _with_scores(answer: GeneratedAnswer, scores: Mapping[str, Score]) -> GeneratedAnswer:
    table = {
        name: {"value": score.value, "status": score.status.value, "explanation": explain(score)}
        for name, score in scores.items()
    }
    return replace(answer, meta={**answer.meta, "sgi": table})
