from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sgi.metrics.grounding.grounding_model import GroundingModel, SentenceLimits, grounding_model, sigmoid
from sgi.metrics.grounding.signals import TRAINED, Signals
from sgi.stats.monotone_logistic import MonotoneLogistic

SIGNALS = st.lists(st.floats(-2, 2), min_size=len(Signals._fields), max_size=len(Signals._fields))
EMPTY = st.lists(st.booleans(), min_size=len(Signals._fields), max_size=len(Signals._fields))


def chance(values):
    return float(sigmoid(grounding_model().logistic.log_odds(np.array([values], dtype=np.float64)))[0])


def test_the_committed_weights_are_of_the_signals_and_can_only_be_read_one_way():
    parts = grounding_model().weights
    assert tuple(part.signal for part in parts) == Signals._fields
    assert all(part.weight >= 0 for part in parts)
    assert all(np.isfinite([part.weight, part.centre, part.spread]).all() for part in parts)
    assert np.isfinite(grounding_model().intercept)


def test_the_committed_weights_use_every_signal_of_support():
    weights = {part.signal: part.weight for part in grounding_model().weights}
    assert min(weights[name] for name in TRAINED) > 0


def test_where_the_weights_were_learnt_is_written_down():
    model = grounding_model()
    assert model.recipe == "scripts/train_grounding.py"
    assert len(model.trained_on) >= 2
    assert min(model.trained_on.values()) > 100


@given(SIGNALS, EMPTY, st.sampled_from(Signals._fields), st.floats(0, 2))
def test_less_of_a_signal_is_never_better_supported(values, empty, signal, less):
    before = np.where(empty, np.nan, values)
    after = before.copy()
    after[Signals._fields.index(signal)] -= less
    assert chance(after) <= chance(before)


@given(SIGNALS, EMPTY)
def test_contributions_and_the_intercept_are_the_log_odds(values, empty):
    row = np.where(empty, np.nan, values)[None]
    logistic = grounding_model().logistic
    parts = logistic.contributions(row)
    assert parts.sum() + logistic.intercept == pytest.approx(logistic.log_odds(row)[0])
    assert (parts[0][np.array(empty)] == 0).all()


def test_what_was_fitted_is_written_down_and_read_back_to_the_bit():
    rng = np.random.default_rng(0)
    weights, centres, spreads = rng.random((3, len(Signals._fields)))
    limits = SentenceLimits(unsupported=0.1, partly=1 / 3)
    logistic = MonotoneLogistic(weights, centres, spreads, 1 / 3)
    model = GroundingModel.of(logistic, limits, {"a": 2}, "recipe.py")
    read = GroundingModel.model_validate_json(model.model_dump_json())
    assert read == model
    for name, values in (("weights", weights), ("centres", centres), ("spreads", spreads)):
        assert getattr(read.logistic, name).tolist() == values.tolist()
    assert (read.logistic.intercept, read.trained_on, read.recipe) == (1 / 3, {"a": 2}, "recipe.py")


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_lower_score_never_has_a_better_verdict(score, other):
    worst_first = ["unsupported", "partly", "supported"]
    low, high = (
        worst_first.index(grounding_model().sentence_limits.verdict(each, is_contradicted=False))
        for each in sorted((score, other))
    )
    assert low <= high
    assert grounding_model().sentence_limits.verdict(score, is_contradicted=True) == "contradicted"


@pytest.mark.parametrize(("name", "value"), [("weight", -0.1), ("spread", 0.0), ("centre", "low")])
def test_weights_that_make_no_sense_are_refused(name, value):
    body = grounding_model().model_dump(mode="json")
    body["weights"][0][name] = value
    with pytest.raises(ValidationError, match=name):
        GroundingModel.model_validate(body)
