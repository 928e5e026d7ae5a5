"""Cost and gain of an entailment model in the summary of a run."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sgi
from sgi.engine.entailment_use import EntailmentAccumulator, EntailmentUse, uses_entailment
from sgi.engine.summary import Summary
from sgi.kernel.metric import Scores
from sgi.metrics.grounding.detector import Grounding
from sgi.stats.auroc_difference import auroc_difference
from support.entailment_models import counting_model

PASSAGES = ["the tower in paris is tall and old", "rome is old"]
ROWS = [
    {
        "id": str(number),
        "question": f"what about {number}",
        "contexts": PASSAGES,
        "response": f"The tower is {'not ' * (number % 3 == 0)}tall.{' Rome sold a boat.' * (number % 2)}",
        "label": number % 3 != 0,
    }
    for number in range(30)
]


@pytest.fixture
def model(tmp_path):
    return counting_model(tmp_path / "model")


def row(value, log_odds, pairs):
    sentences = [{"score": None if one is None else 0.5, "entailment_pairs": one or 0} for one in pairs]
    return value, {"signals": {"entailment": {"value": 0.5, "log_odds": log_odds}}, "sentences": sentences}


def scores_of(*rows):
    values = np.array([value for value, _ in rows])
    return Scores.of(values, details=[details for _, details in rows])


def test_pairs_sentences_and_rows_are_counted():
    accumulator = EntailmentAccumulator()
    accumulator.add(scores_of(row(0.3, -1.0, [3, None, 0]), row(0.7, 0.0, [0, 0])))
    accumulator.add(scores_of(row(0.4, -2.0, [2]), (0.9, {})))
    logit = np.log(0.3 / 0.7) + 1.0
    assert accumulator.first[0] == pytest.approx(1 / (1 + np.exp(-logit)))
    assert accumulator.first[1] == 0.7
    assert np.isnan(accumulator.first[3])
    counts = [accumulator.rows, accumulator.rows_read, accumulator.sentences, accumulator.sentences_read]
    assert counts == [3, 2, 5, 2]
    assert (accumulator.pairs, accumulator.changed) == (5, 2)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_score_at_the_end_stays_there(value):
    accumulator = EntailmentAccumulator()
    accumulator.add(scores_of(row(value, 1.0, [1])))
    assert accumulator.first.tolist() == [value]


@pytest.mark.parametrize("details", [{}, {"signals": 5}, {"signals": {"entailment": 3}, "sentences": []}])
def test_other_details_are_of_no_entailment_model(details):
    assert not uses_entailment(Scores.of(np.array([0.5]), details=[details]))


def test_a_run_without_a_model_has_no_use():
    assert sgi.evaluate(ROWS[:4], "grounding").summary().entailment == ()


def test_the_summary_compares_with_the_score_without_the_model(model):
    metric = Grounding(nli=str(model))
    result = sgi.evaluate(ROWS, [metric, "grounding"])
    (use,) = result.summary().entailment
    labels = [one["label"] for one in ROWS]
    plain, read = result["grounding"].values, result[metric.canonical].values
    known = auroc_difference(read, plain, labels, [*range(30)])
    assert use.gain == pytest.approx(known.value, abs=1e-9)
    assert use.interval.low == pytest.approx(known.interval.low, abs=1e-9)
    assert use.changed == int(((plain >= 0.5) != (read >= 0.5)).sum())
    assert (use.rows, use.rows_read, use.pairs) == (30, 30, 45 * 2)


def test_a_band_costs_fewer_pairs_and_says_so(model):
    whole = sgi.evaluate(ROWS, Grounding(nli=str(model))).summary().entailment[0]
    banded = sgi.evaluate(ROWS, Grounding(nli=str(model), nli_band="0.5:1.0")).summary().entailment[0]
    assert 0 < banded.pairs < whole.pairs
    assert banded.sentences_read < banded.sentences == whole.sentences
    text = " ".join(banded.notes())
    assert f"{banded.pairs:,} pairs" in text
    assert f"AUROC without the model {banded.auroc_without:.3f}" in text
    unlabelled = [{key: value for key, value in one.items() if key != "label"} for one in ROWS]
    use = sgi.evaluate(unlabelled, Grounding(nli=str(model))).summary().entailment[0]
    assert (use.gain, use.auroc_without) == (None, None)
    assert f"It moved the score of {use.changed:,} rows across 0.5." in " ".join(use.notes())


def test_it_is_stored_and_read_again(model):
    summary = sgi.evaluate(ROWS, Grounding(nli=str(model))).summary()
    again = Summary.from_dict(json.loads(json.dumps(summary.to_dict())))
    assert again.entailment == summary.entailment
    assert isinstance(again.entailment[0], EntailmentUse)
