from __future__ import annotations

import json

import mlflow
import pytest
from mlflow.entities import SpanType

import sgi
from sgi.integrations.mlflow import SgiScorer, log_run
from support.adapter_contract import (
    NO_CONTEXTS,
    PASSAGES,
    SUPPORTED,
    AdapterContract,
    HostResult,
    HostRow,
)


@pytest.fixture(scope="module", autouse=True)
def _own_tracking_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("MLFLOW_SQLALCHEMYSTORE_POOL_SIZE", "50")  # its 15 connections are too few for 40 rows
        mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
        mlflow.set_experiment("tower")
        yield


class TestMlflow(AdapterContract):
    name = "mlflow"
    mean = "plain"

    def evaluate(self, rows, metric, embedder=None):
        data = [
            {
                "inputs": {"question": row.get("question"), "number": n},
                "outputs": {name: row[name] for name in ("response", "contexts") if name in row},
                "expectations": {"expected_response": row["reference"]} if "reference" in row else {},
            }
            for n, row in enumerate(rows)
        ]
        result = mlflow.genai.evaluate(data=data, scorers=[SgiScorer(metrics=metric, embedder=embedder)])
        recorded = {}
        for trace in mlflow.search_traces(return_type="list", run_id=result.run_id):
            (feedback,) = (each for each in trace.info.assessments if each.name == metric)
            number = json.loads(trace.data.request)["number"]
            recorded[number] = HostRow(feedback.value, feedback.error.error_message if feedback.error else "")
        metrics = mlflow.get_run(result.run_id).data.metrics
        return HostResult(
            [recorded[n] for n in range(len(rows))],
            metrics.get(f"{metric}/mean"),
            metrics[f"{metric}.coverage/mean"],
        )


def test_passages_come_from_the_retriever_spans_of_the_trace():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(question):
        return [{"page_content": passage} for passage in PASSAGES]

    def rag(question):
        retrieve(question)
        return SUPPORTED["response"]

    data = [{"inputs": {"question": SUPPORTED["question"]}}]
    result = mlflow.genai.evaluate(data=data, predict_fn=rag, scorers=[SgiScorer()])
    value = sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]
    assert result.metrics == {"grounding/mean": value, "grounding.coverage/mean": 1.0}


def test_a_metric_with_parameters_has_a_name_that_mlflow_allows():
    data = [{"inputs": {"question": "?"}, "outputs": "Paris", "expectations": {"expected_response": "Paris"}}]
    scorer = SgiScorer(metrics=["rouge_l(beta=2)"])
    assert mlflow.genai.evaluate(data=data, scorers=[scorer]).metrics["rouge_l beta:2.0/mean"] == 1.0


def test_a_stored_run_is_logged_with_intervals_coverage_and_artefacts(tmp_path):
    rows = [
        {**row, "reference": "", "question": f"{n}?"} for n in range(10) for row in (SUPPORTED, NO_CONTEXTS)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = sgi.run(tmp_path / "rows.jsonl", ["grounding", "squad_em"], name="nightly", db=tmp_path / "sgi.db")
    logged = mlflow.get_run(log_run(run, experiment="rag"))
    grounding, squad_em = run.summary().metrics
    metrics = logged.data.metrics
    assert metrics["grounding/mean"] == grounding.mean
    assert metrics["grounding/low"] == grounding.interval.low
    assert metrics["grounding/high"] == grounding.interval.high
    assert metrics["grounding/coverage"] == 0.5
    assert (metrics["grounding/ok"], metrics["grounding/missing"], metrics["rows"]) == (10, 10, 20)
    assert squad_em.mean is None
    assert {name for name in metrics if name.startswith("squad_em")} == {
        f"squad_em/{name}" for name in ("coverage", "ok", "undefined", "missing", "failed")
    }
    assert logged.info.run_name == "nightly"
    assert logged.info.status == "FINISHED"
    assert logged.data.tags["sgi.signature"] == run.signature
    artefacts = {file.path for file in mlflow.MlflowClient().list_artifacts(logged.info.run_id)}
    assert artefacts == {"report.html", "scores.jsonl", "summary.json", "summary.txt"}
