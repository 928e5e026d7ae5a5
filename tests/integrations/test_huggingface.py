from __future__ import annotations

import evaluate
import numpy as np
import pytest
from datasets import Dataset

import sgi
from sgi.integrations import huggingface
from sgi.integrations.huggingface import ScoreRows, SgiMetric
from support.adapter_contract import BLANK, NO_CONTEXTS, SUPPORTED, AdapterContract, HostResult, HostRow

INPUTS = {
    "predictions": "response",
    "references": "reference",
    "questions": "question",
    "contexts": "contexts",
}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path))


class TestHuggingFace(AdapterContract):
    name = "huggingface"

    def evaluate(self, rows, metric, embedder=None):
        columns = {name: [row.get(field) for row in rows] for name, field in INPUTS.items()}
        result = SgiMetric(metrics=metric, embedder=embedder).compute(**columns)
        texts = [
            f"{status}: {reason}"
            for status, reason in zip(result[f"{metric}_statuses"], result[f"{metric}_reasons"], strict=True)
        ]
        return HostResult(
            list(map(HostRow, result[f"{metric}_values"], texts)),
            result[metric],
            result[f"{metric}_coverage"],
        )


def test_a_row_instead_of_a_list_of_rows_is_refused():
    data = Dataset.from_dict({"response": ["Paris"], "reference": ["paris"]})
    with pytest.raises(sgi.UsageError, match="batched=True"):
        data.map(ScoreRows("squad_em"))
    with pytest.raises(sgi.UsageError, match="predictions is one text"):
        SgiMetric(metrics="squad_em").compute(predictions="Paris", references=["paris"])


def test_the_metric_loads_from_its_file():
    metric = evaluate.load(huggingface.__file__, metrics=["squad_em"])
    result = metric.compute(predictions=["Paris.", None], references=[["London", "paris"], "Rome"])
    assert result["squad_em_values"] == [1.0, None]


def test_rows_can_be_added_one_by_one_and_in_batches():
    metric = SgiMetric(metrics="squad_em")
    metric.add(prediction="a", reference="a")
    metric.add_batch(predictions=np.array(["b", "c"]), references=["b", "d"])
    assert metric.compute()["squad_em_values"] == [1.0, 1.0, 0.0]


def test_an_unknown_input_is_refused():
    with pytest.raises(sgi.UsageError, match="'context' is not an input"):
        SgiMetric().compute(predictions=["a"], context=["b"])


def test_map_adds_typed_columns_with_nulls():
    rows = [NO_CONTEXTS, BLANK, SUPPORTED]
    dataset = Dataset.from_list([{"contexts": None} | row for row in rows])
    score = ScoreRows("grounding")
    scored = dataset.map(
        score, batched=True, batch_size=1, writer_batch_size=1, features=score.features(dataset)
    )
    (value,) = sgi.evaluate([SUPPORTED], "grounding")["grounding"].values.tolist()
    assert scored["grounding"][:] == [None, None, value]
    assert scored["grounding_status"][:] == ["missing", "undefined", "ok"]
    assert scored["grounding_reason"][:] == ["the sample has no contexts", "the response is blank", ""]
    assert scored["question"][:] == dataset["question"][:]


def test_map_in_several_processes(socket_enabled):  # the processes talk through sockets
    dataset = Dataset.from_list([SUPPORTED] * 4)
    score = ScoreRows(["grounding"])
    scored = dataset.map(score, batched=True, num_proc=2, features=score.features(dataset))
    assert len(set(scored["grounding"][:])) == 1


def test_map_finds_mapped_columns():
    dataset = Dataset.from_list([{"x": "Paris", "gold": "paris"}])
    score = ScoreRows("squad_em", columns={"response": "x", "reference": "gold"})
    assert dataset.map(score, batched=True)["squad_em"][:] == [1.0]
