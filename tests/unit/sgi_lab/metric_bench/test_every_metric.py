"""The bench over every built-in metric: what asks no judge, and what asks one whose replies are perturbed."""

from collections import Counter
from importlib.resources import files
from random import Random

import numpy as np
import pytest

import sgi
from sgi.kernel.errors import JudgeUnavailableError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric
from sgi.kernel.sample import CONTEXTS, LABEL, QUESTION, REFERENCE, RESPONSE
from sgi.testing import ScriptedJudge
from sgi.testing.judging import typical_judge
from sgi_lab.metric_bench.bench import bench
from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS
from sgi_lab.metric_bench.measures import Verdict
from support.example_metrics import example_metrics

FIELDS = QUESTION | CONTEXTS | RESPONSE | REFERENCE | LABEL
SCORED = [text for text in example_metrics().values() if metric(text).spec.needs <= FIELDS]
ASKING = [text for text in SCORED if isinstance(metric(text), JudgedMetric)]
SILENT = [text for text in SCORED if text not in ASKING]
UNANSWERABLE = {"answered_unanswerable_judged", "correct_refusal_judged"}
"""Metrics of questions that cannot be answered; the typical reply is that a question can be."""
ROWS = [
    {
        "id": str(number),
        "question": f"How tall is tower {number}?",
        "contexts": [f"Tower {number} is {90 + number} m tall.", "It stands in Tolvik. Ada Stone built it."],
        "response": f"It is {90 + number} m tall [1]. Ada Stone built it [2].",
        "reference": f"{90 + number} m",
    }
    for number in range(2)
]


def test_every_metric_without_a_judge_has_a_cell_for_every_change(tmp_path):
    made = bench(
        files("sgi") / "data" / "halueval_qa_sample.jsonl", SILENT, n=10, cache=tmp_path / "vectors.db"
    )
    assert {metric.partition("(")[0] for metric in made.metrics} == {
        text.partition("(")[0] for text in SILENT
    }
    assert Counter(cell.perturbation for cell in made.cells) == dict.fromkeys(PERTURBATIONS, len(SILENT))
    for cell in made.cells:
        assert cell.pairs + cell.lost + cell.not_applicable == made.rows
        assert (cell.verdict is Verdict.TOO_FEW) <= (cell.pairs < 10)
        assert not any("failed" in reason for reason in cell.reasons), cell
        assert sum(cell.reasons.values()) == cell.lost
    assert made.cell("grounding", "contexts_exchanged").share == 1.0
    assert made.cell("rouge_l", "refusal").share == 1.0


def judge_with(fault):
    """A judge that gives a typical reply, perturbed in this way."""
    typical = typical_judge().reply

    def reply(inquiry, schema):
        if fault.corrupt is None:
            raise JudgeUnavailableError("Nothing came.")
        text = typical(inquiry, schema).model_dump_json()
        return fault.corrupt(text, Random(inquiry.prompt.name))

    return ScriptedJudge(reply)


@pytest.fixture(scope="module")
def clean():
    """The values of every judged metric with a judge that keeps its word."""
    return sgi.evaluate(ROWS, ASKING, judge=typical_judge(), cache=False)


def test_a_judge_that_keeps_its_word_gives_values(clean):
    assert {text.partition("(")[0] for text in ASKING} == {name.partition("(")[0] for name in clean}
    valued = [name for name, scores in clean.items() if scores.ok.any()]
    assert set(clean) - set(valued) == UNANSWERABLE


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_broken_judge_never_gives_another_value(fault, clean):
    result = sgi.evaluate(ROWS, ASKING, judge=judge_with(fault), cache=False, max_failures=1.0)
    faulty = 0
    for name, scores in result.items():
        kept = scores.values == clean[name].values
        assert (np.isnan(scores.values) | kept).all(), name
        faulty += int((~scores.ok & clean[name].ok).sum())
        assert all(scores.reasons[row] for row in np.flatnonzero(~scores.ok)), name
    assert faulty
