"""False alarms and power of change points in simulated series (docs/internals/statistics.md)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.change_points import change_points
from sgi.stats.means import mean_interval
from support.slow import slow


def normal(seed, runs, *, count):
    return np.random.default_rng(seed).standard_normal((count, runs))


def shares(seed, runs, *, count, share=0.95, questions=100):
    """The means of 0/1 values, with the errors that their intervals imply."""
    passed = np.random.default_rng(seed).binomial(questions, share, (count, runs))
    errors = np.empty(questions + 1)
    for number in range(questions + 1):
        interval = mean_interval(np.arange(questions) < number, low=0, high=1)
        errors[number] = (interval.high - interval.low) / 3.92
    return passed / questions, errors[passed]


def alarms(series, errors, sizes=None):
    """The share of series with a false alarm in any check, one after each run."""
    found = 0
    for means, spread in zip(series, errors, strict=True):
        checks = (
            change_points(means[:n], spread[:n], None if sizes is None else sizes[:n]).changes
            for n in range(2, len(means) + 1)
        )
        found += any(checks)
    return found / len(series)


@pytest.mark.parametrize(("runs", "count"), [(20, 200), *slow((50, 400))])
def test_a_series_without_a_change_has_few_false_alarms_in_all_its_checks(runs, count):
    series = normal(2, runs, count=count)
    assert alarms(series, np.ones_like(series)) <= 0.05


@pytest.mark.parametrize(("runs", "count"), [(20, 200), *slow((50, 400))])
def test_shares_near_their_end_have_no_more_false_alarms(runs, count):
    """With weights from the error of each run, 12 and 27 % of series had one in 20 and 50 checks."""
    assert alarms(*shares(3, runs, count=count), np.full(runs, 100)) <= 0.05


def test_the_level_of_shares_is_not_biased():
    series, errors = shares(4, 3000, count=1)
    levels = [
        change_points(*one, np.full(100, 100)).levels
        for one in zip(series.reshape(-1, 100), errors.reshape(-1, 100), strict=True)
    ]
    assert np.mean(levels) == pytest.approx(0.95, abs=0.0015)


@pytest.mark.slow
def test_errors_of_different_sizes_cause_no_false_alarms():
    errors = np.random.default_rng(3).uniform(0.2, 5, size=(400, 20))
    assert alarms(normal(4, 20, count=400) * errors, errors) <= 0.05


@pytest.mark.parametrize(("drop", "after", "power"), [(4, 2, 0.7), (3, 3, 0.5), (3, 5, 0.85), (2, 10, 0.5)])
def test_a_drop_after_10_runs_is_found(drop, after, power):
    series = normal(8, 10 + after, count=500)
    series[:, 10:] -= drop
    found = [change_points(one, np.ones(10 + after)).changes for one in series]
    assert np.mean([bool(changes) for changes in found]) >= power
    near = [abs(changes[-1].position - 10) <= 1 for changes in found if changes]
    assert np.mean(near) >= 0.8


values = st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)), max_size=25)


@given(values, st.sampled_from([2.0**-20, 0.5, 4.0, 2.0**20]))
def test_the_unit_of_the_scale_does_not_matter(pairs, scale):
    means, errors = np.array(pairs).reshape(-1, 2).T
    steps, moved = change_points(means, errors), change_points(means * scale, errors * scale)
    assert [c.position for c in steps.changes] == [c.position for c in moved.changes]
    assert np.array(moved.levels) == pytest.approx(np.array(steps.levels) * scale)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(-9, 9)), min_size=1, max_size=4))
def test_exact_steps_are_found_where_they_are(segments):
    means = [float(value) for length, value in segments for _ in range(length)]
    steps = change_points(means, np.full(len(means), 0.01))
    true = [n for n in range(1, len(means)) if means[n] != means[n - 1]]
    assert [change.position for change in steps.changes] == true
    assert steps.levels == pytest.approx(means)


@pytest.mark.parametrize(("means", "errors"), [([1, np.nan], [1, 1]), ([1, 2], [1]), ([1, 2], [1, 0])])
def test_values_that_are_not_means_with_errors_are_refused(means, errors):
    with pytest.raises(ValueError, match="standard error"):
        change_points(means, errors)
