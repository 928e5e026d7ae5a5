"""The always-valid test that traffic looks like fitted values; its errors: scripts/simulate.py guards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sgi.stats.traffic_monitor import ALARM, Evidence, TrafficMonitor, traffic_limits

SIDES = {"score": ["below"], "words": ["below", "above"]}


@pytest.fixture
def limits():
    generator = np.random.default_rng(1)
    return traffic_limits({name: generator.normal(size=100) for name in SIDES}, SIDES, other_share=0.1)


def test_the_shares_are_quantiles_of_beta(limits):
    assert len(limits) == 9
    bounds = stats.beta.ppf(1 - 0.01 / 9, [10, 25, 50], [91, 76, 51])
    assert [limit.share for limit in limits] == pytest.approx([*0.1 + 0.9 * bounds] * 3)


def test_the_limits_of_both_sides_mirror_each_other():
    values = np.arange(1, 101.0)
    limits = traffic_limits({"words": values}, {"words": ["below", "above"]}, other_share=0.0)
    assert [limit.limit for limit in limits] == [10, 25, 50, 91, 76, 51]


def test_the_evidence_is_the_sum_over_all_beginnings():
    """Compared with the sum written out, for one limit."""
    beyond = np.random.default_rng(2).random(30) < 0.7
    evidence = Evidence([0.4])
    for each in beyond:
        evidence.add([each])
    weights = -np.diff(1 / np.log(np.arange(31) + np.e))
    alternatives = 0.4 + 0.6 * np.array([0.05, 0.15, 0.3, 0.5, 0.8])
    factors = np.where(beyond[:, None], alternatives / 0.4, (1 - alternatives) / 0.6)
    total = sum(weight * factors[start:].prod(axis=0) for start, weight in enumerate(weights))
    assert evidence.total == pytest.approx(total.mean())


def test_a_change_is_found_and_named(limits):
    monitor = TrafficMonitor(limits)
    generator = np.random.default_rng(3)
    for _ in range(2000):
        monitor.observe({"score": generator.normal(), "words": generator.normal()})
    assert monitor.difference is None
    while monitor.difference is None:
        monitor.observe({"score": generator.normal() - 2.5, "words": generator.normal()})
    assert (monitor.difference.value, monitor.difference.side) == ("score", "below")
    assert monitor.answers < 2050
    found = monitor.answers
    monitor.observe({"score": 0.0, "words": 0.0})
    assert monitor.answers == found


def test_no_value_is_no_evidence(limits):
    monitor = TrafficMonitor(limits)
    for _ in range(1000):
        monitor.observe({"score": None, "words": None})
    assert monitor.difference is None


def test_evidence_does_not_overflow():
    evidence = Evidence([0.3])
    for _ in range(5000):
        evidence.add([True])
    assert ALARM < evidence.total < np.inf


def test_without_limits_nothing_is_found():
    monitor = TrafficMonitor(traffic_limits({"words": [1.0]}, {"words": ["below"]}, other_share=0.0))
    for _ in range(100):
        monitor.observe({"words": -5.0})
    assert monitor.difference is None
