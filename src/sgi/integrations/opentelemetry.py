"""Send the scores of a stored run as OpenTelemetry spans, children of the spans that the rows came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.engine.export_traces import TraceExport
from sgi.integrations.upload import UploadError, upload
from sgi.io.trace_scores import EVENT, SCOPE, SPAN_NAME, TraceFormat
from sgi.kernel.errors import require_extra
from sgi.kernel.signature import package_version

with require_extra("sgi.integrations.opentelemetry", "opentelemetry"):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, TraceFlags

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from sgi.analysis.given_runs import Db, RunLike
    from sgi.integrations.upload import Upload
    from sgi.io.trace_scores import EvaluationSpan

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def upload_scores(run: RunLike = "last", exporter: SpanExporter | None = None, *, db: Db = None) -> Upload:
    """Send the scores of a stored run: one span for each row, with an event for each metric.

    The event is ``gen_ai.evaluation.result``. The rows need a ``trace_id``, as rows from traces have. A row
    without a value has its status as the label and its reason as the explanation, and no score. A repeated
    upload sends spans with the same ids.

    Args:
        run: the run, or its name or id.
        exporter: an exporter; None makes an OTLP/HTTP exporter from the variables ``OTEL_EXPORTER_OTLP_…``.
        db: the database of a run given by name.

    Raises:
        UploadError: the exporter reports a failure, which it logs.
        UsageError: no row has the id of a trace.
    """
    target = exporter or OTLPSpanExporter()

    def send(spans: list[EvaluationSpan]) -> None:
        if target.export([_readable(span) for span in spans]) is not SpanExportResult.SUCCESS:
            raise UploadError("The OpenTelemetry exporter", "the exporter reports a failure; see its log")

    return upload(run, db, TraceFormat.OTEL, TraceExport.spans, send)


def _readable(span: EvaluationSpan) -> ReadableSpan:
    return ReadableSpan(
        SPAN_NAME,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=Resource({"service.name": span.service or SCOPE}),
        attributes=span.attributes,
        events=[Event(EVENT, event, span.time) for event in span.events],
        start_time=span.time,
        end_time=span.time,
        instrumentation_scope=InstrumentationScope(SCOPE, package_version()),
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)
