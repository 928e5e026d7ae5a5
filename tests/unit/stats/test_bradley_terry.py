from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sgi.stats.bradley_terry import bradley_terry

TRUE = np.array([0.8, 0.1, -0.2, -0.7])


def comparisons(seed, questions=100, strengths=TRUE, spread=0.0):
    """Every pair of systems on each question; ``spread`` makes the comparisons of a question dependent."""
    generator = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(len(strengths)), 2)))
    first, second = np.tile(pairs, (questions, 1)).T
    clusters = np.repeat(np.arange(questions), len(pairs))
    shift = generator.normal(0, spread, (questions, len(strengths))) if spread else np.zeros((questions, 4))
    gap = strengths[first] - strengths[second] + shift[clusters, first] - shift[clusters, second]
    won = (generator.random(len(first)) < 1 / (1 + np.exp(-gap))).astype(float)
    return first, second, won, clusters


def test_expected_wins_equal_the_wins():
    first, second, won, clusters = comparisons(0)
    won[::7] = 0.5
    values = np.array(bradley_terry(first, second, won, systems=4, clusters=clusters).values)
    p = 1 / (1 + np.exp(values[second] - values[first]))
    for system in range(4):
        wins = won[first == system].sum() + (1 - won[second == system]).sum()
        assert p[first == system].sum() + (1 - p[second == system]).sum() == pytest.approx(wins, abs=1e-8)
    assert values.sum() == pytest.approx(0, abs=1e-12)


def test_the_side_on_which_a_system_stands_does_not_matter():
    first, second, won, clusters = comparisons(1)
    swapped = bradley_terry(second, first, 1 - won, systems=4, clusters=clusters)
    straight = bradley_terry(first, second, won, systems=4, clusters=clusters)
    assert swapped.values == pytest.approx(straight.values)
    assert [one.low for one in swapped.intervals] == pytest.approx([one.low for one in straight.intervals])


def test_two_systems_have_the_log_odds_of_the_win_rate():
    result = bradley_terry([0] * 10, [1] * 10, [1, 1, 1, 0.5, 0.5, 0, 1, 1, 1, 0], systems=2)
    assert result.values[0] - result.values[1] == pytest.approx(np.log(7 / 3))


@pytest.mark.parametrize("won", [[1, 1, 1], [1, 0.5], []])
def test_without_a_finite_maximum_there_are_no_strengths(won):
    pairs = [(0, 1), (0, 2), (1, 2)][: len(won)]
    result = bradley_terry([one for one, _ in pairs], [two for _, two in pairs], won, systems=3)
    assert np.isnan(result.values).all()
    assert result.intervals == (None, None, None)
    assert "no upper end" in result.reason


def test_few_questions_have_strengths_without_intervals():
    result = bradley_terry([0, 0, 0], [1, 1, 1], [1, 1, 0], systems=2)
    assert np.isfinite(result.values).all()
    assert result.intervals == (None, None)
    assert "too few" in result.reason


@pytest.mark.parametrize(
    ("first", "second", "won"),
    [
        ([0], [0], [1]),
        ([0], [2], [1]),
        ([0], [-1], [1]),
        ([0], [1], [2]),
        ([0, 1], [1], [1]),
        ([0], [1], [np.nan]),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(first, second, won):
    with pytest.raises(ValueError, match=r"outcome|numbered|columns"):
        bradley_terry(first, second, won, systems=2)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_intervals_cover_the_true_strengths(spread):
    # With dependent comparisons the model's strengths are those of the average question.
    reference = np.array(bradley_terry(*comparisons(99, 20_000, spread=spread)[:3], systems=4).values)
    covered = np.zeros(4)
    runs = 400
    for seed in range(runs):
        first, second, won, clusters = comparisons(seed, 60, spread=spread)
        intervals = bradley_terry(first, second, won, systems=4, clusters=clusters).intervals
        covered += [one.low <= true <= one.high for one, true in zip(intervals, reference, strict=True)]
    assert (covered / runs > 0.92).all()
    assert (covered / runs < 0.98).all()
