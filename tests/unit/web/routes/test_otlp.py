"""The receiver of traces over HTTP, in this process."""

from __future__ import annotations

import gzip
import json
import socket
from contextlib import closing, contextmanager

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sgi.kernel.errors import StoreError
from sgi.service.traces.open_receiver import TraceOptions, open_receiver
from sgi.service.traces.receiver import ReceiverSettings
from sgi.store.evaluations import read_evaluations
from sgi.store.run_queries import list_runs
from sgi.web.app import create_app
from sgi.web.routes import otlp
from support.otlp import JSON, PROTOBUF, answered_trace, json_request, nested, request, span, trace_id
from support.web_server import open_site, serve_app, wait_until, web_client

MANY_EVENTS = gzip.compress(b"\x13\x14" + nested(1, nested(2, nested(2, b"\x5a\x00" * 2_000_001))))
"""A request with a span of many empty events, after a field that no message has."""
MANY_OBJECTS = gzip.compress(b'{"resourceSpans":[' + b"{}," * 1_000_001 + b"{}]}")
FAST = ReceiverSettings(quiet=0.1, oldest=60.0)


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts a site that receives traces; it yields a client and the site."""

    @contextmanager
    def start(**options):
        settings = {"metrics": ["grounding"], "receiver": FAST} | options
        with (
            open_site(tmp_path) as site,
            closing(open_receiver(site.database, TraceOptions(**settings))) as receiver,
        ):
            site.receiver = receiver
            with web_client(site) as client:
                yield client, site

    return start


def counts(client):
    return client.get("/api/v1/otlp").json()["counts"]


def scored(client, rows):
    wait_until(lambda: counts(client)["scored"] == rows)


def spans_of(*numbers):
    return [part for number in numbers for part in answered_trace(number)]


def is_complete(counted):
    received = counted["received"] + counted["restored"]
    states = ("invalid", "refused", "sampled_out", "late", "waiting", "assembled")
    turns = counted["scored"] + sum(counted["unanswered"].values()) + sum(counted["failed"].values())
    return received == sum(counted[state] for state in states) and counted["turns"] == turns


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
        scored(client, 2)
        assert is_complete(counts(client))
        (run,) = list_runs(site.database)
        rows = read_evaluations(site.database, run.id)
    assert [row.sample.id for row in rows] == [trace_id(number).hex() for number in (1, 2)]
    assert rows[0].sample.question == "When did bridge 1 open?"
    assert rows[0].sample.contexts == ("Bridge 1 opened in 1932.",)
    assert rows[0].sample.response == "It opened in 1932."
    assert rows[0].sample.metadata["service"] == "shop"
    assert rows[0].scores["grounding"].value > 0.5


def test_a_trace_may_come_in_several_requests(serve):
    retrieval, root = answered_trace(1)
    with serve(receiver=ReceiverSettings(quiet=0.4)) as (client, _):
        for part in (root, retrieval):
            client.post("/v1/traces", content=request([part]).SerializeToString(), headers=PROTOBUF)
        scored(client, 1)
        assert counts(client)["traces"] == 1


def test_a_trace_without_a_root_ends_after_some_time(serve):
    retrieval, root = answered_trace(1)
    root.parent_span_id = b"12345678"
    with serve(receiver=ReceiverSettings(quiet=0.1, oldest=1.0)) as (client, _):
        client.post("/v1/traces", content=request([retrieval, root]).SerializeToString(), headers=PROTOBUF)
        scored(client, 1)


def test_late_spans_are_rejected_and_counted(serve):
    retrieval, root = answered_trace(1)
    with serve() as (client, _):
        client.post("/v1/traces", content=request([root]).SerializeToString(), headers=PROTOBUF)
        scored(client, 1)
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
        scored(client, 2)
        assert (counts(client)["invalid"], is_complete(counts(client))) == (2, True)


def test_an_invalid_span_of_a_known_trace_counts_once(serve):
    body = json_request(answered_trace(1))
    (spans,) = body["resourceSpans"][0]["scopeSpans"][0].values()
    spans[0]["startTimeUnixNano"] = "noon"
    with serve() as (client, _):
        assert client.post("/v1/traces", json=body).json()["partialSuccess"]["rejectedSpans"] == "1"
        scored(client, 1)
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


def test_a_full_buffer_refuses_whole_requests_until_there_is_space(serve):
    settings = ReceiverSettings(quiet=0.5)
    with serve(buffer_bytes=10_000, receiver=settings) as (client, _):
        answers = [
            client.post("/v1/traces", content=request(spans_of(number)).SerializeToString(), headers=PROTOBUF)
            for number in range(20)
        ]
        codes = [answer.status_code for answer in answers]
        assert set(codes) == {200, 503}
        refused = answers[codes.index(503)]
        assert refused.headers["retry-after"] == "5"
        assert Status.FromString(refused.content).code == 14
        counted = counts(client)
        assert (counted["received"], counted["refused"]) == (40, 2 * codes.count(503))
        assert is_complete(counted)
        scored(client, codes.count(200))
        again = client.post("/v1/traces", content=request(spans_of(99)).SerializeToString(), headers=PROTOBUF)
        assert again.status_code == 200
        scored(client, codes.count(200) + 1)
        assert is_complete(counts(client))


def test_a_request_that_never_fits_is_refused_for_good(serve):
    with serve(buffer_bytes=1000) as (client, _):
        response = client.post(
            "/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF
        )
        assert response.status_code == 413
        assert "larger than the buffer" in Status.FromString(response.content).message
        assert (counts(client)["refused"], is_complete(counts(client))) == (2, True)


@pytest.mark.parametrize(
    ("body", "head", "code", "reason"),
    [
        (b"\xff\xff", PROTOBUF, 400, "not OTLP Protobuf"),
        (request(spans_of(1)).SerializeToString()[:-3], PROTOBUF, 400, "not OTLP Protobuf"),
        (b"{", JSON, 400, "invalid JSON"),
        (b"[]", JSON, 400, "expected an object"),
        (b'{"resourceSpans": [{"scopeSpans": 3}]}', JSON, 400, "expected a list"),
        (b"[" * 100_000, JSON, 400, "invalid JSON"),
        (b"x", {"Content-Type": "text/plain"}, 415, "Content-Type"),
        (b"x", {}, 415, "Content-Type"),
        (b"x", {**PROTOBUF, "Content-Encoding": "br"}, 415, "Content-Encoding"),
        (b"not gzip", {**PROTOBUF, "Content-Encoding": "gzip"}, 400, "not valid gzip"),
        (gzip.compress(b"{}")[:-4], {**JSON, "Content-Encoding": "gzip"}, 400, "cut off"),
        (gzip.compress(bytes(40 << 20)), {**PROTOBUF, "Content-Encoding": "gzip"}, 413, "32 MB"),
        (MANY_EVENTS, {**PROTOBUF, "Content-Encoding": "gzip"}, 413, "2,000,000"),
        (MANY_OBJECTS, {**JSON, "Content-Encoding": "gzip"}, 413, "2,000,000"),
        (bytes(17 << 20), PROTOBUF, 413, "16 MB"),
        (json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{}] * 50_001}]}]}), JSON, 413, "50,000"),
    ],
    ids=lambda value: value if isinstance(value, (int, str)) and len(str(value)) < 30 else "",
)
def test_a_bad_request_is_refused_for_good_and_accepts_nothing(serve, body, head, code, reason):
    with serve() as (client, _):
        response = client.post("/v1/traces", content=body, headers=head)
        assert response.status_code == code
        assert "retry-after" not in response.headers
        if head.get("Content-Type") == PROTOBUF["Content-Type"]:
            message = Status.FromString(response.content).message
        else:
            message = response.json()["message"]
        assert reason in message
        counted = counts(client)
        assert (counted["waiting"], is_complete(counted)) == (0, True)


def test_an_empty_request_is_accepted(serve):
    with serve() as (client, _):
        assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 200
        assert client.post("/v1/traces", json={}).status_code == 200


def test_a_disk_that_cannot_be_written_is_a_reason_to_retry(serve, monkeypatch):
    with serve() as (client, site):

        def fail(*_):
            raise StoreError("The buffer of spans cannot be used: disk full.")

        monkeypatch.setattr(site.receiver._spool, "add", fail)
        response = client.post(
            "/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF
        )
        assert (response.status_code, response.headers["retry-after"]) == (503, "5")
        assert is_complete(counts(client))


def test_bodies_in_work_are_bounded(serve, monkeypatch):
    monkeypatch.setattr(otlp, "BODIES_LIMIT", 10)
    with serve() as (client, _):
        response = client.post(
            "/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF
        )
        assert response.status_code == 503
        assert client.app.state.intake.bytes == 0


def test_a_body_that_arrives_too_slowly_is_refused_and_frees_its_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(otlp, "BODY_SECONDS", 0.3)
    with sending_half_a_body(tmp_path) as (connection, intake):
        wait_until(lambda: intake.bytes > 0)
        assert connection.recv(100).startswith(b"HTTP/1.1 503")
        wait_until(lambda: intake.bytes == 0)


def test_a_client_that_disconnects_is_no_error_of_the_server(tmp_path, caplog):
    with sending_half_a_body(tmp_path) as (connection, intake):
        wait_until(lambda: intake.bytes > 0)
        connection.close()
        wait_until(lambda: intake.bytes == 0)
    assert not caplog.records


@contextmanager
def sending_half_a_body(folder):
    """Serve a site, and begin a request; yields its socket and what the server counts."""
    with (
        open_site(folder) as site,
        closing(open_receiver(site.database, TraceOptions(metrics=["grounding"]))) as receiver,
    ):
        site.receiver = receiver
        app = create_app(site)
        with serve_app(site, app) as address:
            host, port = address.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                head = f"POST /v1/traces HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n"
                kind = "Content-Type: application/json\r\n\r\n"
                connection.sendall(f"{head}{kind}half".encode())
                yield connection, app.state.intake


def test_runs_by_service(serve):
    with serve(runs_by="service") as (client, site):
        for number, service in enumerate(["shop", "bank\x1b[31m", "shop"]):
            body = request(spans_of(number), service).SerializeToString()
            client.post("/v1/traces", content=body, headers=PROTOBUF)
        scored(client, 3)
        names = {run.name: run.rows for run in list_runs(site.database)}
    assert names == {"traces-shop": 2, "traces-bank�[31m": 1}


def test_no_texts_are_stored(serve, tmp_path):
    with serve(no_texts=True) as (client, site):
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
        scored(client, 1)
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


def test_a_turn_without_an_answer_is_counted_with_its_reason(serve):
    retrieval, root = answered_trace(1)
    del root.attributes[2]
    with serve() as (client, _):
        client.post("/v1/traces", content=request([retrieval, root]).SerializeToString(), headers=PROTOBUF)
        wait_until(lambda: counts(client)["traces"] == 1)
        counted = counts(client)
    assert (counted["scored"], is_complete(counted)) == (0, True)
    assert sum(counted["unanswered"].values()) == 1


def test_the_counts_are_exported(serve):
    with serve() as (client, _):
        client.post("/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF)
        scored(client, 1)
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
    assert "expected 16 bytes, found 5" in status["last_error"]
    assert status["last_error_at"].endswith("+00:00")


def test_a_server_without_the_receiver(client):
    assert client.get("/traces").status_code == 404
    assert "Traces" not in client.get("/").text
    assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 404
    assert client.get("/api/v1/otlp").status_code == 404


def test_the_token_is_required(serve):
    secret = "".join(map(str, range(16)))
    with serve() as (client, site):
        site.token = secret
        body = request(spans_of(1)).SerializeToString()
        assert client.post("/v1/traces", content=body, headers=PROTOBUF).status_code == 401
        head = PROTOBUF | {"Authorization": f"Bearer {secret}"}
        assert client.post("/v1/traces", content=body, headers=head).status_code == 200
