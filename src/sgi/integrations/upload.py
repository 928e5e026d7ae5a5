"""Shared code of the uploads of scores to tracing tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sgi.analysis.given_runs import Db, RunLike, open_given_runs
from sgi.engine.export_traces import TraceExport
from sgi.kernel.errors import SgiError
from sgi.store.bulk_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgi.io.trace_scores import TraceFormat

T = TypeVar("T")

CHUNK = 100
"""The number of scores in one request; Langfuse accepts at most 1 MiB."""

MAX_SHOWN = 300
"""The maximum number of characters of a tool's answer in an error."""


class UploadError(SgiError):
    """A tracing tool did not accept all scores. You can upload again: accepted scores are replaced."""

    def __init__(self, tool: str, problem: str) -> None:
        hint = "Upload again when it is solved: scores have stable ids, so none is stored twice."
        super().__init__(f"{tool} did not accept the scores: {problem[:MAX_SHOWN]}.", hint=hint)


@dataclass(frozen=True)
class Upload:
    """The result of an upload.

    Attributes:
        rows: the number of rows whose scores were accepted.
        left_out: the number of rows without a trace or span id that the tool requires.
    """

    rows: int
    left_out: int


def upload(
    run: RunLike,
    db: Db,
    format: TraceFormat,  # noqa: A002 - the name of the option
    batches: Callable[[TraceExport], Iterator[list[T]]],
    send: Callable[[list[T]], None],
) -> Upload:
    """Send the scores of a stored run in requests of 100.

    Args:
        run: the run, or its name or id.
        db: the database of a run given by name.
        format: the form of the scores.
        batches: returns what ``send`` gets: `TraceExport.batches` or `TraceExport.spans`.
        send: sends one request; raises UploadError if the scores are not accepted.
    """
    with open_given_runs([run], None, db) as (database, (record,)):
        export = TraceExport(database, record, format)
        for batch in batches(export):
            for some in chunks(batch, CHUNK):
                send(some)
        return Upload(export.rows, export.left_out)
