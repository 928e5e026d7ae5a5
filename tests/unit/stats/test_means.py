import numpy as np
import pytest
from scipy.stats import binom

from sgi.stats.intervals import NoInterval, normal_quantile, wilson_ends
from sgi.stats.means import (
    MIN_CLUSTERS_UNBOUNDED,
    degrees_of_freedom,
    mean_interval,
    skew_corrected_interval,
)
from sgi.stats.percentiles import percentile


def clustered(generator, clusters, spread=1.0, most=5):
    """Values that share a part with their cluster, sizes 1 to ``most``; the true mean is 0."""
    codes = np.repeat(np.arange(clusters), generator.integers(1, most + 1, clusters))
    return spread * generator.normal(size=clusters)[codes] + generator.normal(size=len(codes)), codes


def test_names_of_clusters_do_not_matter():
    values, codes = clustered(np.random.default_rng(0), 50)
    named = [f"question {code:03}" for code in codes]
    assert (
        mean_interval(values, named) == mean_interval(values, codes) == mean_interval(values, codes * 7 + 3)
    )


def test_independent_rows_are_clusters_of_one():
    values = np.random.default_rng(0).normal(size=60)
    assert mean_interval(values) == mean_interval(values, np.arange(60))


def test_repeating_every_row_in_its_cluster_adds_no_certainty():
    values = np.random.default_rng(2).normal(size=200)
    once = mean_interval(values, np.arange(200))
    tenfold = mean_interval(np.repeat(values, 10), np.repeat(np.arange(200), 10))
    assert tenfold.low == pytest.approx(once.low, abs=1e-12)
    assert tenfold.high == pytest.approx(once.high, abs=1e-12)
    blind = mean_interval(np.repeat(values, 10))
    assert blind.high - blind.low < 0.4 * (once.high - once.low)


@pytest.mark.parametrize("clusters", [4, 5])
def test_values_that_are_equal_in_fewer_than_five_clusters_have_no_interval(clusters):
    found = mean_interval([0.7] * 20, np.arange(20) % clusters, low=0.0, high=1.0)
    assert isinstance(found, NoInterval) == (clusters < 5)


@pytest.mark.parametrize(
    ("values", "clusters"), [([], None), ([0.5], None), ([0.1, 0.9], [3, 3]), ([1], None)]
)
def test_fewer_than_two_clusters_have_no_interval(values, clusters):
    assert "too few for an interval" in mean_interval(values, clusters, low=0.0, high=1.0).reason


def test_equal_values_leave_room_for_values_that_were_not_seen():
    found = mean_interval([75.0] * 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], low=0.0, high=100.0)
    share = 1 - 0.025 ** (1 / 5)
    assert (found.low, found.high) == pytest.approx((75 - 75 * share, 75 + 25 * share), rel=1e-12)
    assert found.method == "unseen values"


def test_equal_values_of_a_scale_without_ends_have_no_interval():
    for ends in ({}, {"low": 0.0}, {"high": 1.0}):
        assert "no known ends" in mean_interval([0.1] * 50, **ends).reason


def test_a_value_outside_the_scale_leaves_no_interval():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 1.1]
    assert mean_interval(values, low=0, high=1).reason == "a value is outside the metric's scale, 0 to 1"
    values[-1] = 1 + 1e-12
    assert mean_interval(values, low=0, high=1).high <= 1
    with pytest.raises(ValueError, match="must be below the high end"):
        mean_interval(values, low=1, high=1)


def test_zeros_and_ones_in_clusters():
    share = {"low": 0.0, "high": 1.0}
    found = mean_interval([1.0] * 100, np.repeat(np.arange(5), 20), **share)
    assert found.method == "unseen values"
    assert (found.low, found.high) == (mean_interval([1.0] * 5, **share).low, 1.0)
    values, clusters = [0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1], np.arange(12) // 2
    mixed = mean_interval(values, clusters, **share)
    assert mixed.method == "wilson of clusters"
    assert 0.0 < mixed.low < 2 / 3 < mixed.high < 1.0
    percent = mean_interval(100 * np.array(values), clusters, low=0, high=100)
    assert (percent.low, percent.high) == (100 * mixed.low, 100 * mixed.high)
    assert isinstance(mean_interval([0, 1, 1, 1], [0, 0, 1, 1], **share), NoInterval)


def test_rows_that_repeat_a_yes_or_no_add_no_certainty():
    values = (np.random.default_rng(6).random(200) < 0.7).astype(float)
    once, tenfold = (
        mean_interval(np.repeat(values, k), np.repeat(np.arange(200), k), low=0, high=1) for k in (1, 10)
    )
    assert (once.method, tenfold.method) == ("wilson", "wilson of clusters")
    assert tenfold.low == pytest.approx(once.low, abs=0.002)
    assert tenfold.high == pytest.approx(once.high, abs=0.002)


def test_clusters_that_differ_less_than_chance_count_no_more_than_their_rows():
    values = np.tile([0.0, 1.0], 40)  # every cluster holds one of each, so they do not vary at all
    found = mean_interval(values, np.repeat(np.arange(40), 2), low=0, high=1)
    low, high = wilson_ends(0.5, 80, normal_quantile(0.95))
    assert found.high - found.low >= high - low


@pytest.mark.parametrize("bad", [[1.0, np.nan], [np.inf, 0.0], [[0.0, 1.0]], 1.0])
def test_values_that_have_no_mean_are_refused(bad):
    with pytest.raises(ValueError, match="finite values"):
        mean_interval(bad)


