from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from support.scripts import load_script

with load_script("fit_monotone_logistic") as _script:
    Labelled, fit = _script.Labelled, _script.fit


def made(seed, n=400, tilt=(1.0, 0.5, -1.0)):
    draw = np.random.default_rng(seed)
    signals = draw.normal(size=(n, 3))
    odds = signals @ np.array(tilt)
    return Labelled(signals, draw.random(n) < 1 / (1 + np.exp(-odds)), draw.normal(size=n))


def test_it_finds_the_weights_and_none_below_zero():
    fitted = fit([made(0, 20_000)], ridge=0.0)
    assert fitted.weights[:2] / fitted.spreads[:2] == pytest.approx([0.85, 0.42], rel=0.15)
    assert fitted.weights[2] == 0


def test_it_is_scikit_learns_logistic_where_signs_agree():
    rows = made(1, 3000, tilt=(1.0, 0.5, 0.2))
    ours = fit([rows], ridge=0.0)
    nuisance = (rows.nuisance - rows.nuisance.mean()) / rows.nuisance.std()
    table = np.column_stack([rows.signals, nuisance])
    theirs = LogisticRegression(C=1e9, class_weight="balanced").fit(table, rows.true)
    assert ours.weights / ours.spreads == pytest.approx(theirs.coef_[0][:3], abs=2e-3)


def test_a_strong_ridge_makes_the_weights_equal():
    fitted = fit([made(2, tilt=(1.0, 0.5, 0.2))], ridge=1e6)
    assert np.ptp(fitted.weights) < 1e-3
    assert fitted.weights.mean() > 0.1


def test_what_the_nuisance_explains_is_not_learnt():
    draw = np.random.default_rng(3)
    length = draw.normal(size=4000)
    true = draw.random(4000) < 1 / (1 + np.exp(-3 * length))
    shadow = (length + draw.normal(size=4000))[:, None]
    with_it = fit([Labelled(shadow, true, length)], ridge=0.0).weights[0]
    without = fit([Labelled(shadow, true, draw.normal(size=4000))], ridge=0.0).weights[0]
    assert with_it < 0.1 * without


def test_every_set_counts_the_same_however_many_rows_it_has():
    small, large = made(4, 300), made(5, 300, tilt=(0.2, 1.0, 0.1))
    many = Labelled(*(np.concatenate([column] * 10) for column in large))
    once = fit([small, large], ridge=1.0).weights
    assert fit([small, many], ridge=1.0).weights == pytest.approx(once, abs=0.05)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(0, 2))
def test_more_of_a_signal_never_lowers_the_odds(seed, column):
    fitted = fit([made(seed, 60)], ridge=1.0)
    rows = np.random.default_rng(seed).normal(size=(20, 3))
    higher = rows.copy()
    higher[:, column] += 1
    assert (fitted.log_odds(higher) >= fitted.log_odds(rows)).all()


def test_a_signal_that_a_row_lacks_adds_nothing():
    fitted = fit([made(6)], ridge=1.0)
    assert fitted.contributions(np.array([[np.nan, 0.0, np.nan]]))[0][[0, 2]].tolist() == [0.0, 0.0]


def test_equal_input_gives_equal_bits():
    first, second = (fit([made(7), made(8)], ridge=1.0) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()


def test_labels_of_one_class_are_refused():
    rows = made(9)
    with pytest.raises(ValueError, match="one class"):
        fit([Labelled(rows.signals, np.ones(400, dtype=np.bool_), rows.nuisance)], ridge=1.0)
