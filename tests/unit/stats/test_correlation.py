import numpy as np
import pytest

from sgi.stats.effects import correlation, pearson, spearman
from support.slow import slow


def pairs(generator, n, rho):
    first, noise = generator.normal(size=(2, n))
    return first, rho * first + np.sqrt(1 - rho**2) * noise


def test_it_is_the_coefficient_of_its_kind():
    first, second = pairs(np.random.default_rng(0), 50, 0.5)
    assert correlation(first, second).value == pearson(first, second)
    assert correlation(first, np.exp(second), kind="spearman").value == spearman(first, second)


@pytest.mark.parametrize(
    ("n", "rho", "kind"), [(12, 0.0, "pearson"), *slow((30, 0.8, "pearson"), (30, 0.0, "spearman"))]
)
def test_intervals_cover(n, rho, kind):
    generator = np.random.default_rng(9)
    found = [correlation(*pairs(generator, n, rho), kind=kind).interval for _ in range(300)]
    assert 0.92 <= np.mean([one.low <= rho <= one.high for one in found]) <= 0.99


def test_copies_of_a_question_add_no_certainty():
    first, second = pairs(np.random.default_rng(2), 40, 0.5)
    clusters = np.repeat(np.arange(40), 5)
    once = correlation(first, second).interval
    copied = correlation(np.repeat(first, 5), np.repeat(second, 5), clusters).interval
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(
    ("first", "second", "clusters", "value", "reason"),
    [
        ([1, 2, 3], [5, 5, 5], None, None, "one side does not vary"),
        ([1, 2, 3, 4], [2, 1, 4, 3], None, 0.6, "4 questions are too few; 5 are needed"),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], None, 1.0, "no spread"),
        ([0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6], None, 0.6546536707079772, "without one question one side"),
    ],
)
def test_where_there_is_no_interval_there_is_a_reason(first, second, clusters, value, reason):
    found = correlation(first, second, clusters)
    assert found.value == (None if value is None else pytest.approx(value))
    assert found.interval is None
    assert reason in found.reason


def test_a_level_out_of_range_is_refused():
    with pytest.raises(ValueError, match="level"):
        correlation([1, 2], [2, 1], level=1.0)
