from __future__ import annotations

import json
import math

import dspy
import pytest
from dspy.teleprompt import BootstrapFewShot

from sgi.integrations.dspy import NoScoreError, SgiEvaluate, SgiMetric
from support.adapter_contract import (
    BLANK,
    CONTRADICTED,
    NO_CONTEXTS,
    SUPPORTED,
    AdapterContract,
    HostResult,
    HostRow,
)


class Replay(dspy.Module):
    """A program that returns the recorded response and passages of a question."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, number):
        row = self.rows[number]
        return dspy.Prediction(**{name: row[name] for name in ("response", "contexts") if name in row})


def examples(rows):
    return [
        dspy.Example(
            number=n, **{name: row[name] for name in ("question", "reference") if name in row}
        ).with_inputs("number")
        for n, row in enumerate(rows)
    ]


class TestDspy(AdapterContract):
    name = "dspy"

    def evaluate(self, rows, metric, embedder=None):
        scorer = SgiMetric(metric, embedder, columns={"question": "labels.question"})
        result = SgiEvaluate(devset=examples(rows), metric=scorer, num_threads=8)(Replay(rows))
        return HostResult(
            [row_of(score) for _, _, score in result.results],
            None if math.isnan(result.score) else result.score / 100,
            result.coverage,
        )


def row_of(score):
    return HostRow(None if math.isnan(score.score) else score.score, score.feedback)


def test_files_of_the_host_have_the_reason_and_no_number(tmp_path):
    rows = [SUPPORTED, BLANK]
    evaluate = SgiEvaluate(devset=examples(rows), metric=SgiMetric(), num_threads=1)
    evaluate(Replay(rows), save_as_json=str(tmp_path / "rows.json"))
    known, unknown = json.loads((tmp_path / "rows.json").read_text())
    assert known["grounding"] > 0.5
    assert unknown["grounding"] is None
    assert unknown["grounding_feedback"] == "undefined: the response is blank"


def test_the_metric_itself_raises_where_dspy_would_count_a_number():
    (example,) = examples([NO_CONTEXTS])
    with pytest.raises(NoScoreError, match="missing: the sample has no contexts"):
        SgiMetric()(example, dspy.Prediction(response=NO_CONTEXTS["response"]))


def test_a_program_that_fails_has_no_value():
    class Broken(dspy.Module):
        def forward(self, number):
            raise ValueError(number)

    result = SgiEvaluate(devset=examples([SUPPORTED]), metric=SgiMetric(), num_threads=1)(Broken())
    assert math.isnan(result.score)
    assert result.coverage == 0.0


def test_demonstrations_are_collected_only_from_examples_that_reach_the_minimum():
    class Program(dspy.Module):
        def __init__(self):
            super().__init__()
            self.predict = dspy.Predict("question -> response")

        def forward(self, question):
            answered = self.predict(question=question)
            passages = None if question == "none" else SUPPORTED["contexts"]
            return dspy.Prediction(response=answered.response, contexts=passages)

    replies = {"good": SUPPORTED["response"], "bad": CONTRADICTED["response"], "none": "?"}
    lm = dspy.utils.DummyLM({question: {"response": reply} for question, reply in replies.items()})
    trainset = [dspy.Example(question=question).with_inputs("question") for question in replies]
    with dspy.context(lm=lm):
        optimizer = BootstrapFewShot(
            metric=SgiMetric(minimum=0.5), max_bootstrapped_demos=3, max_labeled_demos=0
        )
        program = optimizer.compile(Program(), trainset=trainset)
    assert [demo.question for demo in program.predict.demos] == ["good"]
