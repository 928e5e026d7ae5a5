from __future__ import annotations

import pytest
from datasets import Dataset

import sgi
from sgi.integrations.huggingface import ScoreRows
from support.adapter_contract import BLANK, NO_CONTEXTS, SUPPORTED, AdapterContract, HostResult, HostRow

FIELDS = ("question", "contexts", "response", "reference")


class TestHuggingFace(AdapterContract):
    name = "huggingface"
    mean = "none"

    def evaluate(self, rows, metric, embedder=None):
        dataset = Dataset.from_dict({"row": list(range(len(rows)))})  # Arrow cannot hold an unreadable row
        score = ScoreRows(metric, embedder)

        def score_batch(batch):
            return score({field: [rows[row].get(field) for row in batch["row"]] for field in FIELDS})

        scored = dataset.map(score_batch, batched=True, features=score.features(dataset))
        texts = zip(scored[f"{metric}_status"], scored[f"{metric}_reason"], strict=True)
        return HostResult([HostRow(*row) for row in zip(scored[metric], map(": ".join, texts), strict=True)])


def test_a_row_instead_of_a_list_of_rows_is_refused():
    data = Dataset.from_dict({"response": ["Paris"], "reference": ["paris"]})
    with pytest.raises(sgi.errors.UsageError, match="batched=True"):
        data.map(ScoreRows("squad_em"))


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
