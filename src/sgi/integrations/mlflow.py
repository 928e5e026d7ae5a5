"""MLflow: a scorer for ``mlflow.genai.evaluate``, and the upload of a stored run."""

from __future__ import annotations

import re
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, PrivateAttr

from sgi.integrations.adapter import HostScorer, describe, explain
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.mlflow", "mlflow"):
    import mlflow
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback
    from mlflow.genai.scorers import Scorer
    from mlflow.genai.utils.trace_utils import extract_retrieval_context_from_trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.engine.run import Run
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric import Score

_PARTS = {"inputs": "question", "outputs": "response", "expectations": "reference", "trace": ""}


class SgiScorer(Scorer):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a row: one feedback for each metric, and one with its coverage.

    The feedback of a row without a value has an error with status and reason, and no value, so no mean counts
    it. The feedback ``METRIC.coverage`` is 1 for a row with a value and 0 for one without, so its mean is the
    share of rows with a value. If ``outputs`` and ``inputs`` hold no passages, the passages of the retriever
    spans of the trace are used.

    Attributes:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``inputs``, ``outputs`` or ``expectations``, such as
            ``{"contexts": "outputs.documents"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = "sgi"
    metrics: Any = "grounding"
    embedder: Any = None
    columns: dict[str, str] | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    _host: HostScorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the configuration, and open the models."""
        super().model_post_init(context)
        self._host = HostScorer(
            self.metrics, self.embedder, parts=_PARTS, columns=self.columns, **self.options
        )

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None
    ) -> list[Feedback]:
        """Return the feedback of one row."""
        retrieved = [*chain.from_iterable(extract_retrieval_context_from_trace(trace).values())]
        scores = self._host.score(
            inputs=inputs,
            outputs=outputs,
            expectations=expectations,
            trace={"contexts": retrieved} if retrieved else None,
        )
        return [feedback for name, score in scores.items() for feedback in _feedback(name, score)]


def _feedback(metric: str, score: Score) -> tuple[Feedback, Feedback]:
    name = metric_name(metric)
    source = AssessmentSource(source_type="CODE", source_id=f"sgi {metric}")
    error = None
    if score.value is None:
        error = AssessmentError(error_code=score.status.value.upper(), error_message=describe(score))
    return (
        Feedback(name=name, value=score.value, error=error, source=source, rationale=explain(score) or None),
        Feedback(name=f"{name}.coverage", value=float(score.value is not None), source=source),
    )


def metric_name(metric: str) -> str:
    """Return a metric's canonical string with the characters that MLflow allows in names.

    >>> metric_name('rouge_l(beta=2.0)')
    'rouge_l beta:2.0'
    """
    return re.sub(r"[^\w\-./: ]+", " ", metric.replace("=", ":")).strip()


def log_run(run: Run, *, experiment: str | None = None) -> str:
    """Log a stored run as a finished MLflow run; return the id of the MLflow run.

    The metrics are mean, coverage, the ends of the 95 % interval and the number of rows with each status. A
    metric without a value in any row has no mean. Settings are parameters; signature and ids are tags. The
    artefacts are the summary, all scores, and the report in HTML.

    Args:
        run: a run of `sgi.open_run` or `sgi.run`.
        experiment: the name of the experiment; None for the active one.
    """
    from sgi.engine.export import export
    from sgi.reporting.render import ReportOptions, render_report
    from sgi.store.database import open_database

    summary, record = run.summary(), run.record
    experiment_id = None if experiment is None else mlflow.set_experiment(experiment).experiment_id
    with (
        mlflow.start_run(experiment_id=experiment_id, run_name=run.name) as logged,
        tempfile.TemporaryDirectory() as folder,
    ):
        mlflow.set_tags({"sgi.run": record.id, "sgi.signature": run.signature, "sgi.data": record.dataset})
        mlflow.log_params({"data": record.dataset_name, "metrics": ", ".join(record.metrics)})
        mlflow.log_metrics({"rows": summary.rows, "rejected": record.rejected})
        for metric in summary.metrics:
            mlflow.log_metrics(dict(_numbers(metric)))
        mlflow.log_dict(summary.to_dict(), "summary.json")
        mlflow.log_text(f"{summary}\n", "summary.txt")
        report = Path(folder) / "report.html"
        with open_database(run.db, create=False) as database:
            render_report(database, [record], "html", ReportOptions(), report)
            export(database, record, report.with_name("scores.jsonl"))
        mlflow.log_artifacts(folder)
    return str(logged.info.run_id)


def _numbers(metric: MetricSummary) -> Mapping[str, float]:
    name = metric_name(metric.metric)
    numbers = {f"{name}/coverage": metric.coverage}
    numbers |= {f"{name}/{status.value}": float(rows) for status, rows in metric.counts.items()}
    if metric.mean is not None:
        numbers[f"{name}/mean"] = metric.mean
    if metric.interval is not None:
        numbers |= {f"{name}/low": metric.interval.low, f"{name}/high": metric.interval.high}
    return numbers
