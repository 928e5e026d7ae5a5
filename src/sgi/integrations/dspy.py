"""DSPy: a metric for optimizers, and an `Evaluate` whose mean leaves out examples without a value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.adapter import HostScorer, average, describe, explain
from sgi.kernel.errors import SgiError, require_extra

with require_extra("sgi.integrations.dspy", "dspy"):
    import dspy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.engine.open_resources import ModelKeywords
    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.metric import AnyMetric

_PARTS = {"inputs": "question", "prediction": "response", "labels": "reference"}


class NoScoreError(SgiError):
    """An example has no value; the message has status and reason."""


class SgiMetric:
    """A metric of DSPy: returns ``dspy.Prediction(score, feedback)``.

    DSPy has no absent score. An example without a value raises `NoScoreError`, because every number would
    count as a result. `SgiEvaluate` leaves such examples out; DSPy itself logs the error and counts its
    ``failure_score``, which is 0 unless you set it.

    Args:
        metric: a metric or its name.
        embedder: a name, a folder or an embedder; None for the bundled model.
        minimum: if given, an optimizer that collects demonstrations accepts only examples with at least this
            value; without it, every example with a value is accepted.
        columns: field → its place in ``inputs``, ``prediction`` or ``labels``, such as
            ``{"contexts": "prediction.hits"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: the metric or an option is invalid.
    """

    def __init__(
        self,
        metric: str | AnyMetric = "grounding",
        embedder: EmbedderLike | None = None,
        *,
        minimum: float | None = None,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[ModelKeywords],
    ) -> None:
        self._host = HostScorer(metric, embedder, parts=_PARTS, columns=columns, **options)
        self._minimum = minimum
        self.__name__ = self._host.only_metric()

    def __call__(
        self, gold: Any, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        """Score a prediction; with a trace and ``minimum``, return whether it is good enough.

        Raises:
            NoScoreError: the example has no value.
        """
        del pred_trace
        (score,) = self._host.score(inputs=gold.inputs(), prediction=pred, labels=gold.labels()).values()
        if score.value is None:
            raise NoScoreError(describe(score))
        if trace is not None and pred_name is None and self._minimum is not None:
            return score.value >= self._minimum
        return dspy.Prediction(score=score.value, feedback=explain(score))


class SgiEvaluate(dspy.Evaluate):  # type: ignore[misc]  # the base has no types where we check ours
    """`dspy.Evaluate` whose mean leaves out examples without a value, and says how many these are.

    In ``results``, an example without a value has the score NaN, with the reason as feedback. ``score`` is
    100 × the mean over the examples with a value, as `sgi.evaluate` computes the mean, or NaN if there is
    none. ``coverage`` is the share of examples with a value. A program that raises an exception also counts
    as an example without a value. Tables and files have the feedback as a column.
    """

    def __init__(self, *, failure_score: float = math.nan, **options: Any) -> None:
        super().__init__(failure_score=failure_score, **options)

    def __call__(self, program: Any, metric: Any = None, **options: Any) -> Any:
        """Evaluate a program, with the arguments of `dspy.Evaluate`."""
        scoring = self.metric if metric is None else metric

        def score(example: Any, prediction: Any) -> Any:
            try:
                return scoring(example, prediction)
            except NoScoreError as error:
                return dspy.Prediction(score=math.nan, feedback=str(error))

        score.__name__ = getattr(scoring, "__name__", type(scoring).__name__)
        result = super().__call__(program, metric=score, **options)
        averaged = average(score.__name__, [_value(row[2]) for row in result.results])
        result.score = math.nan if averaged.mean is None else 100 * averaged.mean
        result.coverage = averaged.coverage
        return result

    @staticmethod
    def _prepare_results_output(results: Any, metric_name: str) -> list[dict[str, Any]]:
        numbers = [(*row[:2], _value(row[2])) for row in results]
        rows: list[dict[str, Any]] = dspy.Evaluate._prepare_results_output(numbers, metric_name)  # noqa: SLF001
        return [
            {**row, f"{metric_name}_feedback": getattr(score, "feedback", "")}
            for row, (_, _, score) in zip(rows, results, strict=True)
        ]


def _value(score: Any) -> float | None:
    return None if math.isnan(float(score)) else float(score)
