import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.calibration import (
    brier,
    error_by_chance,
    expected_calibration_error,
    grouped_folds,
    out_of_fold_probabilities,
    reliability,
)
from sgi.stats.logistic_map import fit_logistic
from sgi.stats.probability_maps import fit_isotonic, fit_platt

shares = st.floats(0, 1, allow_subnormal=False)
coarse = st.integers(0, 8).map(lambda eighths: eighths / 8)


def forecasts(of=shares):
    return st.lists(st.tuples(of, st.booleans()), min_size=1, max_size=60).map(
        lambda rows: tuple(map(np.array, zip(*rows, strict=True)))
    )


def test_bins_of_equal_width_by_hand():
    made = reliability([0.05, 0.15, 0.15, 0.95, 1.0], [0, 0, 1, 1, 1])
    assert made.rows == (1, 2, 2)
    assert made.confidence == pytest.approx((0.05, 0.15, 0.975))
    assert made.frequency == (0.0, 0.5, 1.0)
    assert made.binning == "width"
    assert made.error == pytest.approx(0.2 * 0.05 + 0.4 * 0.35 + 0.4 * 0.025)


def test_a_bin_begins_with_its_lower_edge_and_the_last_one_holds_1():
    made = reliability([0.0, 0.25, 0.5, 0.75, 1.0], [0, 0, 0, 0, 1], bins=4)
    assert made.rows == (1, 1, 1, 2)
    assert made.confidence == (0.0, 0.25, 0.5, 0.875)


def test_bins_of_equal_mass_hold_equally_many_rows_where_none_are_tied():
    made = reliability(np.linspace(0.001, 0.2, 60), np.arange(60) % 2, bins=6, binning="mass")
    assert made.rows == (10,) * 6
    assert reliability(np.linspace(0.001, 0.2, 60), np.arange(60) % 2, bins=6).rows == (50, 10)


@given(forecasts(coarse), st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_rows_of_one_probability_are_never_split(made, bins, binning):
    probabilities, labels = made
    found = reliability(probabilities, labels, bins=bins, binning=binning)
    together, each = np.unique(probabilities, return_counts=True)
    # Every bin is a run of whole ties: its rows are a sum of consecutive counts.
    ends = np.cumsum(each)
    assert set(np.cumsum(found.rows).tolist()) <= set(ends.tolist())
    assert sum(found.rows) == len(probabilities)
    assert len(found.rows) <= min(bins, len(together))
    assert np.all(np.diff(found.confidence) > 0)


@given(forecasts(), st.integers(1, 15), st.sampled_from(["width", "mass"]))
def test_the_error_is_a_share_and_does_not_depend_on_the_order(made, bins, binning):
    probabilities, labels = made
    error = expected_calibration_error(probabilities, labels, bins=bins, binning=binning)
    assert 0 <= error <= 1 + 1e-12
    turned = np.random.default_rng(0).permutation(len(labels))
    again = expected_calibration_error(probabilities[turned], labels[turned], bins=bins, binning=binning)
    assert again == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_the_constant_base_rate_is_perfectly_calibrated(binning):
    labels = np.arange(100) < 84
    assert expected_calibration_error(np.full(100, 0.84), labels, binning=binning) == pytest.approx(
        0, abs=1e-12
    )
    found = brier(np.full(100, 0.84), labels)
    assert found.reliability == pytest.approx(0, abs=1e-12)
    assert found.resolution == pytest.approx(0, abs=1e-12)
    assert found.score == pytest.approx(found.uncertainty) == pytest.approx(0.84 * 0.16)


@given(forecasts(st.one_of(shares, coarse)))
def test_the_parts_of_brier_make_up_the_score(made):
    probabilities, labels = made
    found = brier(probabilities, labels)
    assert found.score == pytest.approx(np.mean((probabilities - labels) ** 2), abs=1e-12)
    assert found.score == pytest.approx(found.reliability - found.resolution + found.uncertainty, abs=1e-12)
    assert min(found.reliability, found.resolution, found.uncertainty) >= 0


@pytest.mark.parametrize(
    ("probabilities", "labels", "options", "words"),
    [
        ([], [], {}, "Rows are required"),
        ([0.5, np.nan], [0, 1], {}, "NaN or outside"),
        ([0.5, 1.0001], [0, 1], {}, "NaN or outside"),
        ([0.5], [2], {}, "true or false"),
        ([0.5], [np.nan], {}, "true or false"),
        ([0.5, 0.5], [1], {}, "shape"),
        ([0.5], [1], {"bins": 0}, "`bins` must be"),
        ([0.5], [1], {"binning": "depth"}, "width or mass"),
    ],
)
def test_what_makes_no_sense_is_refused(probabilities, labels, options, words):
    with pytest.raises(ValueError, match=words):
        expected_calibration_error(probabilities, labels, **options)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=4, max_size=80),
    st.integers(2, 6),
    st.integers(0, 3),
)
def test_folds_hold_whole_clusters_and_leave_both_classes_outside(rows, folds, seed):
    clusters, labels = (np.array(column) for column in zip(*rows, strict=True))
    each = [len(np.unique(clusters[labels == one])) for one in (True, False)]
    if min(each) < 2:
        with pytest.raises(ValueError, match="two clusters each"):
            grouped_folds(labels, clusters, folds=folds, seed=seed)
        return
    dealt = grouped_folds(labels, clusters, folds=folds, seed=seed)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(len(labels)))
    assert len(dealt) == min(folds, *each)
    for rows_in in dealt:
        outside = np.setdiff1d(np.arange(len(labels)), rows_in)
        assert set(clusters[rows_in]).isdisjoint(clusters[outside])
        assert {True, False} == set(labels[outside].tolist())


