from __future__ import annotations

import asyncio
import json
import math

import httpx
import numpy as np
import pandas as pd
from phoenix.client import Client
from phoenix.evals import async_evaluate_dataframe, bind_evaluator, evaluate_dataframe
from phoenix.evals.utils import to_annotation_dataframe

import sgi
from sgi.integrations.phoenix import SgiEvaluator
from support.adapter_contract import (
    BLANK,
    CONTRADICTED,
    NO_CONTEXTS,
    SUPPORTED,
    AdapterContract,
    HostResult,
    HostRow,
)
from support.calibration_files import EMBEDDER, calibration_file

FIELDS = ("question", "contexts", "response", "reference")


def frame_of(rows):
    return pd.DataFrame({name: [row.get(name) for row in rows] for name in FIELDS}, dtype=object)


class TestPhoenix(AdapterContract):
    name = "phoenix"
    mean = "plain"

    def evaluate(self, rows, metric, embedder=None):
        evaluator = SgiEvaluator(metric, embedder)
        frame = evaluate_dataframe(dataframe=frame_of(rows), evaluators=[evaluator], hide_tqdm_bar=True)
        for details in frame["sgi_execution_details"]:
            assert details["status"] == "COMPLETED"
        frame["context.span_id"] = [str(number) for number in range(len(rows))]
        annotations = to_annotation_dataframe(dataframe=frame)
        scores = frame[f"{metric}_score"]
        assert [score.get("score") for score in scores] == [
            None if pd.isna(v) else v for v in annotations["score"]
        ]
        recorded = [HostRow(score.get("score"), score.get("explanation", "")) for score in scores]
        mean = annotations["score"].astype(float).mean()
        coverage = (annotations["label"] == "ok").mean()
        return HostResult(recorded, None if math.isnan(mean) else mean, coverage)


def test_an_async_evaluation_gives_the_same_scores():
    rows = [SUPPORTED, CONTRADICTED, BLANK, NO_CONTEXTS] * 8
    evaluators = [SgiEvaluator(["grounding", "sgi"])]
    one = evaluate_dataframe(dataframe=frame_of(rows), evaluators=evaluators, hide_tqdm_bar=True)
    many = asyncio.run(
        async_evaluate_dataframe(
            dataframe=frame_of(rows), evaluators=evaluators, concurrency=16, hide_tqdm_bar=True
        )
    )
    for column in ("grounding_score", "sgi_score"):
        assert one[column].tolist() == many[column].tolist()


def test_columns_with_other_names_are_mapped():
    frame = frame_of([SUPPORTED]).rename(columns={"response": "text"})
    frame["nested"] = [{"found": SUPPORTED["contexts"]}]
    mapping = {"response": "text", "contexts": "nested.found"}
    bound = bind_evaluator(evaluator=SgiEvaluator("grounding"), input_mapping=mapping)
    scored = evaluate_dataframe(
        dataframe=frame.drop(columns="contexts"), evaluators=[bound], hide_tqdm_bar=True
    )
    assert (
        scored["grounding_score"][0]["score"] == sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]
    )


def test_arrays_and_nan_from_a_parquet_file(tmp_path):
    frame = frame_of([SUPPORTED, NO_CONTEXTS])
    frame["contexts"] = [np.array(SUPPORTED["contexts"], dtype=object), np.nan]
    scored = evaluate_dataframe(dataframe=frame, evaluators=[SgiEvaluator()], hide_tqdm_bar=True)
    assert [score["label"] for score in scored["grounding_score"]] == ["ok", "missing"]
    assert json.dumps(scored["grounding_score"].tolist())


def test_a_row_without_value_is_evaluated_once(monkeypatch):
    calls = []
    evaluator = SgiEvaluator()
    score = evaluator._scorer.score
    monkeypatch.setattr(evaluator._scorer, "score", lambda **parts: calls.append(parts) or score(**parts))
    evaluate_dataframe(
        dataframe=frame_of([{**SUPPORTED, "contexts": [{"no": "text"}]}]),
        evaluators=[evaluator],
        hide_tqdm_bar=True,
    )
    assert len(calls) == 1


def test_the_client_sends_rows_without_a_value():
    frame = frame_of([SUPPORTED, BLANK]).rename(columns={"question": "input", "response": "output"})
    frame["context"] = [
        "\n\n".join(texts) for texts in frame.pop("contexts")
    ]  # as `get_input_output_context`
    frame.index = pd.Index(["s1", "s2"], name="context.span_id")
    sent = []

    def receive(request):
        sent.extend(json.loads(request.content)["data"])
        return httpx.Response(200, json={"data": [{"id": "1"}, {"id": "2"}]})

    client = Client(
        http_client=httpx.Client(transport=httpx.MockTransport(receive), base_url="http://phoenix")
    )
    scored = evaluate_dataframe(dataframe=frame, evaluators=[SgiEvaluator()], hide_tqdm_bar=True)
    annotations = to_annotation_dataframe(dataframe=scored)
    annotations = annotations.astype(object).where(annotations.notna(), None)  # the line of the page
    client.spans.log_span_annotations_dataframe(dataframe=annotations, sync=True)
    results = {annotation["span_id"]: annotation["result"] for annotation in sent}
    assert results["s1"]["label"] == "ok"
    assert results["s1"]["score"] > 0.5
    assert results["s2"] == {"label": "undefined", "explanation": "undefined: the response is blank"}


def test_a_calibration_adds_a_score():
    evaluator = SgiEvaluator("sgi", EMBEDDER, calibration=calibration_file())
    score, calibrated = evaluator.evaluate(SUPPORTED)
    assert score.name == "sgi"
    assert calibrated.name.startswith("calibrated(")
    assert calibrated.label == "ok"


def test_the_description_is_json():
    assert json.dumps(SgiEvaluator(["grounding", "sgi"]).describe())
