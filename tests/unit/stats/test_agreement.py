import numpy as np
import pytest

from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from support.slow import slow

BOTH = (cohen_kappa, krippendorff_alpha)


def noisy(generator, n, share=0.6, error=0.2):
    truth = (generator.random(n) < share).astype(float)
    return truth, np.where(generator.random(n) < error, 1 - truth, truth)


def test_alpha_of_krippendorffs_third_example():
    # Krippendorff (2011), C: twelve articles, two observers, five names a to e.
    codes = {name: place for place, name in enumerate("abcde")}
    first, second = ([codes[name] for name in row] for row in ("aabbdcccedda", "babbbcccedd" + "d"))
    assert krippendorff_alpha(first, second).value == pytest.approx(0.692, abs=5e-4)


def test_weights_are_the_distances_of_the_values():
    first, second = np.array([0.0, 1.0, 2.0, 3.0, 3.0]), np.array([0.0, 2.0, 2.0, 1.0, 3.0])
    gaps = first[:, None] - second[None, :]
    for weights, cost in (("nominal", gaps != 0), ("linear", np.abs(gaps)), ("quadratic", gaps**2)):
        expected = 1 - np.diag(cost).mean() / cost.mean()
        assert cohen_kappa(first, second, weights=weights).value == pytest.approx(expected, abs=1e-12)


def test_the_quadratic_kappa_of_measurements_is_lins_coefficient():
    generator = np.random.default_rng(1)
    first = generator.normal(size=200)
    second = 0.5 + 0.8 * first + generator.normal(0, 0.3, 200)
    lin = (
        2
        * np.cov(first, second, ddof=0)[0, 1]
        / (first.var() + second.var() + (first.mean() - second.mean()) ** 2)
    )
    assert cohen_kappa(first, second, weights="quadratic").value == pytest.approx(lin, abs=1e-12)


def test_full_agreement_of_few_rows_does_not_prove_full_agreement():
    for measure in BOTH:
        found = measure([0, 1] * 20, [0, 1] * 20)
        assert (found.value, found.interval.high) == (1.0, 1.0)
        assert 0.7 < found.interval.low < 0.9
        measured = measure(np.arange(40.0), np.arange(40.0))
        assert (measured.value, measured.interval) == (1.0, None)
        assert measured.reason == "no interval: the rows show no spread"


def test_agreement_by_a_constant_is_undefined():
    for measure in BOTH:
        for kind in ({}, {"weights": "quadratic"} if measure is cohen_kappa else {"scale": "interval"}):
            found = measure([1] * 30, [1] * 30, **kind)
            assert (found.value, found.interval) == (None, None)
            assert "all ratings on both sides are the same" in found.reason


def test_a_rater_who_says_one_thing_agrees_by_chance_alone():
    first = [0, 1] * 15
    assert cohen_kappa(first, [1] * 30).value == 0.0
    assert krippendorff_alpha(first, [1] * 30).value < 0  # their habits differ, and α does not excuse it


@pytest.mark.parametrize(("n", "rows"), [(0, "0 rows have"), (1, "1 row has")])
def test_too_few_rows_have_no_value(n, rows):
    for measure in BOTH:
        assert measure([1] * n, [0] * n).reason == f"{rows} both ratings; 2 are needed"


def test_few_questions_have_a_value_without_an_interval():
    first, second = noisy(np.random.default_rng(2), 40)
    for measure in BOTH:
        few = measure(first, second, np.arange(40) % 4)
        assert few.value == measure(first, second).value
        assert (few.interval, few.reason) == (None, "no interval: 4 questions are too few; 5 are needed")


def test_the_interval_is_over_questions():
    first, second = noisy(np.random.default_rng(3), 60)
    for measure in BOTH:
        alone = measure(first, second)
        copied = measure(np.repeat(first, 10), np.repeat(second, 10), np.repeat(np.arange(60), 10))
        taken_alone = measure(np.repeat(first, 10), np.repeat(second, 10))
        assert alone.interval.low < alone.value < alone.interval.high
        width = alone.interval.high - alone.interval.low
        assert copied.interval.high - copied.interval.low == pytest.approx(width, rel=0.05)
        assert taken_alone.interval.high - taken_alone.interval.low < 0.4 * width


def test_more_than_400_questions_are_left_out_in_random_groups():
    first, second = noisy(np.random.default_rng(4), 1200)
    for measure in BOTH:
        grouped = measure(first, second)
        assert grouped == measure(list(first), list(second))
        assert grouped.interval != measure(first, second, seed=1).interval
        fewer = measure(first[:400], second[:400]).interval
        width = grouped.interval.high - grouped.interval.low
        assert width == pytest.approx((fewer.high - fewer.low) / np.sqrt(3), rel=0.15)


def two_raters(generator, n, share, kappa):
    """Two raters with this share of yes and this κ."""
    apart = share * (1 - share) * (1 - kappa)
    cells = generator.choice(4, size=n, p=[share - apart, apart, apart, 1 - share - apart])
    return (cells < 2).astype(float), (cells % 2 == 0).astype(float)


@pytest.mark.parametrize(
    ("n", "share", "kappa"),
    [(20, 0.9, 0.4), *slow((20, 0.9, 0.7), (50, 0.95, 0.4), (100, 0.6, 0.6), (30, 0.5, 0.9))],
)
def test_intervals_cover_also_where_one_rating_is_frequent(n, share, kappa):
    """A bootstrap covers in 60 to 85 % of the first three cases."""
    generator = np.random.default_rng(5)
    made = [cohen_kappa(*two_raters(generator, n, share, kappa)) for _ in range(250)]
    covered = [one.interval.low <= kappa <= one.interval.high for one in made if one.interval]
    assert len(covered) > 230
    assert np.mean(covered) >= 0.92


@pytest.mark.parametrize("n", [12, *slow(100)])
def test_intervals_of_measurements_cover(n):
    generator = np.random.default_rng(6)
    covered = []
    for _ in range(200):
        shared, noise = generator.normal(size=n), generator.normal(size=(2, n))
        first, second = np.sqrt(0.6) * shared + np.sqrt(0.4) * noise
        found = cohen_kappa(first, second, weights="quadratic").interval
        covered.append(found.low <= 0.6 <= found.high)
    assert 0.91 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize(
    ("first", "second", "clusters"),
    [
        ([0, 1], [0], None),
        ([[0, 1]], [[0, 1]], None),
        ([0.0, np.nan], [0, 1], None),
        ([0, 1], [np.inf, 1], None),
        ([0, 1], [0, 1], [1, 2, 3]),
    ],
)
def test_what_is_no_pair_of_columns_is_refused(first, second, clusters):
    for measure in BOTH:
        with pytest.raises(ValueError, match=r"same shape|finite|clusters"):
            measure(first, second, clusters)


def test_a_level_out_of_range_is_refused():
    with pytest.raises(ValueError, match="level"):
        cohen_kappa([0, 1], [0, 1], level=1.0)


def test_whole_weights_of_rows_give_the_agreement_of_repeated_rows():
    generator = np.random.default_rng(9)
    first = generator.integers(0, 2, 40)
    second = np.where(generator.random(40) < 0.8, first, 1 - first)
    times = generator.integers(1, 5, 40)
    for measure in (cohen_kappa, krippendorff_alpha):
        weighted = measure(first, second, rows=times)
        repeated = measure(np.repeat(first, times), np.repeat(second, times), np.repeat(np.arange(40), times))
        assert weighted.value == pytest.approx(repeated.value, abs=0.01)
        assert weighted.interval.low < weighted.value < weighted.interval.high
