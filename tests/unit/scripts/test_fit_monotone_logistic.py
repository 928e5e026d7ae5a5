import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from support.scripts import load_script

with load_script("fit_monotone_logistic") as _script:
    Labelled, fit = _script.Labelled, _script.fit


def random_rows(seed, n=400, tilt=(1.0, 0.5, -1.0)):
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(n, 3))
    log_odds = signals @ np.array(tilt)
    return Labelled(signals, rng.random(n) < 1 / (1 + np.exp(-log_odds)), rng.normal(size=n))


def test_the_fit_recovers_the_weights_and_none_is_negative():
    fitted = fit([random_rows(0, 20_000)], ridge=0.0)
    assert fitted.weights[:2] / fitted.spreads[:2] == pytest.approx([0.85, 0.42], rel=0.15)
    assert fitted.weights[2] == 0


def test_positive_weights_equal_those_of_scikit_learn():
    rows = random_rows(1, 3000, tilt=(1.0, 0.5, 0.2))
    ours = fit([rows], ridge=0.0)
    nuisance = (rows.nuisance - rows.nuisance.mean()) / rows.nuisance.std()
    table = np.column_stack([rows.signals, nuisance])
    theirs = LogisticRegression(C=1e9, class_weight="balanced").fit(table, rows.true)
    assert ours.weights / ours.spreads == pytest.approx(theirs.coef_[0][:3], abs=2e-3)


def test_a_signal_that_the_nuisance_explains_gets_little_weight():
    rng = np.random.default_rng(3)
    length = rng.normal(size=4000)
    true = rng.random(4000) < 1 / (1 + np.exp(-3 * length))
    proxy = (length + rng.normal(size=4000))[:, None]
    with_nuisance = fit([Labelled(proxy, true, length)], ridge=0.0).weights[0]
    without_nuisance = fit([Labelled(proxy, true, rng.normal(size=4000))], ridge=0.0).weights[0]
    assert with_nuisance < 0.1 * without_nuisance


def test_the_number_of_rows_does_not_change_the_weight_of_a_set():
    small, large = random_rows(4, 300), random_rows(5, 300, tilt=(0.2, 1.0, 0.1))
    many = Labelled(*(np.concatenate([column] * 10) for column in large))
    once = fit([small, large], ridge=1.0).weights
    assert fit([small, many], ridge=1.0).weights == pytest.approx(once, abs=0.05)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(0, 2))
def test_a_higher_signal_never_lowers_the_odds(seed, column):
    fitted = fit([random_rows(seed, 60)], ridge=1.0)
    rows = np.random.default_rng(seed).normal(size=(20, 3))
    higher = rows.copy()
    higher[:, column] += 1
    assert (fitted.log_odds(higher) >= fitted.log_odds(rows)).all()


def test_a_missing_signal_contributes_nothing():
    fitted = fit([random_rows(6)], ridge=1.0)
    assert fitted.contributions(np.array([[np.nan, 0.0, np.nan]]))[0][[0, 2]].tolist() == [0.0, 0.0]


def test_equal_input_gives_equal_bits():
    first, second = (fit([random_rows(7), random_rows(8)], ridge=1.0) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()


def test_labels_of_one_class_raise_an_error():
    rows = random_rows(9)
    with pytest.raises(ValueError, match="one class"):
        fit([Labelled(rows.signals, np.ones(400, dtype=np.bool_), rows.nuisance)], ridge=1.0)
