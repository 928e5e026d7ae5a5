from __future__ import annotations

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sgi.integrations.opentelemetry import upload_scores
from sgi.integrations.upload import Upload, UploadError
from support.adapter_contract import PageContract
from support.recording_server import RecordingServer
from support.trace_runs import run_of_traces

KEY = "Bearer secret"


class TestOpenTelemetry(PageContract):
    name = "opentelemetry"


@pytest.fixture
def run(tmp_path):
    return run_of_traces(tmp_path)


def exporter_of(server):
    return OTLPSpanExporter(f"{server.url}/v1/traces", headers={"Authorization": KEY}, timeout=2)


def spans_in(body):
    request = ExportTraceServiceRequest.FromString(body)
    return [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]


def plain(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def test_scores_become_events_of_child_spans(run):
    with RecordingServer((200, b"")) as server:
        result = upload_scores(run, exporter_of(server))
    ((path, body),) = server.requests
    assert (path, result) == ("/v1/traces", Upload(rows=3, left_out=1))
    first, _, third = spans_in(body)
    assert (first.trace_id.hex(), first.parent_span_id.hex()) == ("1" * 32, "2" * 16)
    (event,) = first.events
    assert event.name == "gen_ai.evaluation.result"
    assert plain(event.attributes) == {
        "gen_ai.evaluation.name": "squad_em",
        "gen_ai.evaluation.score.label": "ok",
        "gen_ai.evaluation.score.value": 1.0,
    }
    assert plain(third.events[0].attributes) == {
        "gen_ai.evaluation.name": "squad_em",
        "gen_ai.evaluation.score.label": "missing",
        "gen_ai.evaluation.explanation": "the sample has no reference",
    }
    assert plain(third.attributes)["evaluations.0.evaluation.label"] == "missing"


def test_a_second_upload_sends_the_same_spans(run):
    with RecordingServer((200, b"")) as server:
        upload_scores(run, exporter_of(server))
        upload_scores(run, exporter_of(server))
    assert server.requests[0] == server.requests[1]


def test_a_failed_export_is_an_error_without_the_key(run, caplog):
    with RecordingServer((400, b"bad")) as server, pytest.raises(UploadError, match="reports a failure"):
        upload_scores(run, exporter_of(server))
    assert KEY not in caplog.text
