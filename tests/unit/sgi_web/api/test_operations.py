from __future__ import annotations

import gc
import re
import time

import pytest
from starlette.testclient import TestClient

from sgi.kernel.errors import EmbedderError, StoreError
from sgi.store.database import open_database
from sgi.testing.fakes import HashEmbedder
from sgi_web.api.operations import MetricsMiddleware
from sgi_web.app import create_app
from sgi_web.site import Site

SAMPLE = "/api/v1/runs/{run}/samples/{sample_id:anything}"
ROWS = [
    {"response": "rivers flow", "reference": "rivers"},
    {"response": "rain", "reference": "snow"},
    {"response": "only"},
]


@pytest.fixture
def site(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        yield Site(database=database)


def application(site):
    """The application, measured whether or not it sees to that itself."""
    app = create_app(site)
    if not any(layer.cls is MetricsMiddleware for layer in app.user_middleware):
        app.add_middleware(MetricsMiddleware, site=site)
    return app


def with_scorer(site, model, work):
    """What a client of a server with this model sees."""
    site.scoring, site.models = True, {"embedders": (model,)}
    with TestClient(application(site), base_url="http://localhost", raise_server_exceptions=False) as client:
        return work(client)


def figures(client):
    """Every figure by its name and labels."""
    text = client.get("/metrics").text
    return {
        name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    }


def test_alive_whatever_is_wrong(site):
    def down(*_):
        raise EmbedderError("no")

    model = HashEmbedder()
    model.embed = down
    response = with_scorer(site, model, lambda client: client.get("/healthz"))
    assert (response.status_code, response.text) == (200, "alive\n")


def test_ready_once_the_models_are_warm(site):
    def work(client):
        while site.scorer.trouble:
            time.sleep(0.002)
        return client.get("/readyz")

    response = with_scorer(site, HashEmbedder(), work)
    assert (response.status_code, response.json()) == (200, {"ready": True, "problems": {}})


def test_full_garbage_collections_leave_out_what_is_open_once_the_models_are_warm(site):
    def work(client):
        while not gc.get_freeze_count():
            time.sleep(0.002)
        return client.get("/readyz")

    assert with_scorer(site, HashEmbedder(), work).json()["ready"]
    assert gc.get_freeze_count() == 0


def test_not_ready_while_a_model_gives_nothing(site):
    class Down(HashEmbedder):
        def embed(self, texts, /):
            raise EmbedderError("The service is down.")

    def work(client):
        while "down" not in site.scorer.trouble:
            time.sleep(0.002)
        return client.get("/readyz")

    response = with_scorer(site, Down(), work)
    assert response.status_code == 503
    assert response.json()["problems"] == {"scorer": "unavailable"}


def test_the_log_says_why_it_is_not_ready(site, monkeypatch, caplog):
    def down(*_, **__):
        raise StoreError("The database /secret/place was removed.")

    monkeypatch.setattr("sgi_web.api.operations.list_runs", down)
    with TestClient(application(site), base_url="http://localhost") as client:
        response = client.get("/readyz")
    assert (response.status_code, response.json()["problems"]) == (503, {"database": "unavailable"})
    assert "/secret/place" in caplog.text


def test_requests_rows_and_batches_are_counted(site):
    def work(client):
        wanted = {"rows": ROWS, "metrics": ["content_f1", "rouge_l(beta=1.5)"]}
        for _ in range(2):
            assert client.post("/api/v1/score", json=wanted).status_code == 200
        client.post("/api/v1/score", json={"rows": []})
        client.get("/api/v1/runs/none/samples/x")
        client.get("/api/v1/runs/other/samples/y%2Fz")
        client.get("/nowhere/at/all")
        client.request("PROPFIND", "/healthz")
        return figures(client)

    counts = with_scorer(site, HashEmbedder(), work)
    requests = {
        name: value for name, value in counts.items() if name.startswith("sgi_http_request_seconds_count")
    }
    assert requests == {
        'sgi_http_request_seconds_count{method="POST",route="/api/v1/score",status="200"}': 2,
        'sgi_http_request_seconds_count{method="POST",route="/api/v1/score",status="422"}': 1,
        f'sgi_http_request_seconds_count{{method="GET",route="{SAMPLE}",status="404"}}': 2,
        'sgi_http_request_seconds_count{method="GET",route="unmatched",status="404"}': 1,
        'sgi_http_request_seconds_count{method="other",route="/healthz",status="405"}': 1,
    }
    assert counts['sgi_score_rows_total{metric="content_f1",status="ok"}'] == 4
    assert counts['sgi_score_rows_total{metric="content_f1",status="missing"}'] == 2
    assert counts['sgi_score_rows_total{metric="rouge_l",status="ok"}'] == 4
    assert counts["sgi_score_batch_rows_count"] == 2
    assert counts["sgi_score_batch_rows_sum"] == 6
    assert counts['sgi_score_batch_rows_bucket{le="2"}'] == 0
    assert counts['sgi_score_batch_rows_bucket{le="4"}'] == 2
    assert counts["sgi_score_waiting_rows"] == 0
    assert counts["process_resident_memory_bytes"] > 1e6


def test_no_label_is_what_a_caller_wrote(site):
    def work(client):
        client.get("/api/v1/runs/SECRET/samples/SECRET?q=SECRET")
        client.request("SECRET", "/SECRET")
        client.post("/api/v1/score", json={"rows": ROWS, "metrics": ["rouge_l(beta=1.125)", "SECRET"]})
        client.post("/api/v1/score", json={"rows": ROWS, "metrics": ["rouge_l(beta=1.125)"]})
        return client.get("/metrics").text

    text = with_scorer(site, HashEmbedder(), work)
    assert "SECRET" not in text
    assert "beta" not in text


def test_a_request_that_fails_is_counted_as_500(site, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("sgi_web.api.router.page_of_runs", broken)

    def work(client):
        client.get("/api/v1/runs")
        return figures(client)

    counts = with_scorer(site, HashEmbedder(), work)
    assert counts['sgi_http_request_seconds_count{method="GET",route="/api/v1/runs",status="500"}'] == 1


def test_applications_count_apart(site):
    clients = [TestClient(application(site), base_url="http://localhost") for _ in range(2)]
    clients[0].get("/healthz")
    name = 'sgi_http_request_seconds_count{method="GET",route="/healthz",status="200"}'
    assert [figures(client).get(name, 0) for client in clients] == [1, 0]
    assert "sgi_score_waiting_rows" not in figures(clients[0])  # there is no scorer
