from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import beta

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


def test_the_side_on_which_a_system_stands_does_not_matter():
    first, second, won, clusters = comparisons(1)
    swapped = bradley_terry(second, first, 1 - won, systems=4, clusters=clusters)
    straight = bradley_terry(first, second, won, systems=4, clusters=clusters)
    assert swapped.values == pytest.approx(straight.values)
    assert [one.low for one in swapped.intervals] == pytest.approx([one.low for one in straight.intervals])


def test_two_systems_have_the_log_odds_of_the_win_rate():
    result = bradley_terry([0] * 10, [1] * 10, [1, 1, 1, 0.5, 0.5, 0, 1, 1, 1, 0], systems=2)
    assert result.values[0] - result.values[1] == pytest.approx(np.log(7 / 3))


WINS, UNCONNECTED, NONE = "no upper end", "no chain of comparisons", "no comparisons"


@pytest.mark.parametrize(
    ("pairs", "won", "systems", "reason"),
    [
        ([(0, 1), (0, 2), (1, 2)], [1, 1, 1], 3, WINS),
        ([(0, 1), (0, 2)], [1, 0.5], 3, WINS),
        ([(0, 1), (1, 0), (0, 2), (1, 2)], [1, 1, 1, 1], 3, WINS),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], [1, 1, 1, 1], 4, UNCONNECTED),
        ([(0, 1), (2, 3)], [0.5, 0.5], 4, UNCONNECTED),
        ([(0, 1), (1, 0)], [1, 1], 3, UNCONNECTED),
        ([], [], 2, NONE),
    ],
)
def test_without_a_finite_maximum_there_are_no_strengths(pairs, won, systems, reason):
    result = bradley_terry([one for one, _ in pairs], [two for _, two in pairs], won, systems=systems)
    assert np.isnan(result.values).all()
    assert result.intervals == (None,) * systems
    assert reason in result.reason


@pytest.mark.parametrize("wins", [30, 29, 20])
def test_the_interval_of_two_systems_is_that_of_clopper_and_pearson(wins):
    won = [1.0] * wins + [0.0] * (30 - wins)
    interval = bradley_terry([0] * 30, [1] * 30, won, systems=2).intervals[0]
    low, high = beta.ppf(0.025, wins, 31 - wins), beta.ppf(0.975, wins + 1, 30 - wins)
    assert interval.low == pytest.approx(logit(low) / 2, abs=0.05)
    assert interval.high == (np.inf if wins == 30 else pytest.approx(logit(high) / 2, abs=0.2))


def test_a_system_that_won_all_duels_has_a_lower_end_only_and_the_others_an_upper_end():
    first, second, won, clusters = comparisons(0, 20, np.array([0.0, 0.0, 0.0]))
    won[(first == 0) | (second == 0)] = 1.0
    result = bradley_terry(first, second, won, systems=3, clusters=clusters)
    best, *others = result.intervals
    assert (np.isfinite(best.low), best.high) == (True, np.inf)
    assert all(one.low == -np.inf and np.isfinite(one.high) for one in others)
    assert np.isnan(result.values).all()
    assert "won all" in result.reason


def test_ties_and_cycles_of_three_systems_have_no_interval_of_no_width():
    for won in ([0.5, 0.5, 0.5], [1, 0, 1]):
        clusters = np.repeat(np.arange(30), 3)
        result = bradley_terry([0, 0, 1] * 30, [1, 2, 2] * 30, won * 30, systems=3, clusters=clusters)
        assert result.values == pytest.approx((0, 0, 0), abs=1e-9)
        assert all(one.low < -0.05 < 0.05 < one.high for one in result.intervals)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(combinations(range(4), 2))), st.sampled_from([0, 0.5, 1]), st.integers(0, 11)
        ),
        max_size=60,
    )
)
def test_strengths_are_finite_with_wins_as_expected_or_undefined_with_a_reason(rows):
    first, second = [pair[0] for pair, *_ in rows], [pair[1] for pair, *_ in rows]
    won = np.array([value for _, value, _ in rows], dtype=float)
    clusters = [cluster for *_, cluster in rows]
    result = bradley_terry(first, second, won, systems=4, clusters=clusters)
    values = np.array(result.values)
    assert (result.reason == "") == (None not in result.intervals and np.isfinite(values).all())
    if np.isnan(values).any():
        assert np.isnan(values).all()
        return
    one, two = np.array(first), np.array(second)
    p = 1 / (1 + np.exp(values[two] - values[one]))
    assert np.abs(values).max() < 30
    assert values.sum() == pytest.approx(0, abs=1e-9)
    for system in range(4):
        wins = won[one == system].sum() + (1 - won[two == system]).sum()
        assert p[one == system].sum() + (1 - p[two == system]).sum() == pytest.approx(wins, abs=1e-6)
    for interval, value in zip(result.intervals, values, strict=True):
        assert interval is None or interval.low < value < interval.high


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
    runs = 100
    for seed in range(runs):
        first, second, won, clusters = comparisons(seed, 60, spread=spread)
        intervals = bradley_terry(first, second, won, systems=4, clusters=clusters).intervals
        covered += [one.low <= true <= one.high for one, true in zip(intervals, reference, strict=True)]
    assert (covered / runs > 0.92).all()
