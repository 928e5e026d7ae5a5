"""Requests with traces that the receiver refuses, and its limits."""

from __future__ import annotations

import gzip
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event

import pytest
from google.protobuf import json_format
from google.rpc.status_pb2 import Status

from sgi.kernel.errors import StoreError
from sgi_traces.live.open_receiver import TraceOptions, open_receiver
from sgi_traces.live.receiver import ReceiverSettings
from sgi_web.app import create_app
from sgi_web.routes import otlp
from sgi_web.routes.otlp import SMALL, decode_request
from support.otlp import JSON, PROTOBUF, json_request, nested, request, spans_of
from support.trace_receiver import counts, is_complete, serving, wait_until_scored
from support.web_server import open_site, serve_app, wait_until

GZIP = {"Content-Encoding": "gzip"}
MANY_EVENTS = gzip.compress(b"\x13\x14" + nested(1, nested(2, nested(2, b"\x5a\x00" * 2_000_001))))
"""A request with a span of many empty events, after a field that no message has."""
MANY_OBJECTS = gzip.compress(b'{"resourceSpans":[' + b"{}," * 1_000_001 + b"{}]}")


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
        wait_until_scored(client, codes.count(200))
        again = client.post("/v1/traces", content=request(spans_of(99)).SerializeToString(), headers=PROTOBUF)
        assert again.status_code == 200
        wait_until_scored(client, codes.count(200) + 1)
        assert is_complete(counts(client))


def test_a_request_that_never_fits_is_refused_for_good(serve):
    with serve(buffer_bytes=1000) as (client, _):
        response = client.post(
            "/v1/traces", content=request(spans_of(1)).SerializeToString(), headers=PROTOBUF
        )
        assert response.status_code == 413
        assert "larger than the buffer" in Status.FromString(response.content).message
        assert (counts(client)["refused"], is_complete(counts(client))) == (2, True)


@pytest.fixture(scope="module")
def receiving(tmp_path_factory):
    """A client of one server for all bad requests."""
    with serving(tmp_path_factory.mktemp("receiving")) as (client, _):
        yield client


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
        (b"not gzip", PROTOBUF | GZIP, 400, "not valid gzip"),
        (gzip.compress(b"{}")[:-4], JSON | GZIP, 400, "cut off"),
        (gzip.compress(b"") * 10_001, JSON | GZIP, 400, "gzip members"),
        (gzip.compress(bytes(40 << 20)), PROTOBUF | GZIP, 413, "32 MB"),
        (MANY_EVENTS, PROTOBUF | GZIP, 413, "2,000,000"),
        (MANY_OBJECTS, JSON | GZIP, 413, "2,000,000"),
        (bytes(17 << 20), PROTOBUF, 413, "16 MB"),
        (json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{}] * 50_001}]}]}), JSON, 413, "50,000"),
    ],
    ids=lambda value: value if isinstance(value, (int, str)) and len(str(value)) < 30 else "",
)
def test_a_bad_request_is_refused_for_good_and_accepts_nothing(receiving, body, head, code, reason):
    response = receiving.post("/v1/traces", content=body, headers=head)
    assert response.status_code == code
    assert "retry-after" not in response.headers
    if head.get("Content-Type") == PROTOBUF["Content-Type"]:
        message = Status.FromString(response.content).message
    else:
        message = response.json()["message"]
    assert reason in message
    counted = counts(receiving)
    assert (counted["waiting"], counted["assembled"], is_complete(counted)) == (0, 0, True)


def test_an_empty_request_is_accepted(serve):
    with serve() as (client, _):
        assert client.post("/v1/traces", content=b"", headers=PROTOBUF).status_code == 200
        assert client.post("/v1/traces", json={}).status_code == 200


@pytest.mark.parametrize(
    "group",
    [b"", nested(2, b""), nested(1, nested(1, b"")), nested(1, nested(1, b"")) + nested(2, b"")],
    ids=["empty", "empty scope", "empty attribute", "both"],
)
def test_groups_without_spans_are_not_converted(monkeypatch, group):
    converted = []
    monkeypatch.setattr(json_format, "MessageToDict", converted.append)
    assert decode_request(nested(1, group) * 10_000, PROTOBUF["Content-Type"]) == []
    assert not converted


def test_attributes_of_a_resource_that_do_not_name_the_service_are_not_converted(monkeypatch):
    converted = []
    real = json_format.MessageToDict
    monkeypatch.setattr(json_format, "MessageToDict", lambda one: converted.append(one) or real(one))
    message = request(spans_of(1))
    for _ in range(1000):
        message.resource_spans[0].resource.attributes.add(key="host.name")
    items = decode_request(message.SerializeToString(), PROTOBUF["Content-Type"])
    assert [item.resource for item in items] == [{"service.name": "shop"}] * 2
    assert len(converted) == 3


def test_a_small_request_does_not_wait_for_a_large_one(serve, monkeypatch):
    ends, begun = Event(), Event()
    monkeypatch.setattr(otlp, "decode_request", lambda *_: begun.set() or (ends.wait(30) and []))
    large = gzip.compress(b" " * (SMALL + 1) + b"{}")
    with serve() as (client, _), ThreadPoolExecutor(1) as pool:
        try:
            sent = pool.submit(client.post, "/v1/traces", content=large, headers=JSON | GZIP)
            assert begun.wait(30)
            monkeypatch.setattr(otlp, "decode_request", decode_request)
            assert client.post("/v1/traces", json=json_request(spans_of(1))).status_code == 200
            assert not sent.done()
        finally:
            ends.set()
        assert sent.result().status_code == 200


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
