from dataclasses import replace

import numpy as np
import pytest

from sgi.stats.intervals import clustered_standard_error
from sgi.stats.means import mean_interval
from sgi.stats.paired_tests import McNemar, holm, mcnemar, paired_differences
from sgi.stats.sample_size import detectable_difference


def runs(generator, n=60, columns=1, effect=0.3):
    first = generator.random((n, columns))
    return first, first + effect + generator.normal(size=(n, columns))


def test_means_and_difference():
    first, second = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([0.3, 0.2, 0.4, 0.6, 0.5])
    (found,) = paired_differences(first, second)
    assert (found.pairs, found.clusters) == (5, 5)
    assert (found.first, found.second) == (pytest.approx(0.3), pytest.approx(0.4))
    assert found.difference == pytest.approx(0.1)
    assert (found.method, found.interval) == ("", None)
    assert "25 are needed" in found.no_interval


def test_the_interval_is_that_of_the_mean_of_the_differences():
    generator = np.random.default_rng(0)
    first, second = runs(generator, 90)
    clusters = np.repeat(np.arange(30), 3)
    (found,) = paired_differences(first, second, clusters)
    alone = mean_interval((second - first)[:, 0], clusters)
    assert found.interval == alone


def test_columns_are_compared_as_if_alone_but_for_what_is_detectable():
    first, second = runs(np.random.default_rng(1), columns=3)
    together = paired_differences(first, second)
    for column, found in enumerate(together):
        (alone,) = paired_differences(first[:, column], second[:, column])
        assert found.smallest > 1.1 * alone.smallest
        assert replace(found, smallest=None) == replace(alone, smallest=None)


def test_no_difference_that_exceeds_the_scale_is_called_detectable():
    gaps = np.array([0.9, -0.9, 0.3, -0.6, 0.8, -0.7])
    few, many = (paired_differences(np.zeros(n), np.resize(gaps, n), ranges=[1.0])[0] for n in (6, 60))
    assert (few.method, few.smallest) == ("skew-corrected t", None)
    assert few.no_smallest.startswith("no difference on the metric's scale would be found")
    assert (many.smallest < 1, many.no_smallest) == (True, "")


def test_a_run_beside_itself_differs_in_nothing():
    values = np.random.default_rng(3).random((50, 4))
    made = paired_differences(values, values, np.arange(50) // 2, ranges=[1.0, 100.0, 1.0, None])
    for found in made:
        assert (found.difference, found.p, found.smallest) == (0.0, 1.0, None)
    unseen = 1 - 0.025 ** (1 / 25)  # the share of questions that 25 may all miss
    for found, width in zip(made, (1.0, 100.0, 1.0), strict=False):
        assert (found.interval.low, found.interval.high) == pytest.approx((-width * unseen, width * unseen))
        assert (found.method, found.no_interval) == ("unseen values", "")
    assert (made[3].interval, made[3].method) == (None, "")
    assert "no known ends" in made[3].no_interval


@pytest.mark.parametrize("gap", [0.0, 0.25])
def test_differences_that_are_equal_in_fewer_than_five_clusters_have_no_interval(gap):
    values = np.arange(20.0)
    for clusters in (4, 5):
        (found,) = paired_differences(values, values + gap, np.arange(20) % clusters, ranges=[20.0])
        assert found.difference == gap
        assert (found.interval is None) == (clusters < 5)
        assert ("too few" in found.no_interval) == (clusters < 5)


def test_a_difference_wider_than_the_scale_leaves_no_interval():
    (found,) = paired_differences(np.zeros(8), np.arange(8.0), ranges=[1.0])
    assert found.interval is None
    assert found.no_interval == "a difference exceeds the width of the metric's scale, 1"


def test_whole_clusters_are_tested():
    gaps = np.repeat(np.random.default_rng(4).normal(0.3, 1, 20), 10)
    (together,) = paired_differences(np.zeros(200), gaps, np.repeat(np.arange(20), 10), ranges=[20.0])
    (once,) = paired_differences(np.zeros(20), gaps[::10], ranges=[20.0])
    (blind,) = paired_differences(np.zeros(200), gaps, ranges=[20.0])
    assert together.p == pytest.approx(once.p)
    assert blind.p < together.p
    assert together.smallest == pytest.approx(once.smallest)
    assert blind.smallest < 0.5 * together.smallest


def test_a_missing_value_takes_its_pair_out_of_its_column_alone():
    first, second = runs(np.random.default_rng(5), n=20, columns=2)
    first[3, 0] = second[7, 0] = np.nan
    holed, whole = paired_differences(first, second)
    kept = np.delete(np.arange(20), [3, 7])
    assert (holed.pairs, holed.clusters, whole.pairs) == (18, 18, 20)
    assert holed.first == pytest.approx(first[kept, 0].mean())
    assert holed.difference == pytest.approx((second - first)[kept, 0].mean())
    assert (whole.difference, whole.p) == (
        (alone := paired_differences(first[:, 1], second[:, 1])[0]).difference,
        alone.p,
    )


def test_no_pairs_have_no_numbers():
    (found,) = paired_differences([np.nan, 1.0], [1.0, np.nan])
    assert (found.pairs, found.clusters, found.first, found.second, found.difference) == (
        *(0, 0, None, None, None),
    )
    assert (found.interval, found.p, found.smallest, found.method) == (None, None, None, "")
    assert paired_differences(np.empty((0, 2)), np.empty((0, 2)))[1].pairs == 0
    assert paired_differences(np.empty((5, 0)), np.empty((5, 0))) == ()


def test_fewer_than_five_clusters_say_nothing_of_the_spread():
    first, second = runs(np.random.default_rng(6), n=40)
    (few,) = paired_differences(first, second, np.arange(40) // 10, ranges=[9.0])
    assert (few.clusters, few.interval, few.p, few.smallest) == (4, None, None, None)
    assert few.difference is not None
    (enough,) = paired_differences(first, second, np.arange(40) // 8, ranges=[9.0])
    assert enough.interval is not None
    assert enough.p is not None


def test_one_sparse_column_beside_a_full_one():
    first, second = runs(np.random.default_rng(7), n=3000, columns=2)
    first[6:, 0] = np.nan
    sparse, full = paired_differences(first, second, ranges=[9.0, 9.0])
    assert (sparse.clusters, full.clusters) == (6, 3000)
    assert sparse.interval.low < sparse.difference < sparse.interval.high


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1.0], [1.0, 2.0], "one shape"),
        ([[1.0, 2.0]], [[1.0]], "one shape"),
        ([np.inf], [1.0], "must be finite"),
        (1.0, 1.0, "must be finite"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), "must be finite"),
    ],
)
def test_what_does_not_pair_is_refused(first, second, message):
    with pytest.raises(ValueError, match=message):
        paired_differences(first, second)


