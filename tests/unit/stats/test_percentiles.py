import numpy as np
import pytest
from scipy.stats import binom

from sgi.stats.percentiles import percentile


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 6, 60, 400, 5000])
def test_ends_are_the_order_statistics_of_the_binomial_distribution(share, n):
    estimate = percentile(np.arange(1, n + 1), share)

    low, high = estimate.low, estimate.high
    if low is not None:
        assert binom.cdf(low - 1, n, share) <= 0.025 < binom.cdf(low, n, share)
    if high is not None:
        assert binom.sf(high - 1, n, share) <= 0.025 < binom.sf(high - 2, n, share)
    assert (high is None) == (share**n > 0.025)
    assert (low is None) == ((1 - share) ** n > 0.025)
    assert (low is None or high is None) == (n < estimate.needed)


def test_equal_rows_of_a_cluster_count_once():
    values, clusters = np.repeat(np.arange(40), 25), np.repeat(np.arange(40), 25)

    estimate, alone = percentile(values, 0.95, clusters=clusters), percentile(np.arange(40), 0.95)

    assert estimate.rows == 40
    assert (estimate.value, estimate.low, estimate.high) == (alone.value, alone.low, None)


def test_without_values_nothing_is_known():
    assert percentile([], 0.95).value is None


def test_a_share_outside_the_range_is_an_error():
    with pytest.raises(ValueError, match="95"):
        percentile([1.0], 95)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("size", [1, 3])
def test_intervals_cover_the_percentile_of_skewed_values(share, size):
    draw = np.random.default_rng(7)
    truth = np.quantile(np.exp(draw.standard_normal(2_000_000)), share)
    hits = 0
    for _ in range(1000):
        common = np.repeat(draw.standard_normal(120), size)
        values = np.exp(np.sqrt(0.6) * common + np.sqrt(0.4) * draw.standard_normal(120 * size))
        clusters = np.repeat(np.arange(120), size)
        estimate = percentile(values, share, clusters=clusters)
        hits += estimate.low <= truth and (estimate.high is None or truth <= estimate.high)
    assert hits >= 935  # 95 % but for the noise of 1000 draws
