import json
from collections import Counter

import numpy as np
import pytest

from sgi.stats.confounds import (
    baseline,
    matched_rows,
    permutation_control,
    stratified_auroc,
    trivial_baselines,
)
from sgi.stats.ranking import auroc, ranking

LABELS = np.array([True, True, True, False, False, False])
LENGTHS = np.array([3.0, 5.0, 9.0, 8.0, 20.0, 30.0])
OVERLAPS = np.array([1.0, 0.9, 0.2, 0.3, 0.1, 0.0])


def test_each_baseline_is_a_ranking_of_its_column():
    length, overlap = trivial_baselines(LABELS, lengths=LENGTHS, precisions=OVERLAPS)
    assert (length.name, length.direction) == ("length", "shorter")
    assert length.ranking == ranking(-LENGTHS, LABELS)
    assert (overlap.name, overlap.direction) == ("content-word precision", "higher")
    assert overlap.ranking == ranking(OVERLAPS, LABELS)


def test_length_takes_the_better_direction_and_overlap_its_own():
    length, overlap = trivial_baselines(~LABELS, lengths=LENGTHS, precisions=OVERLAPS)
    assert length.direction == "longer"
    assert length.ranking.auroc == auroc(LENGTHS, ~LABELS) > 0.5
    assert overlap.ranking.auroc == auroc(OVERLAPS, ~LABELS) < 0.5
    (even,) = trivial_baselines([True, False], lengths=[4, 4])
    assert (even.direction, even.ranking.auroc) == ("longer", 0.5)


def test_rows_that_are_unknown_are_left_out():
    holes = np.append(OVERLAPS, [np.nan, np.nan])
    labels = np.append(LABELS, [True, False])
    (found,) = trivial_baselines(labels, precisions=holes, clusters=np.arange(8))
    assert found.ranking == ranking(OVERLAPS, LABELS)
    assert trivial_baselines(labels, precisions=np.full(8, np.nan)) == ()


def test_length_alone_solves_halueval(data_folder):
    lines = (data_folder / "halueval_qa.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    answers = [(row["right_answer"], row["hallucinated_answer"]) for row in rows]
    lengths = [len(answer) for pair in answers for answer in pair]
    (found,) = trivial_baselines(
        np.tile([True, False], len(rows)), lengths=lengths, clusters=np.repeat(np.arange(len(rows)), 2)
    )
    assert found.direction == "shorter"
    assert found.ranking.auroc == pytest.approx(0.97, abs=0.01)
    assert found.ranking.interval.high - found.ranking.interval.low < 0.01
    # What is left of it on answers of one length is nothing.
    labels = np.tile([True, False], len(rows))
    kept = matched_rows(lengths, labels)
    true, false = (Counter(np.array(lengths)[labels == side].tolist()) for side in (True, False))
    assert len(kept) == 2 * (true & false).total()
    assert auroc(np.array(lengths)[kept], labels[kept]) == 0.5
    within = stratified_auroc(lengths, labels, lengths)
    assert within.ranking.auroc == 0.5
    assert within.dropped + within.ranking.positives + within.ranking.negatives == len(labels)


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1, 2, 2])])
def test_a_baseline_is_the_ranking_of_one_column(clusters):
    higher = baseline("content-word precision", OVERLAPS, LABELS, clusters)
    lower = baseline("content-word precision", OVERLAPS, LABELS, clusters, direction="lower")
    assert (higher.name, higher.direction, lower.direction) == ("content-word precision", "higher", "lower")
    assert higher.ranking == ranking(OVERLAPS, LABELS, clusters)
    assert lower.ranking == ranking(-OVERLAPS, LABELS, clusters)
    either = baseline("content-word precision", OVERLAPS, ~LABELS, clusters, direction="either")
    assert (either.direction, either.ranking) == ("lower", ranking(-OVERLAPS, ~LABELS, clusters))