@pytest.mark.parametrize("options", [{"level": 1.0}, {"clusters": [1, 2, 3]}])
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match=r"clusters|level"):
        paired_differences([1.0, 2.0], [1.0, 2.0], **options)


def test_an_equal_drop_in_each_of_60_questions_is_a_drop():
    first = np.random.default_rng(8).uniform(0.2, 0.9, 60)
    (found,) = paired_differences(first, first - 0.06, ranges=[1.0])
    assert found.method == "equal differences"
    assert found.p == pytest.approx(1.06**-60)  # the most likely sample of this kind with a mean of 0
    assert found.interval.high < 0 < 0.01 + found.interval.high
    (few,) = paired_differences(first[:30], first[:30] - 0.06, ranges=[1.0])
    assert few.interval.high > 0
    assert few.p > 0.05


def test_one_value_on_each_side_is_a_certain_difference_without_scale():
    (found,) = paired_differences(np.full(9, 100.0), np.full(9, 200.0))
    assert (found.p, found.interval) == (0.0, None)
    assert "certain" in found.no_interval
    (few,) = paired_differences(np.full(4, 100.0), np.full(4, 200.0))
    assert few.p is None


def test_mcnemar_by_hand():
    before, after = np.repeat([1, 0, 1, 0], [3, 9, 5, 5]), np.repeat([0, 1, 1, 0], [3, 9, 5, 5])
    tail = (1 + 12 + 66 + 220) / 2**12
    assert mcnemar(before, after) == McNemar(3, 9, pytest.approx(2 * tail), "exact binomial")
    before, after = np.repeat([1, 0], [10, 30]), np.repeat([0, 1], [10, 30])
    found = mcnemar(before, after)
    assert (found.method, found.p) == ("chi-squared", pytest.approx(0.0015654, rel=1e-4))  # chi² = 10


def test_mcnemar_of_nothing_changed():
    assert mcnemar([0, 1], [0, 1]) == McNemar(0, 0, 1.0, "exact binomial")
    assert mcnemar([], []).p == 1.0
    assert mcnemar([0, 1], [1, 0]).p == 1.0


@pytest.mark.parametrize(("first", "second"), [([0, 2], [0, 1]), ([0], [0, 1]), ([np.nan], [1]), (0, 1)])
def test_mcnemar_refuses_what_is_no_yes_or_no(first, second):
    with pytest.raises(ValueError, match="columns of 0 and 1"):
        mcnemar(first, second)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, None, 0.9]) == (1.0, None, 1.0)
    assert holm([]) == ()
    assert holm([None]) == (None,)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="must be in"):
            holm([bad])


def test_weighted_pairs_give_the_difference_of_the_weighted_means():
    generator = np.random.default_rng(8)
    first, second, weights = generator.random((3, 80))
    (found,) = paired_differences(first, second, weights=weights, ranges=[1.0])
    expected = [np.average(side, weights=weights) for side in (first, second)]
    assert [found.first, found.second] == pytest.approx(expected)
    assert found.difference == pytest.approx(expected[1] - expected[0])
    assert found.interval.low < found.difference < found.interval.high
    plain = detectable_difference(weights * (second - first), weights)
    error, larger = (
        clustered_standard_error(weights * (second - first), weights, jackknife=jackknife)
        for jackknife in (False, True)
    )
    assert found.smallest / plain == pytest.approx(larger / error)  # that of the interval
    (equal,) = paired_differences(first, second, weights=np.full(80, 3.0), ranges=[1.0])
    assert (equal,) == paired_differences(first, second, ranges=[1.0])
