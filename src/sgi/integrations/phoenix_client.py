"""Upload the scores of a stored run to Phoenix, as annotations of the spans that the rows came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.engine.export_traces import TraceExport
from sgi.integrations.upload import UploadError, upload
from sgi.io.trace_scores import TraceFormat
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.phoenix_client", "phoenix-client"):
    import httpx
    from phoenix.client import Client

if TYPE_CHECKING:
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.integrations.upload import Upload

_RESULT = ("label", "score", "explanation")


def upload_scores(run: RunLike = "last", client: Client | None = None, *, db: Db = None) -> Upload:
    """Upload the scores of a stored run, as span annotations.

    The rows need a ``span_id``, as rows from traces have. The label of a row without a value is its status,
    and it has no score. A repeated upload replaces the annotations.

    Args:
        run: the run, or its name or id.
        client: a client; None makes one from the environment variables of Phoenix.
        db: the database of a run given by name.

    Raises:
        UploadError: Phoenix rejected annotations, such as those of unknown spans, or did not answer.
        UsageError: no row has a span id.
    """
    spans = (client or Client()).spans

    def send(rows: list[dict[str, Any]]) -> None:
        try:
            spans.log_span_annotations(span_annotations=[_annotation(row) for row in rows], sync=True)
        except httpx.HTTPStatusError as error:
            text = error.response.text.rstrip(".")
            raise UploadError("Phoenix", f"status {error.response.status_code}: {text}") from None
        except httpx.HTTPError as error:
            raise UploadError("Phoenix", f"{type(error).__name__}, no answer") from None

    return upload(run, db, TraceFormat.PHOENIX, TraceExport.batches, send)


def _annotation(row: dict[str, Any]) -> dict[str, Any]:
    result = {name: row[name] for name in _RESULT if row[name] is not None}
    return {name: value for name, value in row.items() if name not in _RESULT} | {"result": result}
