from __future__ import annotations

import math
from importlib.metadata import entry_points

import inspect_ai
import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

from sgi.integrations.inspect_ai import sgi_scorer
from support.adapter_contract import AdapterContract, HostResult, HostRow


@solver
def replay():
    async def solve(state, generate):
        state.store.set("unrelated", 1)
        if "response" in state.metadata:
            state.output = ModelOutput.from_content("replay", state.metadata["response"])
        return state

    return solve


class TestInspectAi(AdapterContract):
    name = "inspect_ai"
    mean = "plain"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def evaluate(self, rows, metric, embedder=None):
        samples = [
            Sample(
                id=n,
                input=row.get("question", "?"),
                target=row.get("reference", ""),
                metadata={name: row[name] for name in ("contexts", "response") if name in row},
            )
            for n, row in enumerate(rows)
        ]
        task = Task(dataset=samples, solver=replay(), scorer=sgi_scorer([metric], embedder))
        (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(self.folder), display="none")
        assert log.status == "success", log.error
        recorded = {sample.id: sample.scores["sgi_scorer"] for sample in log.samples}
        means = {result.name: result.metrics["mean"].value for result in log.results.scores}
        assert means.keys() == {metric, f"{metric}.coverage"}
        return HostResult(
            [row_of(recorded[n], metric) for n in range(len(rows))],
            None if math.isnan(means[metric]) else means[metric],
            means[f"{metric}.coverage"],
        )


def row_of(score, metric):
    value = score.value[metric]
    return HostRow(None if math.isnan(value) else value, score.explanation)


def test_passages_of_the_store_come_before_those_of_the_data(tmp_path):
    @solver
    def rag():
        async def solve(state, generate):
            state.store.set("documents", [{"text": "It is 330 m tall."}])
            state.output = ModelOutput.from_content("rag", "It is 330 m tall.")
            return state

        return solve

    sample = Sample(
        input="How tall?", target=["330 m", "330 metres"], metadata={"contexts": ["It is green."]}
    )
    task = Task(dataset=[sample], solver=rag(), scorer=sgi_scorer(["grounding", "squad_em", "rouge_l"]))
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    score = log.samples[0].scores["sgi_scorer"]
    assert score.value["grounding"] > 0.5
    assert score.value["squad_em"] == 0.0
    assert [result.name for result in log.results.scores][::2] == ["grounding", "squad_em", "rouge_l"]


def test_inspect_finds_the_scorer_by_its_entry_point():
    (point,) = entry_points(group="inspect_ai", name="sgi")
    assert point.load().sgi_scorer is sgi_scorer
