"""Upload the scores of a stored run to Langfuse, to the traces that the rows came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from langfuse import get_client
from langfuse.api import CreateScoreBatchResults, CreateScoreRequest
from langfuse.api.core import ApiError

from sgi.integrations.upload import UploadError, open_export, upload
from sgi.io.trace_scores.score import TraceFormat

if TYPE_CHECKING:
    from pathlib import Path

    from langfuse import Langfuse

    from sgi.analysis.stored_run import StoredRun
    from sgi.integrations.upload import Upload

_MAX_SHOWN = 300
_NAMES = {"traceId": "trace_id", "observationId": "observation_id", "dataType": "data_type"}


def upload_scores(
    run: str | StoredRun = "last", client: Langfuse | None = None, *, db: str | Path | None = None
) -> Upload:
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
        UsageError: no row has the id of a trace.
    """
    scores = (client or get_client()).api.scores

    def send(rows: list[dict[str, Any]]) -> None:
        try:
            answer = scores.create(request=[_request(row) for row in rows])
        except ApiError as error:
            raise UploadError("Langfuse", f"status {error.status_code}") from None
        except httpx.HTTPError as error:
            raise UploadError("Langfuse", f"{type(error).__name__}, no answer") from None
        if isinstance(answer, CreateScoreBatchResults) and answer.rejected:
            problems = "; ".join(str(each.message) for each in answer.errors)[:_MAX_SHOWN]
            raise UploadError("Langfuse", f"{answer.rejected} were rejected: {problems}")

    with open_export(run, TraceFormat.LANGFUSE, db) as export:
        return upload(export, send)


def _request(row: dict[str, Any]) -> CreateScoreRequest:
    return CreateScoreRequest(**{_NAMES.get(name, name): value for name, value in row.items()})
