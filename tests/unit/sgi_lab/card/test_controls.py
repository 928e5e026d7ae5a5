import numpy as np
import pytest

from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.calibration import brier, out_of_fold_probabilities
from sgi.stats.ranking import auroc
from sgi_lab.card.controls import (
    ENOUGH_PAIRS,
    LENGTH_WIDTHS,
    MAX_IMBALANCE,
    MIN_PAIRS,
    Baselines,
    LabelledScores,
    fit_probabilities,
    match_by,
)

N = 240
GENERATOR = np.random.default_rng(21)
GROUNDED = np.tile([True, False], N // 2)
SCORES = GROUNDED + GENERATOR.normal(size=N)
CLUSTERS = np.arange(N) // 2
NOISE = GENERATOR.normal(size=N)


def data(scores=SCORES, grounded=GROUNDED, clusters=CLUSTERS, draws=40):
    return LabelledScores(np.asarray(scores, dtype=float), np.asarray(grounded), clusters, draws, 0)


def trivial(lengths=None, precisions=None, **others):
    return Baselines(lengths, precisions, others)


def kept(values, widths=LENGTH_WIDTHS, over=None, beside=None, shuffled="not asked for"):
    of, competitors = over or data(), beside or trivial(values)
    return match_by(of, values, widths, competitors.competitors(of), shuffled)


def test_taking_rows_takes_them_of_every_column():
    rows = np.array([5, 0, 7])
    part = data().take(rows)
    assert part.scores.tolist() == SCORES[rows].tolist()
    assert part.grounded.tolist() == GROUNDED[rows].tolist()
    assert part.clusters.tolist() == CLUSTERS[rows].tolist()
    assert (part.draws, part.seed) == (40, 0)
    (length, rival) = trivial(NOISE, None, rival=(-SCORES, "either")).competitors(data())
    assert (length.baseline.name, rival.baseline.direction) == ("length", "lower")
    beside = rival.over(data(), np.arange(60))
    assert beside.values.tolist() == SCORES[:60].tolist()
    assert beside.baseline.ranking == data().take(np.arange(60)).ranking()
    assert rival.over(data(), np.array([0, 2])) is None


def test_strata_are_tenths_of_what_is_known_and_equal_values_share_one():
    lengths = np.repeat(np.arange(10.0), N // 10)
    assert data().auroc_within_deciles(lengths).strata == 10
    assert data().auroc_within_deciles(np.full(N, 3.0)).strata == 1
    assert data().auroc_within_deciles(np.full(N, 3.0)).ranking.auroc == auroc(SCORES, GROUNDED)
    gaps = lengths.copy()
    gaps[:60] = np.nan
    assert data().auroc_within_deciles(gaps) == data().take(np.arange(60, N)).auroc_within_deciles(
        lengths[60:]
    )
    assert data().auroc_within_deciles(np.full(N, np.nan)) is None


def test_matching_takes_the_first_width_with_enough_pairs():
    exact = kept(np.repeat(np.arange(N / 2), 2))
    assert (exact.width, exact.pairs) == (0.0, N // 2)
    # Each length comes with one label, its neighbour with the other: bins of two hold both.
    near = kept(np.arange(N, dtype=float))
    assert (near.width, near.pairs) == (2.0, N // 2)
    apart = kept(np.where(GROUNDED, 0.0, 1000.0))
    assert apart is None
    assert kept(None, beside=trivial()) is None
    assert kept(np.full(N, np.nan)) is None


def test_few_rows_need_half_of_the_pairs_there_could_be():
    part = data().take(np.arange(20))
    lengths = np.repeat(np.arange(10.0), 2)
    lengths[10:] = 1000.0 * np.arange(10)
    found = kept(lengths, over=part)
    assert found.pairs == 5 < ENOUGH_PAIRS
    assert found.width == 0.0


def test_bins_within_which_the_nuisance_still_ranks_match_nothing():
    # Lengths a pair apart by 12 to 19 characters, the grounded shorter: wide bins hold pairs that differ.
    generator = np.random.default_rng(5)
    lengths = np.where(GROUNDED, 0.0, 45.0) + generator.integers(0, 40, N)
    lengths[:40] = np.repeat(np.arange(20) * 3.0, 2)
    narrow = kept(lengths)
    wide = kept(lengths, widths=(50.0,))
    assert MIN_PAIRS <= narrow.pairs < wide.pairs
    alone, still = narrow.baselines[0].ranking.auroc, wide.baselines[0].ranking.auroc
    assert abs(alone - 0.5) <= MAX_IMBALANCE < abs(still - 0.5)


def test_labels_that_cannot_change_places_are_not_shuffled():
    sizes = np.arange(1, 9)
    clusters = np.repeat(np.arange(8), sizes)
    grounded = clusters % 2 == 0
    scores = grounded + GENERATOR.normal(size=len(clusters))
    assert "no two groups" in data(scores, grounded, clusters).permutation_control()
    # Two of one size and one label cannot either; of two labels they can, and so can labels within a group.
    alike = np.append(clusters, 8)
    for label, fixed in ((True, True), (False, False)):
        part = data(np.append(scores, 0.0), np.append(grounded, label), alike)
        assert isinstance(part.permutation_control(), str) == fixed
    mixed = grounded.copy()
    mixed[-1] = not mixed[-1]
    found = data(scores, mixed, clusters).permutation_control()
    assert found.interval.low < found.interval.high
    assert not isinstance(data(clusters=np.arange(N)).permutation_control(), str)


def test_strata_rank_other_scores_over_the_same_rows():
    lengths = np.arange(N, dtype=float)
    found = data().auroc_within_deciles(lengths, lengths)
    assert found.strata == 10
    # Twelve pairs a tenth, the ungrounded of each a character longer.
    assert found.ranking.auroc == pytest.approx(66 / 144)
    assert data().auroc_within_deciles(lengths).ranking != found.ranking


def test_matched_rows_are_what_everything_beside_is_held_against():
    lengths = np.repeat(GENERATOR.integers(0, 30, N // 2), 2).astype(float)
    lengths[:40] = np.nan
    rival = trivial(lengths, rival=(-SCORES, "higher"), gone=(np.where(GROUNDED, SCORES, np.nan), "higher"))
    found = kept(lengths, beside=rival, shuffled=NOISE)
    assert found.pairs == N // 2 - 20
    rest = slice(40, None)
    assert found.ranking.auroc == auroc(SCORES[rest], GROUNDED[rest])
    # One that has a single class ranks nothing, there as on all rows.
    assert [one.name for one in found.baselines] == ["length", "rival"]
    assert found.baselines[1].ranking.auroc == pytest.approx(1 - found.ranking.auroc)
    wanted = auroc_difference(SCORES[rest], -SCORES[rest], GROUNDED[rest], CLUSTERS[rest], level=0.975)
    assert found.differences["rival"] == wanted
    assert found.shuffled.ranking.auroc == auroc(NOISE[rest], GROUNDED[rest])
    assert kept(lengths, beside=rival).shuffled.reason == "not asked for"


def test_one_cluster_for_a_class_leaves_points_without_intervals():
    clusters = np.where(GROUNDED, 0, 1 + np.arange(N) // 2)
    part = data(clusters=clusters)
    assert part.ranking().interval is None
    assert part.average_precision().interval is None
    assert part.false_positive_rate().interval is None
    assert part.difference(NOISE).interval is None
    assert part.difference(NOISE).value == pytest.approx(auroc(SCORES, GROUNDED) - auroc(NOISE, GROUNDED))
    maps, why = fit_probabilities(part)
    assert maps == ()
    assert "two clusters" in why


def test_shuffled_scores_that_are_partly_unknown():
    gaps = np.where(np.arange(N) < 30, np.nan, NOISE)
    found = data().shuffled_control(gaps)
    assert found.ranking.positives + found.ranking.negatives == N - 30
    assert found.difference.rows == N - 30
    assert (
        data()
        .shuffled_control(np.where(GROUNDED, np.nan, NOISE))
        .reason.endswith("a class has no scores left")
    )
    assert data().shuffled_control("no contexts").reason == "no contexts"


def test_probabilities_are_those_out_of_fold():
    (platt, isotonic, constant), why = fit_probabilities(data())
    assert why == ""
    for found in (platt, isotonic):
        forecast = out_of_fold_probabilities(SCORES, GROUNDED, CLUSTERS, method=found.method).round(2)
        assert found.brier == brier(forecast, GROUNDED)
    base_rate = out_of_fold_probabilities(SCORES, GROUNDED, CLUSTERS, method="base rate")
    assert constant.brier == brier(base_rate, GROUNDED)
    assert platt.gain.value == pytest.approx(constant.brier.score - platt.brier.score)
    assert sum(platt.reliability.rows) == N
