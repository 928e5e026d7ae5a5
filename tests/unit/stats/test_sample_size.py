import numpy as np
import pytest
from scipy import stats

from sgi.stats.intervals import clustered_standard_error
from sgi.stats.means import mean_interval
from sgi.stats.pilots import (
    difference_pilot,
    kappa_shares_pilot,
    mean_pilot,
    normal_difference_pilot,
    normal_pilot,
    normal_scores_pilot,
    share_pilot,
)
from sgi.stats.prediction_powered import plan_labels, prediction_powered_mean
from sgi.stats.sample_size import Claim, SampleSize, detectable_difference


def needed(pilot, claim, value=None, power=0.8):
    return SampleSize(pilot, claim, pilot.value if value is None else value).needed(power)


@pytest.mark.parametrize("limit", [-0.02, -0.1, -0.3])
def test_without_a_change_it_is_the_smallest_number_whose_bound_reaches_the_limit(limit):
    pilot = difference_pilot(np.zeros(5), np.zeros(5), width=1.0)
    many = needed(pilot, Claim("above", limit))
    assert 1 - 0.025 ** (1 / many) <= -limit < 1 - 0.025 ** (1 / (many - 1))


@pytest.mark.parametrize(("share", "limit"), [(0.9, 0.8), (0.98, 0.95), (0.7, 0.6)])
def test_a_gate_on_a_share_has_the_power_of_the_binomial_distribution(share, limit):
    many = needed(share_pilot(share), Claim("above", limit))
    made = (np.arange(many) < np.arange(many + 1)[:, None]).astype(float)
    passes = [k for k in range(many + 1) if mean_interval(made[k], low=0, high=1).low >= limit]
    assert 0.8 <= stats.binom.sf(passes[0] - 1, many, share) <= 0.87
    mirrored = needed(share_pilot(1 - share), Claim("below", 1 - limit))
    assert mirrored == pytest.approx(many, rel=0.1)


@pytest.mark.parametrize("power", [0.6, 0.8, 0.95])
def test_a_normal_mean_needs_as_many_as_a_t_test(power):
    plan = SampleSize(normal_pilot(0.1, 0.3), Claim("above", 0.0), 0.1)
    many = plan.needed(power)
    exact = stats.nct.sf(stats.t.ppf(0.975, many - 1), many - 1, np.sqrt(many) / 3)
    assert exact == pytest.approx(power, abs=0.02)
    assert plan.power(many) == pytest.approx(power, abs=0.02)


def test_a_quarter_of_the_distance_needs_sixteen_times_as_many_beyond_the_largest_sample():
    near, far = (needed(normal_difference_pilot(gap, 1.0), Claim("above", 0.0), gap) for gap in (0.005, 0.02))
    assert near > 20_000 >= far
    assert near == pytest.approx(16 * far, rel=0.02)


