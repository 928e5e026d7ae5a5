import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.logistic_map import LogisticMap, fit_logistic


def sigmoid(odds):
    return 1 / (1 + np.exp(-odds))


def population(clusters, rows, slope, rng):
    """Scores, labels and clusters with an intraclass correlation of 0.5 of both, and a logistic truth."""
    from scipy import stats

    codes = np.repeat(np.arange(clusters), rows)
    scores, latent = (
        np.sqrt(0.5) * rng.normal(size=clusters)[codes] + np.sqrt(0.5) * rng.normal(size=len(codes))
        if rows > 1
        else rng.normal(size=len(codes))
        for _ in range(2)
    )
    return scores, stats.norm.cdf(latent) < sigmoid(slope * scores), codes


def test_the_fit_is_the_maximum_of_its_formula():
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=30), np.arange(30) % 2 == 0
    fitted = fit_logistic(scores, labels)
    standard = (scores - fitted.centre) / fitted.spread

    def objective(intercept, slope):
        odds = intercept + slope * standard
        return (labels * odds - np.logaddexp(0, odds)).sum() + np.log(slope) - slope / 2

    best = objective(fitted.intercept, fitted.slope)
    for change in (-1e-3, 1e-3):
        assert objective(fitted.intercept + change, fitted.slope) < best
        assert objective(fitted.intercept, fitted.slope + change) < best


@pytest.mark.parametrize("labels", [np.arange(30) >= 15, np.arange(30) < 15])
def test_separated_and_reversed_classes_have_a_positive_finite_slope(labels):
    fitted = fit_logistic(np.arange(30.0), labels)
    assert 0 < fitted.slope < 20
    low, high = fitted.interval(np.arange(30.0))
    assert (np.isfinite(low) & (low < high) & (high <= 1)).all()


def test_equal_scores_give_the_smoothed_share():
    fitted = fit_logistic(np.full(30, 0.4), np.arange(30) < 9)
    assert fitted.probability([0.0, 0.4, 1.0]) == pytest.approx([9.5 / 31] * 3)
    low, high = fitted.interval([0.4])
    assert low[0] < 0.2
    assert high[0] > 0.4


@pytest.mark.parametrize("reach", [1e-150, 1e-6, 1e150, 1e300])
def test_any_scale_gives_the_same_probabilities(reach):
    scores, labels = np.array([-1.0, -0.5, 0.2, 0.4, 0.9, 1.0]), [0, 0, 1, 0, 1, 1]
    scaled = fit_logistic(scores * reach, labels)
    assert scaled.probability(scores * reach) == pytest.approx(
        fit_logistic(scores, labels).probability(scores)
    )


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [([1, 2], [1, 1], "same label"), ([np.nan, 2], [0, 1], "NaN"), ([np.inf, 2], [0, 1], "infinite")],
)
def test_rows_that_cannot_be_fitted_are_refused(scores, labels, words):
    with pytest.raises(ValueError, match=words):
        fit_logistic(scores, labels)


def test_no_value_has_no_probability_and_no_interval():
    fitted = fit_logistic([1, 2, 3, 4], [0, 1, 0, 1])
    assert np.isnan([fitted.probability([np.nan])[0], *(end[0] for end in fitted.interval([np.nan]))]).all()


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.booleans(), st.integers(0, 5)), min_size=4, max_size=40
    ).filter(lambda rows: len({label for _, label, _ in rows}) == 2)
)
def test_a_fit_is_rising_covers_its_probability_and_reads_back(rows):
    scores, labels, clusters = (np.array(column) for column in zip(*rows, strict=True))
    fitted = fit_logistic(scores, labels, clusters)
    places = np.sort(np.concatenate([scores, [-1e300, 1e300]]))
    probabilities = fitted.probability(places)
    low, high = fitted.interval(places)
    assert (np.diff(probabilities) >= 0).all()
    assert ((low <= probabilities) & (probabilities <= high) & (low >= 0) & (high <= 1)).all()
    assert LogisticMap.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "rows", "slope"), [(30, 1, 0.3), (30, 1, 1.0), (30, 1, 4.0), (30, 2, 1.5), (15, 4, 1.5)]
)
def test_the_interval_covers_the_true_probability(clusters, rows, slope):
    """docs/internals/statistics.md has more cases; here the rows of a question are as alike as 0.5."""
    rng = np.random.default_rng(2)
    places = np.array([-1.6, -0.7, 0.0, 0.7, 1.6])
    covered, sets = np.zeros(len(places)), 400
    for _ in range(sets):
        while True:
            scores, labels, codes = population(clusters, rows, slope, rng)
            if min(labels.sum(), (~labels).sum()) >= 8:
                break
        low, high = fit_logistic(scores, labels, codes).interval(places)
        truth = sigmoid(slope * places)
        covered += (low <= truth) & (truth <= high)
    assert (covered / sets).min() >= 0.93
