import numpy as np
import pytest

from sgi.stats import NoInterval, mean_interval, wilson_interval
from sgi.stats.intervals import (
    bootstrap_means,
    cluster_codes,
    effective_clusters,
    expanded_level,
    normal_quantile,
    student_quantile,
)


def clustered(generator, clusters, spread=1.0, most=5):
    """Values that share a part with their cluster, sizes 1 to ``most``; the true mean is 0."""
    codes = np.repeat(np.arange(clusters), generator.integers(1, most + 1, clusters))
    return spread * generator.normal(size=clusters)[codes] + generator.normal(size=len(codes)), codes


def test_equal_input_gives_equal_bits_and_another_seed_others():
    values, codes = clustered(np.random.default_rng(0), 50)
    assert mean_interval(values, codes) == mean_interval(values.copy(), codes.copy())
    assert mean_interval(values, codes) != mean_interval(values, codes, seed=1)


def test_names_of_clusters_do_not_matter():
    values, codes = clustered(np.random.default_rng(0), 50)
    named = [f"question {code:03}" for code in codes]
    assert (
        mean_interval(values, named) == mean_interval(values, codes) == mean_interval(values, codes * 7 + 3)
    )


def test_independent_rows_are_clusters_of_one():
    values = np.random.default_rng(0).normal(size=60)
    assert mean_interval(values) == mean_interval(values, np.arange(60))


def test_bootstrap_is_near_the_classical_interval():
    values = np.random.default_rng(1).normal(size=400)
    found = mean_interval(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.method == "bootstrap"
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_repeating_every_row_in_its_cluster_adds_no_certainty():
    values = np.random.default_rng(2).normal(size=200)
    once = mean_interval(values, np.arange(200))
    tenfold = mean_interval(np.repeat(values, 10), np.repeat(np.arange(200), 10))
    assert tenfold.low == pytest.approx(once.low, abs=1e-12)
    assert tenfold.high == pytest.approx(once.high, abs=1e-12)
    blind = mean_interval(np.repeat(values, 10))
    assert blind.high - blind.low < 0.4 * (once.high - once.low)


def test_above_twenty_thousand_clusters_the_standard_error_of_clusters_is_used():
    values, codes = clustered(np.random.default_rng(3), 20_001)
    found = mean_interval(values, codes)
    assert found.method == "normal"
    pulls: dict[int, float] = {}
    for value, code in zip(values - values.mean(), codes, strict=True):
        pulls[code] = pulls.get(code, 0.0) + value
    total = sum(pull**2 for pull in pulls.values())
    half = normal_quantile(0.95) * np.sqrt(total) / len(values)
    assert found.low == pytest.approx(values.mean() - half, rel=1e-9)
    assert found.high == pytest.approx(values.mean() + half, rel=1e-9)


def test_both_methods_agree_at_the_border():
    values, codes = clustered(np.random.default_rng(4), 20_001)
    normal = mean_interval(values, codes)
    kept = codes < 20_000
    bootstrap = mean_interval(values[kept], codes[kept])
    assert (normal.method, bootstrap.method) == ("normal", "bootstrap")
    width = normal.high - normal.low
    assert bootstrap.low == pytest.approx(normal.low, abs=0.05 * width)
    assert bootstrap.high == pytest.approx(normal.high, abs=0.05 * width)


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
    assert found.method == "unseen"


def test_equal_values_of_a_scale_without_ends_have_no_interval():
    for ends in ({}, {"low": 0.0}, {"high": 1.0}):
        assert "no known ends" in mean_interval([0.1] * 50, **ends).reason


def test_a_value_outside_the_scale_leaves_no_interval():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 1.1]
    assert mean_interval(values, low=0, high=1).reason == "a value lies outside the metric's scale, 0 to 1"
    values[-1] = 1 + 1e-12
    assert mean_interval(values, low=0, high=1).high <= 1
    with pytest.raises(ValueError, match="not a scale"):
        mean_interval(values, low=1, high=1)


def test_zero_and_one_in_few_rows_are_no_proof():
    for value in (0.0, 1.0):
        found = mean_interval([value] * 5, low=0, high=1)
        assert found.method == "wilson"
        assert found.high - found.low > 0.4
        assert found.low <= value <= found.high


def test_zeros_and_ones_in_clusters():
    share = {"low": 0.0, "high": 1.0}
    found = mean_interval([1.0] * 100, np.repeat(np.arange(5), 20), **share)
    assert found.method == "wilson of clusters"
    assert (found.low, found.high) == (mean_interval([1.0] * 5, **share).low, 1.0)
    values, clusters = [0, 1, 1, 1, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    mixed = mean_interval(values, clusters, **share)
    assert mixed.method == "wilson of clusters"
    assert 0.0 < mixed.low < 0.8 < mixed.high < 1.0
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
    assert found.high - found.low >= (plain := wilson_interval(40, 80)).high - plain.low


def test_few_clusters_are_given_more_room_than_their_percentiles():
    values, codes = clustered(np.random.default_rng(7), 12)
    found = mean_interval(values, codes)
    sums, sizes = np.bincount(codes, weights=values), np.bincount(codes)
    means = bootstrap_means(sums[:, None], sizes[:, None], 2000, 0)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.high - found.low > 1.1 * (high - low)
    tail = (1 - expanded_level(0.95, sizes)) / 2
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [tail, 1 - tail])), abs=1e-12)


