import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from sgi.kernel.errors import UsageError
from sgi_lab.card.make_card import detector_card

N = 400
GENERATOR = np.random.default_rng(7)
LABELS = np.tile([True, False], N // 2)
LENGTHS = np.where(LABELS, GENERATOR.integers(5, 25, N), GENERATOR.integers(15, 35, N)).astype(float)
SIGNAL = LABELS + GENERATOR.normal(size=N)
CLUSTERS = np.arange(N) // 2


def made(scores=SIGNAL, labels=LABELS, **options):
    return detector_card("test", scores, labels, **{"clusters": CLUSTERS, "draws": 60} | options)


def test_the_numbers_are_those_of_a_reference():
    card = made()
    assert card.ranking.auroc == pytest.approx(roc_auc_score(LABELS, SIGNAL), abs=1e-12)
    assert card.average_precision.value == pytest.approx(average_precision_score(~LABELS, -SIGNAL), abs=1e-12)
    false, true, _ = roc_curve(~LABELS, -SIGNAL, drop_intermediate=False)
    assert card.false_positive_rate.value == pytest.approx(false[true >= 0.95].min(), abs=1e-12)
    for found in (card.average_precision, card.false_positive_rate):
        assert found.interval.low <= found.value <= found.interval.high
    assert (card.rows, card.grounded, card.ungrounded, card.clusters) == (N, N // 2, N // 2, N // 2)
    assert card.ungrounded_share == 0.5


def test_a_score_that_is_length_falls_to_chance_where_length_is_held_still():
    card = made(-LENGTHS, lengths=LENGTHS)
    assert card.ranking.auroc > 0.8
    assert (card.baselines[0].name, card.baselines[0].direction) == ("length", "shorter")
    assert card.baselines[0].ranking.auroc == card.ranking.auroc
    assert card.length_matched.width == 0
    assert card.length_matched.ranking.auroc == 0.5
    assert card.length_matched.baselines[0].ranking.auroc == 0.5
    assert card.length_stratified.ranking.auroc < 0.7
    assert any("not shown to differ from chance" in note for note in card.notes)


def test_a_score_of_its_own_stands_beside_length():
    card = made(lengths=LENGTHS)
    kept = card.length_matched
    assert kept.pairs >= 50
    assert kept.ranking.positives == kept.ranking.negatives == kept.pairs
    assert kept.ranking.interval.low > 0.6
    assert kept.baselines[0].ranking.auroc == 0.5


def test_rows_of_unknown_cluster_belong_to_no_other():
    alone = made(clusters=None)
    for unknown in (None, float("nan"), np.float64("nan")):
        assert made(clusters=[unknown] * N) == alone
    assert made(clusters=np.full(N, np.nan)).clusters == N
    some = [None if row < 4 else ("q", row // 2) for row in range(N)]
    assert made(clusters=some).clusters == 4 + N // 2 - 2
    # A name that is a tuple is no unknown row.
    assert made(clusters=[None, (True, 0), *range(N - 2)]).clusters == N


def test_baselines_keep_their_direction_on_matched_rows():
    rival = np.where(LABELS, 0.0, 1.0) + GENERATOR.normal(size=N) * 0.1
    card = made(
        lengths=LENGTHS,
        precisions=np.round(GENERATOR.random(N), 1),
        baselines={"rival": (rival, "either"), "fixed": (rival, "higher")},
    )
    found = {one.name: one for one in card.baselines}
    assert list(found) == ["length", "content-word precision", "rival", "fixed"]
    assert (found["rival"].direction, found["fixed"].direction) == ("lower", "higher")
    assert found["rival"].ranking.auroc > 0.99
    assert found["fixed"].ranking.auroc < 0.01
    for part in (card.length_matched, card.precision_matched):
        again = {one.name: one for one in part.baselines}
        assert again["rival"].ranking.auroc > 0.99
        assert again["fixed"].ranking.auroc < 0.01
    assert sum("Rival alone ranks better" in note for note in card.notes) == 1


def test_direction_turns_the_score_and_nothing_else():
    up, down = made(lengths=LENGTHS), made(-SIGNAL, lengths=LENGTHS, higher_is_better=False)
    first, second = up.to_dict(), down.to_dict()
    assert (first.pop("higher_is_better"), second.pop("higher_is_better")) == (True, False)
    assert first == second


def test_rows_without_label_or_score_are_counted_and_left_out():
    scores = SIGNAL.copy()
    scores[:3], scores[3] = np.nan, np.inf
    labels = [None if row in {0, 10, 11} else bool(label) for row, label in enumerate(LABELS)]
    card = made(scores, labels, dropped={"failed: no vectors": 4, "no label": 1})
    assert card.dropped == {
        "no label": 4,
        "failed: no vectors": 4,
        "no score": 2,
        "an infinite score": 1,
    }
    assert card.rows == N - 6
    kept = np.setdiff1d(np.arange(N), [0, 1, 2, 3, 10, 11])
    assert card.ranking == made(SIGNAL[kept], LABELS[kept], clusters=CLUSTERS[kept]).ranking
    assert made().dropped == {}


def test_nan_is_no_label_either():
    labels = LABELS.astype(float)
    labels[5] = np.nan
    assert made(labels=labels).dropped == {"no label": 1}


def test_contexts_shuffled():
    noise = GENERATOR.normal(size=N)
    noise[4] = np.nan
    card = made(shuffled=noise)
    assert card.shuffled.ranking.positives == N // 2 - 1
    assert 0.4 < card.shuffled.ranking.auroc < 0.6
    assert any(note.endswith("It uses the contexts.") for note in card.notes)
    down = made(-SIGNAL, shuffled=-noise, higher_is_better=False)
    assert down.shuffled == card.shuffled
    assert made(shuffled="it asks a judge").shuffled.reason == "it asks a judge"
    assert made().shuffled.reason != ""
    assert made(shuffled=np.full(N, np.nan)).shuffled.ranking is None


def test_labels_shuffled_give_chance():
    found = made().permuted
    assert found.interval.low < 0.5 < found.interval.high
    assert found.p < 0.05


def test_equal_input_gives_equal_bits_and_the_card_is_json():
    options = {
        "lengths": LENGTHS,
        "precisions": np.round(GENERATOR.random(N), 1),
        "subgroups": {"m": ["a", "b"] * (N // 2)},
    }
    first, second = made(**options), made(**options)
    assert first == second
    facts = json.loads(json.dumps(first.to_dict(), allow_nan=False))
    assert facts["ungrounded_share"] == 0.5
    assert facts["length_matched"]["ranking"]["interval"]["level"] == 0.95
    assert made(seed=1, **options) != first


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"labels": [True] * N}, "all 400 rows with a label and a score are grounded"),
        ({"labels": [None] * N}, "no row has a label and a score"),
        ({"labels": ["yes"] * N}, "labels"),
        ({"labels": [2] * N}, "neither true nor false"),
        ({"scores": ["a"] * N}, "scores"),
        ({"scores": np.zeros((N, 2))}, "must have the shape"),
        ({"lengths": [1.0]}, "lengths"),
        ({"subgroups": {"model": ["a"]}}, "model"),
        ({"clusters": "a" * N}, "`clusters` must be a list"),
        ({"clusters": [["a"]] * N}, "`clusters` is a list"),
        ({"draws": 0}, "`draws` must be a whole number of at least 1, not 0"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0, not -1"),
        ({"lengths": np.where(LABELS, np.inf, 1.0)}, "`lengths` must be .* not inf"),
        ({"precisions": np.where(LABELS, 1.5, 1.0)}, "`precisions` must be .* not 1.5"),
        (
            {"baselines": {"length": (LENGTHS, "higher")}, "lengths": LENGTHS},
            "name 'length' of a baseline is reserved",
        ),
        ({"baselines": {"rival": (LENGTHS, "shorter")}}, "the unknown direction 'shorter'"),
    ],
)
def test_what_cannot_be_ranked_is_refused_by_name(options, word):
    with pytest.raises(UsageError, match=word):
        made(**options)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=True) | st.sampled_from([0.0, 1.0]),
            st.sampled_from([True, False, None]),
            st.integers(0, 3),
            st.floats(0, 1e6) | st.just(float("nan")),
        ),
        max_size=30,
    )
)
def test_any_rows_give_a_card_or_a_refusal(rows):
    scores, labels, clusters, lengths = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    usable = [
        label for score, label in zip(scores, labels, strict=True) if label is not None and np.isfinite(score)
    ]
    options = {
        "clusters": clusters,
        "lengths": lengths,
        "precisions": np.array(lengths) / 1e6,
        "shuffled": lengths,
        "draws": 20,
    }
    if len(set(usable)) < 2:
        with pytest.raises(UsageError, match="cannot be ranked"):
            detector_card("any", scores, labels, **options)
        return
    card = detector_card("any", scores, labels, **options)
    assert card.rows == len(usable)
    assert card.rows + sum(card.dropped.values()) == len(rows)
    json.dumps(card.to_dict(), allow_nan=False)


def test_length_s_own_ranking_within_tenths_stands_beside_the_score_s():
    card = made(lengths=LENGTHS)
    own = made(-LENGTHS, lengths=LENGTHS)
    assert card.length_within == own.length_stratified.ranking
    assert card.length_within.auroc > 0.5
    assert made().length_within is None


def test_no_probabilities_where_a_class_stands_in_one_cluster():
    card = detector_card("few", [1.0, 2.0, 3.0, 4.0], [0, 1, 1, 0], clusters=["a", "a", "a", "a"], draws=50)
    assert card.calibration == ()
    assert "cluster" in card.uncalibrated
    assert card.ranking.interval is None
    assert card.average_precision.interval is None
    assert card.notes[0].startswith(
        "The AUROC has no interval (the rarer class occurs in 1 independent group"
    )


def test_a_perfect_score_is_a_warning():
    card = made(LABELS.astype(float))
    assert card.warnings[0].startswith("AUROC 1.000 is above 0.99, which suggests leakage.")
    assert made().warnings == ()
