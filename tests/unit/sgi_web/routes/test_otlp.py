"""The receiver of traces over HTTP, in this process."""

from __future__ import annotations

import gzip
import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sgi.store.evaluations import read_evaluations
from sgi.store.run_queries import list_runs
from sgi_traces.live.receiver import ReceiverSettings
from support.otlp import JSON, PROTOBUF, answered_trace, json_request, request, span, spans_of, trace_id
from support.trace_receiver import counts, is_complete, wait_until_scored
from support.web_server import wait_until


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["protobuf", "json"])
def test_traces_become_rows_of_a_run(serve, kind, packed):
    spans = spans_of(1, 2)
    body = (
        request(spans).SerializeToString() if kind == "protobuf" else json.dumps(json_request(spans)).encode()
    )
    head = dict(PROTOBUF if kind == "protobuf" else JSON)
    if packed:
        body, head["Content-Encoding"] = gzip.compress(body), "gzip"
    with serve() as (client, site):
        response = client.post("/v1/traces", content=body, headers=head)
        assert (response.status_code, response.headers["content-type"]) == (200, head["Content-Type"])
        assert response.content == (b"" if kind == "protobuf" else b"{}")
        wait_until_scored(client, 2)
        assert is_complete(counts(client))
        (run,) = list_runs(site.database)
        rows = read_evaluations(site.database, run.id)
    assert [row.sample.id for row in rows] == [trace_id(number).hex() for number in (1, 2)]
    assert rows[0].sample.question == "When did bridge 1 open?"
    assert rows[0].sample.contexts == ("Bridge 1 opened in 1932.",)
    assert rows[0].sample.response == "It opened in 1932."
    assert rows[0].sample.metadata["service"] == "shop"
    assert rows[0].scores["grounding"].value > 0.5


def test_late_spans_are_rejected_and_counted(serve):
    retrieval, root = answered_trace(1)
    with serve() as (client, _):
        client.post("/v1/traces", content=request([root]).SerializeToString(), headers=PROTOBUF)
        wait_until_scored(client, 1)
        response = client.post(
            "/v1/traces", content=request([retrieval]).SerializeToString(), headers=PROTOBUF
        )
        partial = ExportTraceServiceResponse.FromString(response.content).partial_success
        assert (response.status_code, partial.rejected_spans) == (200, 1)
        assert "after their trace was scored" in partial.error_message
        assert (counts(client)["late"], is_complete(counts(client))) == (1, True)