def test_a_baseline_leaves_out_what_is_not_known_and_its_cluster():
    holes, labels = np.append(OVERLAPS, np.nan), np.append(LABELS, True)
    found = baseline("content-word precision", holes, labels, ["a", "a", "b", "b", "c", "c", "unknown"])
    assert found.ranking == ranking(OVERLAPS, LABELS, [0, 0, 1, 1, 2, 2])
    assert baseline("content-word precision", np.full(7, np.nan), labels) is None
    assert baseline("content-word precision", OVERLAPS, np.ones(6), direction="either") is None


def test_a_baseline_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="best"):
        baseline("content-word precision", OVERLAPS, LABELS, direction="best")
    with pytest.raises(ValueError, match="shape"):
        baseline("content-word precision", OVERLAPS, LABELS[:3])
    with pytest.raises(ValueError, match="`clusters` must have the shape"):
        baseline("content-word precision", OVERLAPS, LABELS, [1, 2])


def confounded(generator, questions, lift=1.0):
    """Two answers a question; strata go with labels and raise scores. AUROC within them: Φ(lift/√2)."""
    labels, clusters = np.tile([True, False], questions), np.repeat(np.arange(questions), 2)
    strata = (generator.random(2 * questions) < np.where(labels, 0.7, 0.3)).astype(int)
    shared = np.sqrt(0.5) * generator.normal(size=questions)[clusters]
    noise = np.sqrt(0.5) * generator.normal(size=2 * questions)
    return shared + noise + lift * labels + 2.0 * strata, labels, strata, clusters


def test_strata_take_away_what_they_explain_and_nothing_else():
    scores, labels, strata, clusters = confounded(np.random.default_rng(0), 4000, lift=0.0)
    assert auroc(scores, labels) > 0.63
    found = stratified_auroc(scores, labels, strata, clusters)
    assert found.ranking.interval.low < 0.5 < found.ranking.interval.high
    one = stratified_auroc(scores, labels, np.zeros(8000), clusters)
    assert one.ranking == ranking(scores, labels, clusters)
    named = stratified_auroc(scores, labels, np.where(strata, "short", "long"), clusters)
    assert named == found


def test_strata_without_two_classes_rank_nothing():
    assert stratified_auroc([1, 2, 3, 4], [1, 1, 0, 0], [0, 0, 1, 1]) is None
    assert stratified_auroc([], [], []) is None
    perfect = stratified_auroc(np.arange(40), np.tile([0, 1], 20), np.repeat(np.arange(20), 2))
    assert (perfect.ranking.auroc, perfect.ranking.interval.high) == (1.0, 1.0)
    assert perfect.ranking.interval.low < 0.9
    one_cluster = stratified_auroc([1, 2, 3, 2], [0, 1, 0, 1], [0, 0, 1, 1], [5, 5, 5, 5])
    assert (one_cluster.ranking.auroc, one_cluster.ranking.interval) == (0.5, None)
    assert (
        one_cluster.ranking.no_interval
        == "the rarer class occurs in 1 independent group; an interval needs 5"
    )
    with pytest.raises(ValueError, match="stratum is NaN"):
        stratified_auroc([1, 2], [0, 1], [0.0, np.nan])
    with pytest.raises(ValueError, match="shape"):
        stratified_auroc([1, 2], [0, 1], [0.0])


@pytest.mark.slow
def test_intervals_of_a_stratified_area_cover_as_often_as_they_say():
    generator, hits, trials = np.random.default_rng(77), 0, 500
    for _ in range(trials):
        interval = stratified_auroc(*confounded(generator, 150)).ranking.interval
        hits += interval.low <= 0.7602499389065233 <= interval.high
    assert 0.93 <= hits / trials <= 0.97


def test_every_row_of_the_class_with_more_is_drawn_as_often():
    values, labels = np.zeros(10), np.arange(10) < 3
    times = np.zeros(10)
    for seed in range(2000):
        times[matched_rows(values, labels, seed=seed)] += 1
    assert (times[:3] == 2000).all()
    assert np.abs(times[3:] / 2000 - 3 / 7).max() < 0.05
    assert np.array_equal(matched_rows(values, labels, seed=5), matched_rows(values, labels, seed=5))


