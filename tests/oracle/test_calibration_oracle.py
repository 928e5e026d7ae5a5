"""Calibration and conformal thresholds against scikit-learn, scipy and the textbook's quantile."""

import math

import numpy as np
import pytest

from sgi.stats.calibration import brier, expected_calibration_error, reliability
from sgi.stats.conformal import conformal_threshold
from sgi.stats.probability_maps import fit_isotonic, fit_platt

pytestmark = pytest.mark.oracle


def drawn(seed, *, n=700):
    generator = np.random.default_rng(seed)
    probabilities = generator.beta(2, 1.2, size=n)
    return probabilities, generator.random(n) < probabilities**1.5


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_reliability_equals_scikit_learns_curve(seed, binning, strategy):
    calibration = pytest.importorskip(
        "sklearn.calibration", reason="the oracle scikit-learn is not installed"
    )
    probabilities, labels = drawn(seed)
    theirs, mean = calibration.calibration_curve(labels, probabilities, n_bins=10, strategy=strategy)
    ours = reliability(probabilities, labels, binning=binning)
    assert ours.frequency == pytest.approx(tuple(theirs), abs=1e-12)
    assert ours.confidence == pytest.approx(tuple(mean), abs=1e-12)
    gaps = np.abs(theirs - mean) @ np.array(ours.rows) / len(labels)
    assert expected_calibration_error(probabilities, labels, binning=binning) == pytest.approx(
        gaps, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_brier_equals_scikit_learns(seed):
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle scikit-learn is not installed")
    probabilities, labels = drawn(seed)
    theirs = metrics.brier_score_loss(labels, probabilities)
    assert brier(probabilities, labels).score == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_platt_equals_scipys_minimum_of_the_smoothed_likelihood(seed):
    optimize = pytest.importorskip("scipy.optimize", reason="the oracle scipy is not installed")
    scores, labels = drawn(seed, n=[6, 40, 300][seed % 3])
    labels[:2] = [True, False]
    positives, negatives = labels.sum(), (~labels).sum()
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(line):
        odds = line[0] * scores + line[1]
        return np.sum(np.logaddexp(0, odds) - targets * odds)

    theirs = optimize.minimize(loss, np.zeros(2), method="BFGS", tol=1e-10).x
    made = fit_platt(scores, labels)
    assert (made.slope, made.intercept) == pytest.approx(tuple(theirs), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_equals_scipys_least_squares(seed):
    optimize = pytest.importorskip("scipy.optimize", reason="the oracle scipy is not installed")
    scores, labels = drawn(seed, n=200)
    ordered = np.argsort(scores)
    theirs = optimize.isotonic_regression(labels[ordered].astype(float)).x
    assert fit_isotonic(scores, labels).probability(scores[ordered]) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spread", ["continuous", "tied", "within 1e-15"])
def test_isotonic_has_the_bits_of_scikit_learns(seed, spread):
    isotonic = pytest.importorskip("sklearn.isotonic", reason="the oracle scikit-learn is not installed")
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=int(generator.integers(2, 400)))
    if spread == "tied":
        scores = scores.round(1)
    elif spread == "within 1e-15":
        scores = 0.5 + 1e-16 * generator.integers(0, 40, len(scores))
    labels = generator.random(len(scores)) < 1 / (1 + np.exp(-generator.normal() * scores))
    labels[:2] = [True, False]
    theirs = isotonic.IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, labels)
    ours = fit_isotonic(scores, labels)
    assert ours.scores == tuple(theirs.X_thresholds_)
    assert ours.probabilities == tuple(theirs.y_thresholds_)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.25])
def test_the_threshold_is_the_textbooks_quantile_of_nonconformity(rate):
    generator = np.random.default_rng(7)
    for n in (19, 20, 57, 200, 401):
        scores = generator.normal(size=n).round(1)
        level = math.ceil((n + 1) * (1 - rate) - 1e-9) / n
        if level <= 1:
            theirs = -np.quantile(-scores, level, method="inverted_cdf")
            assert conformal_threshold(scores, rate) == theirs