def test_spans_that_cannot_be_read_are_rejected_alone(serve):
    bad = span(b"short", "bad")
    with serve() as (client, _):
        body = request([*spans_of(1), bad]).SerializeToString()
        response = client.post("/v1/traces", content=body, headers=PROTOBUF)
        assert ExportTraceServiceResponse.FromString(response.content).partial_success.rejected_spans == 1
        bad_json = json_request(spans_of(2))
        bad_json["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"traceId": "zz"})
        response = client.post("/v1/traces", json=bad_json)
        partial = response.json()["partialSuccess"]
        assert partial["rejectedSpans"] == "1"
        assert "traceId" in partial["errorMessage"]
        wait_until_scored(client, 2)
        assert (counts(client)["invalid"], is_complete(counts(client))) == (2, True)


def test_an_invalid_span_of_a_known_trace_counts_once(serve):
    body = json_request(answered_trace(1))
    (spans,) = body["resourceSpans"][0]["scopeSpans"][0].values()
    spans[0]["startTimeUnixNano"] = "noon"
    with serve() as (client, _):
        assert client.post("/v1/traces", json=body).json()["partialSuccess"]["rejectedSpans"] == "1"
        wait_until_scored(client, 1)
        counted = counts(client)
    assert (counted["received"], counted["invalid"], counted["assembled"]) == (2, 1, 1)
    assert is_complete(counted)


def test_a_share_of_the_traces_is_scored_whole(serve):
    spans = spans_of(*range(200))
    with serve(receiver=ReceiverSettings(sample=0.2, quiet=0.3)) as (client, _):
        for part in (spans[::2], spans[1::2]):  # the spans of a trace come apart
            client.post("/v1/traces", content=request(part).SerializeToString(), headers=PROTOBUF)
        wait_until(lambda: counts(client)["waiting"] == 0)
        counted = counts(client)
    assert 20 <= counted["scored"] <= 60
    assert counted["assembled"] == 2 * counted["traces"]
    assert counted["sampled_out"] == 400 - counted["assembled"]


def test_runs_by_service(serve):
    with serve(runs_by="service") as (client, site):
        for number, service in enumerate(["shop", "bank\x1b[31m", "shop"]):
            body = request(spans_of(number), service).SerializeToString()
            client.post("/v1/traces", content=body, headers=PROTOBUF)
        wait_until_scored(client, 3)
        names = {run.name: run.rows for run in list_runs(site.database)}
    assert names == {"traces-shop": 2, "traces-bank�[31m": 1}


def test_no_texts_are_stored(serve, tmp_path):
    with serve(no_texts=True) as (client, site):
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
        wait_until_scored(client, 1)
        (run,) = list_runs(site.database)
        (row,) = read_evaluations(site.database, run.id)
        assert run.no_texts
        assert row.sample.id == trace_id(1).hex()
        assert row.scores["grounding"].value > 0.5
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert stored
    assert not any(text in stored for text in (b"bridge", b"in 1932", b"opened"))


def test_without_texts_a_file_with_texts_is_named(serve, caplog):
    with serve(receiver=ReceiverSettings(quiet=600)) as (client, _):
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
    with serve(no_texts=True) as (client, _):
        assert counts(client)["restored"] == 0
    (record,) = caplog.records
    assert "sgi.db-otlp can have spans with texts" in record.getMessage()


def test_without_texts_the_reasons_quote_none(serve):
    failed = [
        span(trace_id(1), "chain", input__value="Who?"),
        span(trace_id(2), "chain", input__value="Who?", output__value="She."),
    ]
    event = failed[0].events.add(name="exception")
    event.attributes.add(key="exception.message").value.string_value = "no row for SECRET"
    failed[1].attributes.add(key="session.id").value.array_value.values.add().string_value = "SECRET"
    for no_texts in (True, False):
        with serve(no_texts=no_texts) as (client, _):
            client.post("/v1/traces", content=request(failed).SerializeToString(), headers=PROTOBUF)
            wait_until(lambda client=client: counts(client)["traces"] == 2)
            counted = counts(client)
        assert len(counted["unanswered"]) == len(counted["failed"]) == 1
        assert ("SECRET" in str(counted)) != no_texts


def test_a_row_with_very_long_texts_does_not_hold_up_the_others(serve):
    spans = [*spans_of(1), *answered_trace(2, "It opened in 1932. " * 60_000)]
    with serve() as (client, _):
        client.post("/v1/traces", content=request(spans).SerializeToString(), headers=PROTOBUF)
        wait_until(lambda: counts(client)["traces"] == 2)
        counted = counts(client)
    assert counted["scored"] == 1
    assert counted["failed"] == {"the texts of the row have more than 1,000,000 characters": 1}


def test_the_counts_are_exported(serve):
    with serve() as (client, _):
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
        wait_until_scored(client, 1)
        text = client.get("/metrics").text
    assert "sgi_trace_received_spans_total 2.0" in text
    assert 'sgi_trace_spans_total{state="assembled"} 2.0' in text
    assert 'sgi_trace_turns_total{state="scored"} 1.0' in text


def test_the_status_tells_the_last_error_and_the_oldest_trace(serve):
    with serve(receiver=ReceiverSettings(quiet=600)) as (client, _):
        status = client.get("/api/v1/otlp").json()
        assert (status["oldest_seconds"], status["last_error"], status["last_error_at"]) == (None, "", "")
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
        client.post(
            "/v1/traces", content=request([span(b"short", "bad")]).SerializeToString(), headers=PROTOBUF
        )
        status = client.get("/api/v1/otlp").json()
    assert status["oldest_seconds"] >= 0
    assert "traceId" in status["last_error"]
    assert b"short".hex() in status["last_error"]
    assert status["last_error_at"].endswith("+00:00")


def test_a_server_without_the_receiver(client):
    assert client.get("/traces").status_code == 404
    assert "Traces" not in client.get("/").text
    assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 404
    assert client.get("/api/v1/otlp").status_code == 404
