from __future__ import annotations

import json

import pytest
from langfuse import Langfuse

import sgi
from sgi.integrations.langfuse import SgiEvaluator, upload_scores
from sgi.integrations.upload import Upload, UploadError
from support.adapter_contract import AdapterContract, HostResult, HostRow
from support.recording_server import RecordingServer
from support.trace_runs import run_of_traces

KEY = "sk-lf-secret"
ACCEPTED = (202, b'{"message": "Accepted"}')


class TestLangfuse(AdapterContract):
    name = "langfuse"

    def evaluate(self, rows, metric, embedder=None):
        client = Langfuse(public_key="pk-lf-contract", secret_key=KEY, tracing_enabled=False)
        evaluator = SgiEvaluator(metric, embedder)
        data = [
            {
                "input": {"number": number, "question": row["question"]},
                "expected_output": row.get("reference"),
            }
            for number, row in enumerate(rows)
        ]

        def answer(*, item, **_):
            row = rows[item["input"]["number"]]
            return {name: row[name] for name in ("response", "contexts") if name in row}

        result = client.run_experiment(
            name="contract",
            data=data,
            task=answer,
            evaluators=[evaluator],
            run_evaluators=[evaluator.summary],
        )
        recorded = {item.item["input"]["number"]: recorded_row(item, metric) for item in result.item_results}
        summary = {each.name: each.value for each in result.run_evaluations}
        return HostResult(
            [recorded[number] for number in range(len(rows))],
            summary.get(f"{metric}.mean"),
            summary[f"{metric}.coverage"],
        )


def recorded_row(item, metric):
    (evaluation,) = item.evaluations
    if evaluation.name == metric:
        return HostRow(evaluation.value, evaluation.comment or "")
    assert (evaluation.name, evaluation.data_type) == (f"{metric}.status", "CATEGORICAL")
    return HostRow(None, f"{evaluation.value}: {evaluation.comment}")


@pytest.fixture
def run(tmp_path):
    return run_of_traces(tmp_path)


def client_of(server):
    # Langfuse has one client for each public key.
    return Langfuse(public_key=f"pk-lf-{server.url}", secret_key=KEY, base_url=server.url, timeout=5)


def test_scores_go_to_their_observations(run):
    with RecordingServer(ACCEPTED) as server:
        result = upload_scores(run, client_of(server))
    ((path, body),) = server.requests
    assert (path, result) == ("/api/public/scores", Upload(rows=3, left_out=1))
    first, _, third = json.loads(body)
    assert first.pop("id") != third.pop("id")
    assert first.pop("timestamp") == third.pop("timestamp")
    assert first == {
        "traceId": "1" * 32,
        "observationId": "2" * 16,
        "name": "squad_em",
        "value": 1.0,
        "dataType": "NUMERIC",
        "metadata": {"sgi.run": run.record.id, "sgi.row": "a"},
    }
    assert third == {
        "traceId": "5" * 32,
        "observationId": "6" * 16,
        "name": "squad_em.status",
        "value": "missing",
        "dataType": "CATEGORICAL",
        "comment": "the sample has no reference",
        "metadata": {"sgi.run": run.record.id, "sgi.row": "c"},
    }


def test_a_second_upload_sends_the_same_ids_and_times(run):
    with RecordingServer(ACCEPTED) as server:
        client = client_of(server)
        upload_scores(run, client)
        upload_scores(run, client)
    assert json.loads(server.requests[0][1]) == json.loads(server.requests[1][1])


def test_a_client_without_keys_is_refused(run, monkeypatch):
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(sgi.errors.UsageError, match="Set LANGFUSE_PUBLIC_KEY"):
        upload_scores(run, Langfuse())


def test_rejected_scores_are_an_error_without_the_key(run, caplog):
    rejected = json.dumps({"accepted": 2, "rejected": 1, "errors": [{"message": "no such config"}]})
    with RecordingServer((207, rejected.encode()), (401, b'{"message": "Invalid credentials"}')) as server:
        client = client_of(server)
        with pytest.raises(UploadError, match="1 were rejected: no such config"):
            upload_scores(run, client)
        with pytest.raises(UploadError, match="status 401") as caught:
            upload_scores(run, client)
    assert KEY not in str(caught.value) + caplog.text