@pytest.mark.parametrize("options", [{"level": 0.0}, {"level": 1.0}, {"level": np.nan}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match="level"):
        mean_interval([0.1, 0.2], **options)


def test_a_higher_level_is_wider():
    values = np.random.default_rng(5).normal(size=100)
    widths = [(i := mean_interval(values, level=level)).high - i.low for level in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    assert mean_interval(values, level=0.8).level == 0.8


def test_a_single_difference_among_many_equal_values_leaves_room_for_more():
    made = mean_interval([1.0] * 29 + [0.95], low=0, high=1)
    assert made.method == "rare values"
    assert made.low < 0.9  # the old bootstrap said 0.993
    assert made.high <= 1


def test_rounding_does_not_make_a_value_rare():
    values = 0.7 + 1e-9 * np.random.default_rng(0).normal(size=20)
    assert mean_interval(values, low=0, high=1).method == "unseen values"


def test_rare_values_of_a_scale_without_ends_have_no_interval():
    made = mean_interval([0.0] * 97 + [1.0, 2.0, 3.0])
    few = "only 3 of 100 clusters have another mean value than the rest"
    assert made == NoInterval(f"{few}, and the metric's scale has no known ends")


def test_values_that_vary_alike_in_each_cluster_are_not_called_equal():
    varied, clusters = np.tile([0.1, 0.2, 0.3], 40), np.repeat(np.arange(40), 3)
    assert mean_interval(varied, clusters).reason.startswith("all clusters have the same mean value, ")
    assert mean_interval([0.2] * 120, clusters).reason.startswith("all values are equal, ")


def test_a_scale_without_ends_needs_more_clusters():
    values = np.random.default_rng(1).normal(size=MIN_CLUSTERS_UNBOUNDED)
    assert mean_interval(values).method == "skew-corrected t"
    assert "too few" in mean_interval(values[1:]).reason
    assert mean_interval(values[1:], low=-9, high=9).method == "skew-corrected t"


def test_symmetric_values_have_students_interval():
    values = np.concatenate([gaps := np.linspace(0.1, 1, 20), -gaps])
    made = skew_corrected_interval(values, np.ones(40), 0.95)
    assert degrees_of_freedom(values, np.ones(40)) == 39
    half = 2.0227 * values.std(ddof=1) / np.sqrt(40)
    assert (made.low, made.high) == pytest.approx((-half, half), rel=1e-3)


def test_the_interval_is_longer_on_the_side_of_the_far_values():
    values = np.random.default_rng(2).exponential(size=30)
    made, mirror = (skew_corrected_interval(sign * values, np.ones(30), 0.95) for sign in (1, -1))
    assert made.high - values.mean() > 1.3 * (values.mean() - made.low)
    assert (made.low, made.high) == pytest.approx((-mirror.high, -mirror.low))


def test_far_values_leave_fewer_degrees_of_freedom():
    values = np.array([*np.linspace(-1, 1, 29), 50.0])
    assert degrees_of_freedom(values, np.ones(30)) < 3
    assert degrees_of_freedom(values[:29], np.ones(29)) == 28


def test_few_clusters_have_no_interval():
    reason = "4 clusters are too few for an interval; 5 are needed"
    scale = {"low": 0.0, "high": 1.0}
    assert mean_interval([0.1, 0.2, 0.3, 0.4], **scale) == NoInterval(reason)
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5], **scale).method == "skew-corrected t"
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5], [0, 0, 1, 2, 3], **scale) == NoInterval(reason)


@pytest.mark.parametrize("size", [1, 5, 50])
def test_half_a_million_values_have_the_normal_interval(size):
    values = np.random.default_rng(0).random(500_000)
    made = mean_interval(values, np.arange(500_000) // size, low=0, high=1)
    half = 1.96 * values.std() / np.sqrt(500_000)
    assert (made.low, made.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=5e-5)


def test_whole_weights_give_the_mean_of_repeated_rows_but_not_their_certainty():
    generator = np.random.default_rng(5)
    values, weights = generator.random(40), generator.integers(1, 6, 40)
    weighted = mean_interval(values, weights=weights, low=0, high=1)
    repeated = mean_interval(np.repeat(values, weights), np.repeat(np.arange(40), weights), low=0, high=1)
    assert weighted.low + weighted.high == pytest.approx(repeated.low + repeated.high, abs=0.01)
    assert weighted.high - weighted.low >= repeated.high - repeated.low


def test_equal_weights_change_nothing():
    values, codes = clustered(np.random.default_rng(6), 30)
    for column, scale in ((values, {}), ((values > 0) * 1.0, {"low": 0, "high": 1})):
        for rows, weight in ((len(column), 7.0), (60, 0.3)):  # the mean of 60 times 0.3 is rounded
            part = column[:rows], codes[:rows]
            assert mean_interval(*part, weights=np.full(rows, weight), **scale) == mean_interval(
                *part, **scale
            )


def test_few_heavy_rows_leave_no_interval():
    weights = np.ones(60)
    weights[:2] = 1000
    found = mean_interval(np.linspace(0, 1, 60), weights=weights, low=0, high=1)
    assert found.reason == "2.1 effective clusters are too few for an interval; 5 are needed"


@pytest.mark.parametrize("bad", [[1, 0, 1], [1, -1, 1], [1, np.nan, 1], [1, 1]])
def test_weights_must_be_above_zero(bad):
    with pytest.raises(ValueError, match="above 0"):
        mean_interval([0.1, 0.2, 0.3], weights=bad)


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


def test_questions_with_equally_many_rows_below_the_percentile_count_as_rows():
    values = np.concatenate([np.arange(101, 113), np.arange(901, 913)])  # a fast and a slow system
    assert percentile(values, 0.5, clusters=np.tile(np.arange(12), 2)) == percentile(values, 0.5)


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