def test_rows_of_one_question_count_less_than_rows_of_several():
    values = np.resize([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 80)
    rows, doubled = (
        needed(mean_pilot(values, clusters, low=0, high=1), Claim("above", 0.6))
        for clusters in (None, np.arange(80) // 2)
    )
    assert doubled == pytest.approx(rows, rel=0.1)  # both rows of a question are alike, so half are wasted


@pytest.mark.parametrize(("value", "limit"), [(0.7, 0.8), (0.8, 0.8)])
def test_no_number_helps_a_value_beyond_the_limit(value, limit):
    assert needed(share_pilot(value), Claim("above", limit), value) is None


def test_a_pilot_without_failures_cannot_have_any():
    values = np.append(np.ones(50), 0.9)
    plan = SampleSize(mean_pilot(values, low=0, high=1), Claim("above", 0.5), 0.6)
    assert not plan.is_reachable
    assert SampleSize(share_pilot(0.5), Claim("above", 0.5), 0.6).is_reachable


def test_the_range_of_the_number_is_that_of_the_variance():
    gaps = 0.1 + 0.3 * stats.norm.ppf((np.arange(40) + 0.5) / 40)
    plan = SampleSize(difference_pilot(np.zeros(40), gaps, width=5.0), Claim("above", 0.0), 0.1)
    low, high = plan.spread_range(1000)
    chi2 = 1000 * 39 / stats.chi2.ppf([0.975, 0.025], 39)
    assert (low, high) == pytest.approx(tuple(chi2), rel=0.1)


def test_the_width_of_an_auroc_needs_more_labels_than_its_mean_width():
    pilot = normal_scores_pilot(0.8, 0.3)
    assert pilot.value == pytest.approx(0.8, abs=0.003)
    many = needed(pilot, Claim("width", 0.05), 0.8)
    interval = pilot.interval(*pilot.sample(many, 0.8), 0.95)
    assert (interval.high - interval.low) / 2 == pytest.approx(0.05, rel=0.05)
    assert needed(pilot, Claim("above", 0.7), 0.8) < many


def test_a_guessed_kappa_has_its_value_and_an_undefined_one_is_avoided():
    pilot = kappa_shares_pilot(0.75, 0.3)
    plan = SampleSize(pilot, Claim("above", 0.6), 0.75)
    powers = [plan.power(count) for count in (62, 124, 247, 494)]
    assert pilot.value == pytest.approx(0.75, abs=0.002)
    assert powers == sorted(powers)
    assert 0 < powers[0] < 0.3


@pytest.mark.parametrize("tests", [1, 3, 10])
def test_the_detectable_difference_has_the_power_of_a_t_test(tests):
    sums, sizes = np.random.default_rng(8).normal(size=25), np.full(25, 4)
    shift = detectable_difference(sums, sizes, tests=tests) / clustered_standard_error(sums, sizes)
    power = stats.nct.sf(stats.t.ppf(1 - 0.025 / tests, 24), 24, shift)
    assert 0.8 <= power <= 0.82  # the interval is a little wider than Student's


def test_equal_differences_have_no_known_spread():
    assert detectable_difference(np.full(30, 0.1) + np.linspace(0, 1e-17, 30), np.ones(30)) is None
    assert detectable_difference(np.zeros(30), np.ones(30)) is None


NOTHING = float("nan")


@pytest.mark.parametrize(("rows", "start", "noise"), [(300, 40, 0.3), (3000, 40, 0.05), (3000, 80, 0.6)])
def test_the_planned_labels_give_the_target_width(rows, start, noise):
    rng, target = np.random.default_rng(7), 0.08
    ratios, more = [], []
    for _ in range(60):
        scores = rng.beta(2, 1, rows)
        truth = (rng.random(rows) < np.clip(scores + rng.normal(0, noise, rows), 0, 1)).astype(float)
        plan = plan_labels(np.where(np.arange(rows) < start, truth, NOTHING), scores, target=target)
        labels = np.where(np.arange(rows) < start + plan.more, truth, NOTHING)
        interval = prediction_powered_mean(labels, scores, bounds=(0, 1)).interval
        ratios.append((interval.high - interval.low) / 2 / target)
        more.append(plan.more)
    assert np.median(more) > 10
    assert np.median(ratios) == pytest.approx(1.0, abs=0.06)


def test_no_plan_without_spread_and_no_more_labels_than_rows():
    scores = np.linspace(0, 1, 30)
    assert plan_labels([1.0] * 8 + [NOTHING] * 22, scores) is None
    assert plan_labels([1.0, 0.0] + [NOTHING] * 28, scores) is None
    labels = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0] + [NOTHING] * 24
    every = plan_labels(labels, scores, target=1e-6)
    assert every.more == 24
    assert 0.1 < every.final_half_width < every.half_width  # all labels are not enough, and the plan says so
    assert plan_labels(labels, scores, target=2.0).more == 0
    assert plan_labels(labels, np.full(30, 0.5)).half_width > 0.2


def test_answers_to_one_question_are_not_independent():
    """Each question has 20 equal rows, so its interval is far wider than that of as many questions."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(40), 20)
    scores = rng.random(40)[clusters]
    labels = np.where(clusters < 10, rng.random(40)[clusters] < 0.5, NOTHING)
    interval = prediction_powered_mean(labels, scores, clusters, bounds=(0, 1)).interval
    half = (interval.high - interval.low) / 2
    plan, rows = (plan_labels(labels, scores, present=present) for present in (half, None))
    assert plan.half_width == pytest.approx(half)
    assert plan.half_width > 2 * rows.half_width
    assert plan.more > rows.more
