import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.probability_maps import (
    IsotonicMap,
    PlattMap,
    fit_base_rate,
    fit_isotonic,
    fit_platt,
)

FITS = [fit_platt, fit_isotonic, fit_base_rate]
finite = st.floats(-1e6, 1e6, allow_subnormal=False)


def rows(of=finite):
    pairs = st.lists(st.tuples(of, st.booleans()), min_size=2, max_size=60)
    return pairs.map(lambda found: tuple(map(np.array, zip(*found, strict=True)))).filter(
        lambda found: found[1].any() and not found[1].all()
    )


@given(rows(st.floats(-100, 100, allow_subnormal=False)), st.floats(0.01, 100), st.floats(-50, 50))
def test_platt_knows_no_scale(found, scale, shift):
    scores, labels = found
    plain = fit_platt(scores, labels).probability(scores)
    moved = scores * scale + shift
    if len(np.unique(moved)) == len(np.unique(scores)) and np.ptp(scores) > 1e-3 * (1 + abs(shift / scale)):
        assert fit_platt(moved, labels).probability(moved) == pytest.approx(plain, abs=1e-4)


few = st.integers(0, 6).map(float)
flat = st.sampled_from([3.0, np.nextafter(3.0, 4.0), 3.0 + 1e-9])
skewed = st.floats(-1, 1, allow_subnormal=False) | st.just(1e9)


@given(st.sampled_from([few, flat, skewed, finite]).flatmap(rows))
def test_platt_is_the_flat_place_of_the_likelihood_whatever_the_rows(found):
    """Warnings are errors here, so that no fit that gave up can pass."""
    scores, labels = found
    made = fit_platt(scores, labels)
    if len(np.unique(scores)) == 1:
        assert made.slope == 0
        return
    positives, negatives = labels.sum(), (~labels).sum()
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    misses = made.probability(scores) - targets
    standard = (scores - scores.mean()) / (scores.std() or 1.0)
    # Near-equal scores lose digits in slope · score + intercept, not in the fit.
    rough = 1e-7 + 1e-14 * abs(made.slope) * np.abs(scores).max()
    assert abs(misses.mean()) <= rough
    assert abs((misses * standard).mean()) <= rough


@given(st.lists(finite, min_size=2, max_size=30), st.integers(1, 3))
def test_scores_that_tell_nothing_make_a_level_line(scores, times):
    """The best line is where the fit starts: each score comes as often with either label."""
    doubled, labels = np.repeat(scores, 2 * times), np.tile([True, False], times * len(scores))
    made = fit_platt(doubled, labels)
    assert made.probability(scores) == pytest.approx(0.5, abs=1e-6)


def test_platt_is_finite_where_the_classes_are_parted():
    scores, labels = np.arange(20.0), np.arange(20) >= 10
    made = fit_platt(scores, labels)
    assert np.isfinite([made.slope, made.intercept]).all()
    found = made.probability(scores)
    assert 0 < found[0] < 0.1
    assert 0.9 < found[-1] < 1
    assert made.probability(9.5) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, -7e300, 5e-324])
def test_platt_of_constant_scores_is_the_smoothed_base_rate(value):
    made = fit_platt([value] * 10, [1] * 7 + [0] * 3)
    assert made.slope == 0
    assert made.probability(value) == pytest.approx((7 * 8 / 9 + 3 / 5) / 10)


@pytest.mark.parametrize("reach", [1e-150, 1e-6, 1e150, 1e300])
def test_platt_bears_any_scale(reach):
    scores = np.array([-1.0, -0.5, 0.2, 0.4, 0.9, 1.0])
    labels = [0, 0, 1, 0, 1, 1]
    made = fit_platt(scores * reach, labels)
    assert made.probability(scores * reach) == pytest.approx(fit_platt(scores, labels).probability(scores))


@given(rows(), st.sampled_from(FITS))
def test_what_is_fitted_gives_probabilities_and_reads_back(found, fit):
    scores, labels = found
    made = fit(scores, labels)
    probabilities = made.probability(np.concatenate([scores, [-1e300, 1e300]]))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    if isinstance(made, IsotonicMap):
        assert IsotonicMap.from_dict(json.loads(json.dumps(made.to_dict()))) == made


@given(rows())
def test_isotonic_never_falls_and_keeps_the_base_rate(found):
    scores, labels = found
    made = fit_isotonic(scores, labels)
    places = np.sort(np.concatenate([scores, np.linspace(scores.min() - 1, scores.max() + 1, 50)]))
    assert np.all(np.diff(made.probability(places)) >= -1e-12)
    if np.all(np.diff(np.unique(scores)) > 1e-6):  # nearer ones are taken for equal
        assert made.probability(scores).mean() == pytest.approx(labels.mean(), abs=1e-9)


def test_isotonic_of_scores_that_rank_the_wrong_way_is_the_base_rate():
    made = fit_isotonic([1, 2, 3, 4], [1, 1, 0, 0])
    assert made.probability([0, 2.5, 9]).tolist() == [0.5, 0.5, 0.5]


def test_isotonic_of_parted_classes_is_sure():
    assert fit_isotonic([1, 2, 3, 4], [0, 0, 1, 1]).probability([1, 2, 3, 4]).tolist() == [0, 0, 1, 1]


def test_no_value_has_no_probability():
    for fit in FITS:
        assert np.isnan(fit([1, 2, 3, 4], [0, 1, 0, 1]).probability([np.nan]))[0]


def test_extreme_scores_overflow_nowhere():
    assert PlattMap(1e300, 0.0).probability([-1e300, 0.0, 1.0]).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        ([1, 2], [1, 1], "same label"),
        ([], [], "same label"),
        ([np.nan, 2], [0, 1], "NaN"),
        ([1, 2, 3], [0, 1], "shape"),
        ([1, 2], [0, 0.5], "true or false"),
    ],
)
def test_rows_that_teach_nothing_are_refused(fit, scores, labels, words):
    with pytest.raises(ValueError, match=words):
        fit(scores, labels)


@pytest.mark.parametrize(
    ("scores", "probabilities"),
    [
        ((), ()),
        ((1.0,), (0.1, 0.2)),
        ((1.0, 1.0), (0.1, 0.2)),
        ((1.0, 2.0), (0.3, 0.2)),
        ((1.0, 2.0), (0.1, 1.1)),
    ],
)
def test_points_of_no_rising_line_are_refused(scores, probabilities):
    with pytest.raises(ValueError, match=r"increasing|outside"):
        IsotonicMap(scores, probabilities)


@pytest.mark.parametrize(
    "values", [{}, {"scores": 3, "probabilities": 4}, {"scores": [1, None], "probabilities": [0, 1]}]
)
def test_what_is_no_isotonic_map_does_not_read_back(values):
    with pytest.raises(ValueError, match="numbers"):
        IsotonicMap.from_dict(values)
