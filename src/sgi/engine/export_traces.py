"""Export the scores of a stored run to the tracing tool that its rows came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.engine.export import exported_batches
from sgi.engine.run_recorder import require_texts
from sgi.engine.summarise import class_keys
from sgi.io.trace_scores import (
    TraceFormat,
    TraceScore,
    evaluation_span,
    langfuse_score,
    otlp_request,
    phoenix_annotation,
)
from sgi.io.write import check_target, json_line, open_writer, write_chunks
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import is_judged
from sgi.kernel.metric import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.trace_scores import EvaluationSpan
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.stored_batches import StoredBatch

_NEEDED = {
    TraceFormat.OTEL: "a trace_id of OpenTelemetry, which has 32 hexadecimal digits",
    TraceFormat.PHOENIX: "a span_id",
    TraceFormat.LANGFUSE: "a trace_id",
}


class TraceExport:
    """The scores of a run in the form of a tracing tool.

    Attributes:
        rows: the number of exported rows so far.
        left_out: the number of rows so far without the trace id or span id that the format requires.

    Raises UsageError if the run stores no metadata, or if at the end no row was exported.
    """

    def __init__(self, database: Database, record: RunRecord, format: TraceFormat) -> None:  # noqa: A002
        require_texts(record, f"`format={format.value}`")
        self._database = database
        self._record = record
        self._format = format
        self.rows = 0
        self.left_out = 0

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the JSON objects of each batch: OTLP requests, Phoenix annotations or Langfuse scores."""
        if self._format is TraceFormat.OTEL:
            yield from ([otlp_request(spans)] for spans in self.spans() if spans)
            return
        convert = phoenix_annotation if self._format is TraceFormat.PHOENIX else langfuse_score
        for rows in self._scores():
            converted = [[item for score in row if (item := convert(score)) is not None] for row in rows]
            self._count(sum(map(bool, converted)), len(rows))
            yield [item for row in converted for item in row]
        self._require_rows()

    def spans(self) -> Iterator[list[EvaluationSpan]]:
        """Yield the OpenTelemetry spans of each batch, one for each row."""
        for rows in self._scores():
            spans = [span for row in rows if (span := evaluation_span(row)) is not None]
            self._count(len(spans), len(rows))
            yield spans
        self._require_rows()

    def _scores(self) -> Iterator[list[list[TraceScore]]]:
        """Yield the scores of each row, batch by batch."""
        for stored in exported_batches(self._database, self._record, inputs=False):
            yield list(_trace_scores(stored, self._record))

    def write(self, path: Path) -> None:
        """Write the scores to a file: JSON lines; for Phoenix also CSV or Parquet.

        Raises UsageError if the format has no such file.
        """
        suffix = check_target(path)
        if suffix == ".jsonl":
            write_chunks(path, (b"".join(map(json_line, batch)) for batch in self.batches()))
            return
        if self._format is not TraceFormat.PHOENIX:
            raise UsageError(f"The format {self._format} writes JSON lines.", hint="Name a .jsonl file.")
        with open_writer(path) as writer:
            for batch in self.batches():
                writer.write(batch)

    def _require_rows(self) -> None:
        if not self.rows:
            message = f"No row of the run {self._record.label} has {_NEEDED[self._format]}."
            raise UsageError(message, hint="Score a file of traces, or rows that have this column.")

    def _count(self, exported: int, rows: int) -> None:
        self.rows += exported
        self.left_out += rows - exported


def _trace_scores(stored: StoredBatch, record: RunRecord) -> Iterator[list[TraceScore]]:
    keys = class_keys(stored.scores)
    for row, sample in enumerate(stored.batch.samples):
        yield [
            TraceScore(
                run=record.id,
                row=sample.id,
                **_trace_ids(sample),
                metric=metric,
                value=float(scores.values[row]) if scores.status[row] == Status.OK else None,
                status=str(scores.status[row]),
                reason=scores.reasons[row],
                category=_category(scores.details[row], keys.get(metric, "")),
                judged=is_judged(metric),
                time=record.created_at,
            )
            for metric, scores in stored.scores.items()
        ]


def _trace_ids(sample: Sample) -> dict[str, str]:
    values = {name: sample.metadata.get(name) for name in ("trace_id", "span_id", "service")}
    return {name: value if isinstance(value, str) else "" for name, value in values.items()}


def _category(details: Mapping[str, Any], key: str) -> str:
    value = details.get(key) if key else None
    return "" if value is None else str(value)
