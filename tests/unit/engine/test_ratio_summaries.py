from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.analysis.gate.gate import gate
from sgi.engine.summarise import column_summary, ratio_interval
from sgi.kernel.metric import RATIO
from sgi.kernel.metric_column import MetricColumn
from sgi.stats.intervals import Interval, NoInterval, bounded_ratio
from support.scored_runs import run


def sgi_column(values, *, version=3, unit=RATIO):
    made = np.array(values, dtype=np.float64)
    return MetricColumn("sgi", made, np.zeros(len(made), np.int8), 0.0, None, version=version, unit=unit)


def with_copies(seed=0, value=314.0):
    """56 answers nearer their question than their passage, and 4 that copy their passage."""
    return np.r_[np.random.default_rng(seed).uniform(0.8, 0.95, 56), np.full(4, value)]


# Scores of version 1 had no cap: a copy had θ(r,q)/1e-8.
@pytest.mark.parametrize("column", [
    sgi_column(with_copies()),
    sgi_column(with_copies(value=1e8), version=1, unit=""),
    sgi_column(with_copies(value=1e8), version=0, unit=""),
])  # fmt: skip
def test_a_few_copies_do_not_lift_the_mean_of_all_answers_above_one(column):
    made = column_summary(column, np.arange(60))
    assert made.is_ratio
    assert made.interval.low < 0.95
    assert made.mean < 1.02
    assert made.deviation < 1.0
    report = gate(run(column), "sgi>1")
    assert not report.passed
    (check,) = report.checks
    assert (check.value, check.bound) == (made.mean, made.interval.low)


def test_a_run_that_is_nearer_its_passages_still_passes():
    values = np.random.default_rng(1).uniform(1.2, 1.6, 60)
    made = column_summary(sgi_column(values), np.arange(60))
    assert made.mean == pytest.approx(values.mean(), rel=0.02)
    assert gate(run(sgi_column(values)), "sgi>1").passed


def test_a_ratio_and_its_inverse_have_inverse_means():
    values = with_copies()
    one, other = (column_summary(sgi_column(given), np.arange(60)) for given in (values, 1 / values))
    assert one.mean * other.mean == pytest.approx(1.0)


def test_no_values_have_no_mean():
    made = column_summary(sgi_column([np.nan, np.nan]), np.arange(2))
    assert (made.mean, made.interval, made.is_ratio) == (None, None, True)


def test_an_interval_without_a_finite_upper_end_is_none():
    assert isinstance(ratio_interval(Interval(0.5, 1.0, 0.95, "bootstrap")), NoInterval)
    made = column_summary(sgi_column([1e300] * 60, version=1), np.arange(60))
    assert np.isfinite(made.mean)


def test_a_difference_agrees_with_that_on_the_bounded_scale():
    rng = np.random.default_rng(2)
    before, after = rng.uniform(0.7, 1.2, 60), rng.uniform(0.9, 1.4, 60)
    (found,) = compare(run(sgi_column(before)), run(sgi_column(after), name="new")).metrics
    bounded = [
        replace(sgi_column(bounded_ratio(values)), metric="share", high=1.0, unit="")
        for values in (before, after)
    ]
    (same,) = compare(run(bounded[0]), run(bounded[1], name="new")).metrics
    made, plain = found.difference, same.difference
    assert (found.verdict, made.p) == (same.verdict, plain.p)
    assert made.difference == pytest.approx(made.second - made.first)
    slope = made.difference / plain.difference
    assert made.interval.low == pytest.approx(slope * plain.interval.low)
    assert found.is_ratio
    assert not same.is_ratio


def test_copies_do_not_hide_that_a_run_got_worse():
    before, after = with_copies(0), with_copies(0)
    before[:56] += 0.3
    after[-4:] *= 0.9
    (found,) = compare(run(sgi_column(before)), run(sgi_column(after), name="new")).metrics
    assert found.verdict == "worse"
    assert found.changed[0].difference == pytest.approx(-0.3)