def test_folds_have_nearly_the_same_base_rate():
    generator = np.random.default_rng(0)
    clusters = np.repeat(np.arange(300), 2)
    labels = generator.random(600) < 0.2
    rates = [labels[rows].mean() for rows in grouped_folds(labels, clusters)]
    assert len(rates) == 5
    assert max(rates) - min(rates) < 0.02


def test_equal_seeds_deal_alike_and_others_otherwise():
    labels = np.arange(50) % 3 == 0
    first, again, other = (grouped_folds(labels, seed=seed) for seed in (1, 1, 2))
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))


@pytest.mark.parametrize(
    ("method", "fit"), [("platt", fit_platt), ("logistic", fit_logistic), ("isotonic", fit_isotonic)]
)
def test_a_map_never_sees_the_cluster_it_is_asked_about(method, fit):
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(60), 5)
    labels = np.repeat(generator.random(60) < 0.5, 5)
    scores = generator.normal(size=300) + labels
    made = out_of_fold_probabilities(scores, labels, clusters, method=method, folds=4, seed=3)
    for rows in grouped_folds(labels, clusters, folds=4, seed=3):
        others = ~np.isin(clusters, clusters[rows])
        assert others.sum() == 300 - len(rows)
        assert np.array_equal(made[rows], fit(scores[others], labels[others]).probability(scores[rows]))


def test_folds_that_were_dealt_before_give_the_same():
    generator = np.random.default_rng(2)
    labels, clusters = generator.random(90) < 0.5, np.repeat(np.arange(30), 3)
    scores = generator.normal(size=90) + labels
    dealt = grouped_folds(labels, clusters, folds=3, seed=4)
    made = out_of_fold_probabilities(scores, labels, folds=dealt)
    assert np.array_equal(made, out_of_fold_probabilities(scores, labels, clusters, folds=3, seed=4))
    assert not np.array_equal(made, out_of_fold_probabilities(scores, labels, clusters, folds=3, seed=5))


def test_the_base_rate_of_a_fold_is_that_of_the_others():
    labels = np.arange(40) < 12
    made = out_of_fold_probabilities(np.zeros(40), labels, method="base rate", folds=4)
    for rows in grouped_folds(labels, folds=4):
        others = np.delete(labels, rows)
        assert made[rows] == pytest.approx(others.mean())


@pytest.mark.parametrize(
    ("scores", "labels", "clusters", "options", "words"),
    [
        ([1, 2, 3], [1, 1, 1], None, {}, "same label"),
        ([1, 2, np.nan], [1, 0, 1], None, {}, "NaN or infinite"),
        ([1, 2, 3, 4], [1, 0, 1, 0], [7, 7, 7, 7], {}, "two clusters each"),
        ([1, 2, 3, 4], [1, 0, 1, 0], None, {"folds": 1}, "two folds"),
        ([1, 2, 3, 4], [1, 0, 1, 0], None, {"method": "spline"}, "platt, logistic, isotonic, base rate"),
        ([1, 2, 3, 4], [1, 0, 1, 0], [1, 2], {}, "`clusters` must have the shape"),
    ],
)
def test_rows_that_teach_nothing_are_refused(scores, labels, clusters, options, words):
    with pytest.raises(ValueError, match=words):
        out_of_fold_probabilities(scores, labels, clusters, **options)


def test_the_error_by_chance_is_that_of_right_probabilities():
    generator = np.random.default_rng(7)
    probabilities = generator.random(40)
    errors = [
        expected_calibration_error(probabilities, generator.random(40) < probabilities, binning="mass")
        for _ in range(300)
    ]
    chance = error_by_chance(probabilities)
    assert chance == pytest.approx(np.mean(errors), abs=0.01)
    assert chance == error_by_chance(probabilities)
    assert error_by_chance(np.repeat(probabilities, 100)) < 0.2 * chance


def test_many_rows_are_dealt_evenly():
    labels = np.arange(10_000) % 2 == 0
    sizes = [len(rows) for rows in grouped_folds(labels, np.arange(10_000) // 2)]
    assert sizes == [2000] * 5
