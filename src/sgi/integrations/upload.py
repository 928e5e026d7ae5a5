"""Shared code of the uploads of scores to tracing tools."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.analysis.stored_run import StoredRun
from sgi.engine.export_traces import TraceExport
from sgi.kernel.errors import SgiError
from sgi.store.bulk_rows import chunks
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sgi.io.trace_scores.score import TraceFormat

CHUNK = 100
"""The number of scores in one request; Langfuse accepts at most 1 MiB."""


class UploadError(SgiError):
    """A tracing tool did not accept all scores; a repeated upload replaces those that it accepted."""

    def __init__(self, tool: str, problem: str) -> None:
        hint = "Upload again when it is solved: scores have stable ids, so none is stored twice."
        super().__init__(f"{tool} did not accept the scores: {problem}.", hint=hint)


@dataclass(frozen=True)
class Upload:
    """The result of an upload.

    Attributes:
        rows: the number of rows whose scores were accepted.
        left_out: the number of rows without a trace or span id that the tool requires.
    """

    rows: int
    left_out: int


@contextmanager
def open_export(
    run: str | StoredRun,
    format: TraceFormat,  # noqa: A002 - the name of the option
    db: str | Path | None,
) -> Iterator[TraceExport]:
    """Context manager that opens the scores of a stored run."""
    name, place = (run.record.id, run.db) if isinstance(run, StoredRun) else (run, db)
    with open_runs(place, name) as (database, (record,)):
        yield TraceExport(database, record, format)


def upload(export: TraceExport, send: Callable[[list[dict[str, Any]]], None]) -> Upload:
    """Send the scores in requests of 100; ``send`` raises UploadError if they are not accepted."""
    for batch in export.batches():
        for some in chunks(batch, CHUNK):
            send(some)
    return Upload(export.rows, export.left_out)
