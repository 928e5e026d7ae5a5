import numpy as np
import pytest

from sgi.stats.logistic_map import fit_bounds, fit_logistic
from support.slow import slow


def heavy_tails(rows, rng):
    """Scores with heavy tails, and labels of which at least 3 % are true at any score."""
    scores = 2 * rng.standard_t(2, size=rows)
    return scores, rng.random(rows) < truth(scores)


def truth(scores):
    return 0.03 + 0.97 * (1 + np.tanh(np.asarray(scores) / 2)) / 2


@pytest.mark.parametrize("rows", [300, *slow(30, 100)])
def test_the_upper_end_at_the_lowest_scores_covers_a_floor(rows):
    """Without the bounds, it is below the truth in 3, 65 and 95 % of the data sets."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(60):
        scores, labels = heavy_tails(rows, rng)
        if min(labels.sum(), (~labels).sum()) >= 8:
            wrong += fit_logistic(scores, labels).interval([-8.0])[1][0] < truth(-8.0)
    assert wrong <= 2


def test_the_order_of_equal_scores_does_not_matter():
    scores, labels = np.repeat([0.0, 1.0], 60), np.tile(np.arange(60) < 20, 2)
    for order in (np.arange(120), np.arange(120)[::-1]):
        bounds = fit_bounds(scores[order], labels[order], np.arange(120))
        assert bounds.highs == pytest.approx([0.4594, 0.4594], abs=0.001)
        assert bounds.lows == pytest.approx([0.2273, 0.2273], abs=0.001)


def test_copies_of_rows_make_no_bound_narrower():
    scores, labels, codes = np.arange(40.0), np.arange(40) % 3 == 0, np.arange(40)
    once = fit_bounds(scores, labels, codes)
    twice = fit_bounds(np.repeat(scores, 2), np.repeat(labels, 2), np.repeat(codes, 2))
    places = np.linspace(0, 39, 20)
    for one, other in zip(once.at(places), twice.at(places), strict=True):
        assert other == pytest.approx(one, abs=0.15)


def test_a_step_between_two_levels_is_no_logistic_curve():
    """As HaluEval: 10 % of the rows are true up to a high score, and nearly all above it."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=300)
    labels = rng.random(300) < np.where(scores < 0.7, 0.1, 0.98)
    fitted = fit_logistic(scores, labels)
    low, high = fitted.interval([0.5])
    assert not fitted.fits
    assert low[0] <= 0.1 <= high[0]
    assert fitted.probability([0.5])[0] > 0.2


def test_a_right_curve_is_rejected_as_often_as_promised():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(150, 100))
    labels = rng.random(scores.shape) < (1 + np.tanh(scores)) / 2
    rejected = [not fit_logistic(*data).fits for data in zip(scores, labels, strict=True)]
    assert 0.1 < np.mean(rejected) < 0.3