def test_what_is_matched_does_not_hang_on_the_order_of_rows():
    generator = np.random.default_rng(1)
    values, labels = generator.normal(size=300), generator.random(300) < 0.4
    order = generator.permutation(300)

    def kept(column, truth):
        rows = matched_rows(column, truth, width=0.5)
        return sorted(zip(column[rows], truth[rows], strict=True))

    assert kept(values, labels) == kept(values[order], labels[order])


def test_matching_leaves_out_the_unknown_and_refuses_the_senseless():
    assert matched_rows([np.nan, 1.0, 1.0, np.nan], [1, 0, 1, 0]).tolist() == [1, 2]
    assert matched_rows([np.inf, np.inf, 2.0], [1, 0, 1], width=1.0).tolist() == [0, 1]
    for nothing in (matched_rows([1, 2], [0, 1]), matched_rows([], [])):
        assert (nothing.dtype, len(nothing)) == (np.int64, 0)
    with pytest.raises(ValueError, match="too narrow"):
        matched_rows([1.0, 2.0], [0, 1], width=1e-308)
    for width in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="width"):
            matched_rows([1, 2], [0, 1], width=width)
    with pytest.raises(ValueError, match="true or false"):
        matched_rows([1, 2], [3, 1])


def test_shuffled_labels_rank_at_chance_and_a_real_ranking_is_found():
    generator = np.random.default_rng(2)
    labels = generator.random(300) < 0.4
    scores = generator.normal(size=300) + labels
    found = permutation_control(scores, labels)
    assert found.auroc == pytest.approx(0.5, abs=0.01)
    assert found.interval.low < 0.5 < found.interval.high
    assert (found.interval.method, found.draws, found.p) == ("permutation", 200, 1 / 201)
    assert permutation_control(scores, labels) == found != permutation_control(scores, labels, seed=1)


def test_a_ranking_the_wrong_way_round_is_found_as_well():
    scores, labels = np.arange(60.0), np.arange(60) < 30
    assert permutation_control(scores, labels).p == permutation_control(-scores, labels).p == 1 / 201


def test_without_both_classes_or_any_ranking_there_is_nothing_to_permute():
    assert permutation_control([1, 2], [1, 1]) is None
    assert permutation_control([], []) is None
    assert permutation_control(np.zeros(20), np.arange(20) < 8).p == 1.0
    with pytest.raises(ValueError, match="draws"):
        permutation_control([1, 2], [0, 1], draws=0)


def test_labels_stay_with_their_cluster():
    scores, clusters = np.arange(7.0), [0, 0, 0, 1, 1, 2, 2]
    labels = np.array([1, 1, 1, 0, 0, 1, 1])
    # Only the two clusters of two can change places: the false rows are 3 and 4, or 5 and 6.
    areas = {permutation_control(scores, labels, clusters, draws=1, seed=seed).auroc for seed in range(30)}
    assert areas == {0.4, 0.0}


def null_of(kind, generator):
    """40 clusters that say much of a score, none of which says anything of a label."""
    clusters = np.repeat(np.arange(40), 2 if kind == "pairs" else 5)
    labels = np.tile([True, False], 40) if kind == "pairs" else (generator.random(40) < 0.5)[clusters]
    scores = 0.8 * generator.normal(size=40)[clusters] + 0.6 * generator.normal(size=len(clusters))
    return scores, labels, clusters


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "by_rows"), [("one label", (0.2, 1.0)), ("pairs", (0.0, 0.01))])
def test_of_nothing_one_in_twenty_is_found_and_shuffles_over_rows_would_be_wrong(kind, by_rows):
    generator = np.random.default_rng(4)
    sets = [null_of(kind, generator) for _ in range(300)]
    found = np.mean([permutation_control(*made, draws=59).p <= 0.05 for made in sets])
    assert 0.02 <= found <= 0.08
    blind = np.mean([permutation_control(*made[:2], draws=59).p <= 0.05 for made in sets])
    assert by_rows[0] <= blind <= by_rows[1]
