"""Langfuse: an evaluator for experiments, and the upload of the scores of a stored run to its traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sgi.engine.export_traces import TraceExport
from sgi.integrations.adapter import HostEvaluator, average, explain
from sgi.integrations.upload import UploadError, upload
from sgi.io.trace_scores import TraceFormat
from sgi.kernel.errors import UsageError, require_extra

with require_extra("sgi.integrations.langfuse", "langfuse"):
    import httpx
    from langfuse import Evaluation, get_client
    from langfuse.api import CreateScoreBatchResults, CreateScoreRequest
    from langfuse.api.core import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langfuse import Langfuse

    from sgi.analysis.given_runs import Db, RunLike
    from sgi.integrations.upload import Upload
    from sgi.kernel.metric import Score

_NAMES = {"traceId": "trace_id", "observationId": "observation_id", "dataType": "data_type"}


class SgiEvaluator(HostEvaluator):
    """Evaluator of Langfuse experiments: the numeric evaluation ``METRIC`` for an item with a value.

    An item without a value has no number: it has the categorical evaluation ``METRIC.status`` with the value
    ``undefined``, ``missing`` or ``failed``, and the reason as its comment. `summary` is the evaluator of the
    whole experiment.

    Args:
        metrics: names or metrics, as for `sgi.evaluate`.
        embedder: a name, a folder or an embedder; None for the bundled model.
        columns: field → its place in ``input``, ``output``, ``expected_output`` or ``metadata``, such as
            ``{"contexts": "output.hits"}``, for the fields that are not found by their usual names.
        options: further arguments of `sgi.Scorer`, such as ``judge``.
    """

    __name__ = "sgi"  # Langfuse names the evaluator so in its log
    parts: ClassVar = {
        "input": "question",
        "output": "response",
        "expected_output": "reference",
        "metadata": "",
    }

    async def __call__(
        self,
        *,
        input: Any,  # noqa: A002 - Langfuse passes these names
        output: Any,
        expected_output: Any = None,
        metadata: Any = None,
        **_: Any,
    ) -> list[Evaluation]:
        """Score one item of an experiment."""
        scores = await self._host.ascore(
            input=input, output=output, expected_output=expected_output, metadata=metadata
        )
        return [_evaluation(name, score) for name, score in scores.items()]

    def summary(self, *, item_results: Sequence[Any], **_: Any) -> list[Evaluation]:
        """Return ``METRIC.mean`` and ``METRIC.coverage`` of an experiment; pass it in ``run_evaluators``.

        The coverage is the share of items with a value. Without a value there is no mean.
        """
        rows = [{each.name: each.value for each in item.evaluations} for item in item_results]
        evaluations = []
        for name in self._host.metrics:
            averaged = average(name, [row.get(name) for row in rows])
            numbers = {"mean": averaged.mean, "coverage": averaged.coverage}
            evaluations += [
                Evaluation(name=f"{name}.{kind}", value=number, comment=str(averaged))
                for kind, number in numbers.items()
                if number is not None
            ]
        return evaluations


def _evaluation(name: str, score: Score) -> Evaluation:
    if score.value is not None:
        return Evaluation(name=name, value=score.value, comment=explain(score) or None)
    status = score.status.value
    return Evaluation(name=f"{name}.status", value=status, comment=score.reason, data_type="CATEGORICAL")


def upload_scores(run: RunLike = "last", client: Langfuse | None = None, *, db: Db = None) -> Upload:
    """Upload the scores of a stored run to the traces, and to their observations where these are known.

    The rows need a ``trace_id``, as rows from traces have; a ``span_id`` is the observation. A row without a
    value gives the categorical score ``METRIC.status`` with the reason as its comment, and no number. A
    repeated upload replaces the scores.

    Langfuse's ``create_score`` only logs rejected scores, so this function calls the scores API directly.

    Args:
        run: the run, or its name or id.
        client: a client; None takes the one of ``langfuse.get_client``.
        db: the database of a run given by name.

    Raises:
        UploadError: Langfuse rejected scores, or did not answer.
        UsageError: no row has the id of a trace, or the client has no keys.
    """
    try:
        scores = (client or get_client()).api.scores
    except AttributeError:  # Langfuse raises it for a client without keys
        hint = "Set LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL, or pass a client."
        raise UsageError("The client of Langfuse has no keys.", hint=hint) from None

    def send(rows: list[dict[str, Any]]) -> None:
        try:
            answer = scores.create(request=[_request(row) for row in rows])
        except ApiError as error:
            raise UploadError("Langfuse", f"status {error.status_code}") from None
        except httpx.HTTPError as error:
            raise UploadError("Langfuse", f"{type(error).__name__}, no answer") from None
        if isinstance(answer, CreateScoreBatchResults) and answer.rejected:
            problems = "; ".join(str(each.message) for each in answer.errors)
            raise UploadError("Langfuse", f"{answer.rejected} were rejected: {problems}")

    return upload(run, db, TraceFormat.LANGFUSE, TraceExport.batches, send)


def _request(row: dict[str, Any]) -> CreateScoreRequest:
    return CreateScoreRequest(**{_NAMES.get(name, name): value for name, value in row.items()})
