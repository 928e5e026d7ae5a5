"""Change points of simulated series with known truth: false alarms and power (docs/trends.md)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.change_points import change_points
from support.slow import slow

SERIES = 2000


def alarm_rate(series, errors=None):
    errors = np.ones_like(series) if errors is None else errors
    return np.mean([bool(change_points(*pair).changes) for pair in zip(series, errors, strict=True)])


def normal(seed, runs, *, count=SERIES):
    return np.random.default_rng(seed).standard_normal((count, runs))


@pytest.mark.parametrize("runs", [2, *slow(5, 20)])
def test_a_check_without_a_change_has_at_most_the_false_alarms_of_its_level(runs):
    assert alarm_rate(normal(1, runs)) <= 0.015  # 1 % and twice the error of the simulation


@pytest.mark.slow
def test_a_check_after_each_of_20_runs_without_a_change_has_few_false_alarms():
    """An alert of `sgi watch` is a last change to the worse in one of the 20 checks."""
    alerts = 0
    for series in normal(2, 20, count=1000):
        checks = (change_points(series[:n], np.ones(n)).changes for n in range(2, 21))
        alerts += any(found and found[-1].after < found[-1].before for found in checks)
    assert alerts / 1000 <= 0.05


@pytest.mark.slow
def test_errors_of_different_sizes_cause_no_false_alarms():
    errors = np.random.default_rng(3).uniform(0.2, 5, size=(SERIES, 20))
    assert alarm_rate(normal(4, 20) * errors, errors) <= 0.015


@pytest.mark.slow
def test_runs_that_share_their_questions_have_fewer_false_alarms():
    shared = np.sqrt(0.5) * (normal(5, 20) + normal(6, 1))
    assert alarm_rate(shared) <= 0.002


@pytest.mark.parametrize(("drop", "after", "power"), [(3, 2, 0.65), (3, 3, 0.85), (2, 5, 0.6), (2, 10, 0.8)])
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
