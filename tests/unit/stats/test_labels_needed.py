"""The number of labels that an interval needs, against the interval that these labels give."""

import numpy as np
import pytest

from sgi.stats.prediction_powered import plan_labels, prediction_powered_mean

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