def test_draws_are_those_of_writing_the_clusters_out():
    sums, sizes = np.array([1.0, 4.0, 9.0]), np.array([1, 2, 3])
    means = bootstrap_means(np.column_stack([sums, 2 * sums]), np.column_stack([sizes, sizes]), 50, seed=9)
    drawn = np.random.default_rng(9).integers(0, 3, size=(50, 3))
    np.testing.assert_allclose(means[:, 0], sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(means[:, 1], 2 * means[:, 0], rtol=1e-14)


def test_one_large_cluster_leaves_little_to_go_by():
    assert effective_clusters(np.array([3, 3, 3, 3])) == 4.0
    assert effective_clusters(np.array([1000, 1, 1, 1, 1])) == pytest.approx(1.0, abs=0.01)
    assert expanded_level(0.95, np.array([1000, 1, 1, 1, 1])) == pytest.approx(1.0, abs=1e-9)
    assert expanded_level(0.95, np.ones(12)) > expanded_level(0.95, np.ones(100)) > 0.95


def test_students_quantile_by_its_table():
    for freedom, quantile in ((5, 2.5706), (11, 2.2010), (29, 2.0452), (99, 1.9842)):
        assert student_quantile(0.95, freedom) == pytest.approx(quantile, rel=2e-4)
    assert student_quantile(0.95, 3) == pytest.approx(3.1824, rel=0.002)
    assert student_quantile(0.95, 0.1) == student_quantile(0.95, 1)


def test_few_clusters_have_no_bootstrap():
    reason = "4 clusters are too few for an interval; 5 are needed"
    assert mean_interval([0.1, 0.2, 0.3, 0.4]) == NoInterval(reason)
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5]).method == "bootstrap"
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5], [0, 0, 1, 2, 3]) == NoInterval(reason)


def test_wilson_by_its_formula():
    z = 1.959963984540054
    p, n = 0.7, 10
    centre, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = wilson_interval(7, 10)
    assert found.low == pytest.approx((centre - half) / (1 + z * z / n), rel=1e-12)
    assert found.high == pytest.approx((centre + half) / (1 + z * z / n), rel=1e-12)
    assert wilson_interval(0, 3).low == 0.0
    assert wilson_interval(3, 3).high == 1.0


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5), (float("nan"), 5)])
def test_what_is_no_share_is_refused(successes, n):
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(successes, n)


@pytest.mark.parametrize("bad", [[1.0, np.nan], [np.inf, 0.0], [[0.0, 1.0]], 1.0])
def test_values_that_have_no_mean_are_refused(bad):
    with pytest.raises(ValueError, match="finite values"):
        mean_interval(bad)


@pytest.mark.parametrize("options", [{"level": 0.0}, {"level": 1.0}, {"level": np.nan}, {"draws": 0}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match="level"):
        mean_interval([0.1, 0.2], **options)


def test_clusters_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"3 rows have clusters of shape \(2,\)"):
        cluster_codes([1, 2], 3)


def test_a_higher_level_is_wider():
    values = np.random.default_rng(5).normal(size=100)
    widths = [(i := mean_interval(values, level=level)).high - i.low for level in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    assert mean_interval(values, level=0.8).level == 0.8


@pytest.mark.parametrize(("size", "method"), [(1, "normal"), (5, "normal"), (50, "bootstrap")])
def test_half_a_million_values_have_an_interval_too(size, method):
    values = np.random.default_rng(0).random(500_000)
    found = mean_interval(values, np.arange(500_000) // size)
    assert found.method == method
    assert found.low < values.mean() < found.high
    assert found.high - found.low < 0.01


@pytest.mark.slow
def test_normal_intervals_of_clustered_data_cover_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr("sgi.stats.intervals.MOST_BOOTSTRAPPED", 1)
    generator = np.random.default_rng(11)
    trials, hits, blind = 1000, 0, 0
    for _ in range(trials):
        values, codes = clustered(generator, 100)
        found = mean_interval(values, codes)
        assert found.method == "normal"
        hits += found.low <= 0.0 <= found.high
        unaware = mean_interval(values)
        blind += unaware.low <= 0.0 <= unaware.high
    assert 0.93 <= hits / trials <= 0.97
    assert blind / trials < 0.88  # so the clusters are what makes it right


@pytest.mark.slow
def test_wilson_covers_where_the_bootstrap_would_say_zero_width():
    generator = np.random.default_rng(12)
    trials, truth = 4000, 0.95
    found = [mean_interval(generator.random(20) < truth, low=0, high=1) for _ in range(trials)]
    hits = sum(interval.low <= truth <= interval.high for interval in found)
    assert 0.92 <= hits / trials <= 0.99
