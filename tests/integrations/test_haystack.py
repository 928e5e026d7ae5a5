from __future__ import annotations

import asyncio
import math

import pytest
from haystack import Document, GeneratedAnswer, Pipeline
from haystack.core.errors import DeserializationError
from haystack.evaluation import EvaluationRunResult

import sgi
from sgi.integrations.haystack import SgiAnswerScorer, SgiEvaluator, with_coverage
from support.adapter_contract import (
    BLANK,
    CONTRADICTED,
    NO_CONTEXTS,
    SUPPORTED,
    AdapterContract,
    HostResult,
    HostRow,
)

INPUTS = {
    "questions": "question",
    "contexts": "contexts",
    "predicted_answers": "response",
    "ground_truth_answers": "reference",
}


def inputs_of(rows):
    lists = {name: [row.get(field) for row in rows] for name, field in INPUTS.items()}
    return {name: items for name, items in lists.items() if any(item is not None for item in items)}


def none_if_nan(value):
    return None if math.isnan(value) else value


class TestHaystack(AdapterContract):
    name = "haystack"

    def evaluate(self, rows, metric, embedder=None):
        pipeline = Pipeline()
        pipeline.add_component("metric", SgiEvaluator(metric, embedder))
        outputs = pipeline.run({"metric": inputs_of(rows)})["metric"]
        report = EvaluationRunResult("run", inputs_of(rows), with_coverage({"metric": outputs}))
        values = report.detailed_report()["metric"]
        texts = [": ".join(pair) for pair in zip(outputs["statuses"], outputs["reasons"], strict=True)]
        recorded = [HostRow(none_if_nan(value), text) for value, text in zip(values, texts, strict=True)]
        assert report.aggregated_report()["metrics"] == ["metric", "metric.coverage"]
        mean, coverage = report.aggregated_report()["score"]
        assert report.detailed_report()["metric.coverage"] == [
            float(row.value is not None) for row in recorded
        ]
        return HostResult(recorded, none_if_nan(mean), coverage)


def test_documents_are_passages():
    documents = [[Document(content=text) for text in SUPPORTED["contexts"]]]
    outputs = SgiEvaluator().run(
        questions=[SUPPORTED["question"]], contexts=documents, predicted_answers=[SUPPORTED["response"]]
    )
    assert outputs == SgiEvaluator().run(**inputs_of([SUPPORTED]))
    assert outputs["statuses"] == ["ok"]


def test_lists_of_different_length_are_refused():
    with pytest.raises(sgi.errors.UsageError, match="questions has 2, predicted_answers has 1"):
        SgiEvaluator().run(questions=["a", "b"], predicted_answers=["c"])


def test_no_rows_have_no_mean():
    outputs = SgiEvaluator().run(questions=[])
    assert outputs["individual_scores"] == []
    assert math.isnan(outputs["score"])
    assert math.isnan(outputs["coverage"])


def test_a_pipeline_is_saved_and_loaded():
    pipeline = Pipeline()
    pipeline.add_component("em", SgiEvaluator("squad_em", options={"long_texts": "truncate"}))
    pipeline.add_component("answers", SgiAnswerScorer(["squad_em"]))
    text = pipeline.dumps()
    loaded = Pipeline.loads(text, allowed_modules=["sgi.integrations.haystack"])
    assert loaded.dumps() == text
    inputs = {"predicted_answers": ["paris"], "ground_truth_answers": [["Lyon", "Paris"]]}
    assert loaded.run({"em": inputs, "answers": {"answers": []}})["em"]["individual_scores"] == [1.0]
    with pytest.raises(DeserializationError, match=r"sgi\.integrations\.haystack"):
        Pipeline.loads(text)


def test_an_async_pipeline_scores_many_answers():
    pipeline = Pipeline()
    pipeline.add_component("scorer", SgiAnswerScorer(["grounding"]))
    rows = [SUPPORTED, CONTRADICTED, BLANK, NO_CONTEXTS]

    def answer(row):
        documents = [Document(content=text) for text in row.get("contexts", [])]
        return GeneratedAnswer(row["response"], row["question"], documents, meta={"model": "m"})

    async def run():
        calls = [pipeline.run_async({"scorer": {"answers": [answer(row)]}}) for row in rows * 8]
        return [result["scorer"]["answers"][0] for result in await asyncio.gather(*calls)]

    expected = [
        None if math.isnan(value) else value for value in sgi.evaluate(rows, "grounding")["grounding"].values
    ]
    metas = [answer.meta for answer in asyncio.run(run())]
    assert [meta["sgi"]["grounding"]["value"] for meta in metas] == expected * 8
    assert metas[2] == {
        "model": "m",
        "sgi": {
            "grounding": {
                "value": None,
                "status": "undefined",
                "explanation": "undefined: the response is blank",
            }
        },
    }
    assert GeneratedAnswer.from_dict(answer(BLANK).to_dict()).meta == {"model": "m"}
