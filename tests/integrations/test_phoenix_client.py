from __future__ import annotations

import json

import pytest
from phoenix.client import Client

from sgi.integrations.phoenix_client import upload_scores
from sgi.integrations.upload import Upload, UploadError
from support.adapter_contract import PageContract
from support.recording_server import RecordingServer
from support.trace_runs import run_of_traces

KEY = "secret-phoenix-key"
ACCEPTED = (200, b'{"data": []}')


class TestPhoenixClient(PageContract):
    name = "phoenix_client"


@pytest.fixture
def run(tmp_path):
    return run_of_traces(tmp_path)


def test_scores_become_annotations_of_their_spans(run):
    with RecordingServer(ACCEPTED) as server:
        result = upload_scores(run, Client(base_url=server.url, api_key=KEY))
    ((path, body),) = server.requests
    assert (path, result) == ("/v1/span_annotations", Upload(rows=3, left_out=1))
    first, second, third = json.loads(body)["data"]
    assert first.pop("identifier") != third["identifier"]
    assert first == {
        "span_id": "2" * 16,
        "name": "squad_em",
        "annotator_kind": "CODE",
        "result": {"label": "ok", "score": 1.0},
    }
    assert second["result"] == {"label": "undefined", "explanation": run["squad_em"].reasons[1]}
    assert third["result"] == {"label": "missing", "explanation": "the sample has no reference"}


def test_a_second_upload_sends_the_same_identifiers(run):
    with RecordingServer(ACCEPTED) as server:
        client = Client(base_url=server.url)
        upload_scores(run, client)
        upload_scores(run, client)
    assert server.requests[0] == server.requests[1]


def test_rejected_scores_are_an_error_without_the_key(run, caplog):
    with RecordingServer((404, b"Spans with IDs 2222 do not exist.")) as server:
        client = Client(base_url=server.url, api_key=KEY)
        with pytest.raises(UploadError, match="status 404: Spans with IDs 2222 do not exist") as caught:
            upload_scores(run, client)
    assert KEY not in str(caught.value) + caplog.text
    with pytest.raises(UploadError, match="ConnectError, no answer"):
        upload_scores(run, Client(base_url="http://127.0.0.1:1"))
