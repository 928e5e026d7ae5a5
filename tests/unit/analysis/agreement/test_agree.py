import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.agreement import agree as engine
from sgi.analysis.agreement.agree import agree
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.effects import correlation
from sgi.stats.means import mean_interval
from sgi.stats.prediction_powered import prediction_powered_mean
from support.scored_runs import column, run

NAN = float("nan")


def judged(n=60, error=0.2, seed=0):
    """Labels, and a judge who is wrong now and then."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(n) < 0.6).astype(int)
    verdicts = np.where(generator.random(n) < error, 1 - labels, labels).astype(float)
    return labels.tolist(), verdicts


def only(made):
    (found,) = made.metrics
    return found


def test_every_number_is_that_of_the_rows_with_label_and_value():
    labels, verdicts = judged()
    given = [None if row % 3 == 0 else label for row, label in enumerate(labels)]
    verdicts[:10] = NAN
    clusters = np.arange(60) // 2
    made = agree(run(column("faith", verdicts), clusters=clusters), "human", given)
    found = only(made)
    rows = np.array([row for row in range(10, 60) if row % 3])
    truth, said = np.array(labels)[rows], verdicts[rows]
    assert (made.kind, made.labelled, found.rows, found.lacking) == (
        "yes or no",
        40,
        len(rows),
        {"failed": 6},
    )
    assert found.kappa == cohen_kappa(truth, said, clusters[rows])
    assert found.alpha == krippendorff_alpha(truth, said, clusters[rows])
    assert found.sensitivity.value == said[truth == 1].mean()
    yes = mean_interval(said[truth == 1], clusters[rows][truth == 1], low=0, high=1)
    assert found.sensitivity.interval == yes
    assert found.specificity.value == 1 - said[truth == 0].mean()
    assert found.specificity.rows == (truth == 0).sum()
    assert found.confusion["no"]["yes"] == said[truth == 0].sum()
    assert sum(map(sum, (row.values() for row in found.confusion.values()))) == found.rows
    known = np.array([NAN if label is None else label for label in given], dtype=float)[10:]
    powered = prediction_powered_mean(known, verdicts[10:], clusters[10:], bounds=(0.0, 1.0))
    assert (found.corpus.corrected.value, found.corpus.power) == (powered.value, powered.power)
    assert found.corpus.corrected.interval == powered.interval
    assert (found.corpus.naive.value, found.corpus.naive.rows) == (verdicts[10:].mean(), 50)
    assert found.corpus.labels.value == truth.mean()


def test_a_threshold_makes_verdicts_and_leaves_the_score():
    values = np.tile([0.1, 0.4, 0.6, 0.9], 5)
    labels = np.tile([0, 1, 1, 1], 5).tolist()
    usual = only(agree(run(column("faith", values)), "label", labels))
    lower = only(agree(run(column("faith", values)), "label", labels, threshold=0.4))
    assert (usual.threshold, usual.sensitivity.value) == (0.5, pytest.approx(2 / 3))
    assert (lower.threshold, lower.sensitivity.value, lower.specificity.value) == (0.4, 1.0, 1.0)
    assert usual.corpus.naive == lower.corpus.naive


def test_percent_is_a_share_and_lower_may_be_better():
    values = np.tile([10.0, 40.0, 60.0, 90.0], 5)
    labels = np.tile([1, 1, 0, 0], 5).tolist()
    noise = column("noise", values, high=100.0, higher_is_better=False)
    found = only(agree(run(noise), "label", labels))
    assert (found.threshold, found.kappa.value, found.compared) == (50.0, 1.0, "≤ 50 is a yes")
    assert found.corpus.naive.value == pytest.approx(0.5)
    some = only(agree(run(noise), "label", [*labels[:10], *[None] * 10]))
    assert some.corpus.power > 0  # the less noise, the better: scores are turned before they are leant on


def test_what_is_no_share_needs_a_threshold_and_is_scored_by_its_verdicts():
    values = np.tile([0.5, 0.9, 1.1, 3.0], 5)
    made = run(column("ratio", values, high=None))
    labels = np.tile([0, 0, 1, 1], 5).tolist()
    silent = only(agree(made, "label", labels))
    assert "give `threshold`" in silent.reason
    assert (silent.kappa, silent.corpus, silent.rows) == (None, None, 20)
    found = only(agree(made, "label", labels, threshold=1.0))
    assert (found.kappa.value, found.corpus.naive.value) == (1.0, 0.5)


def test_the_range_of_a_built_in_metric_is_known():
    known = replace(column("squad_em", [0.0, 1.0] * 5, low=None, high=None), version=1)
    made = run(known)
    assert only(agree(made, "label", [0, 1] * 5)).threshold == 0.5


@pytest.mark.parametrize(
    ("values", "labels", "reason"),
    [
        ([NAN, NAN, 1.0, 0.0], [1, 0, None, None], "a label and a value: 0;"),
        ([1.0, 0.0, 1.0, 0.0], [1, 1, 1, None], "all 3 labelled rows with a value have the label yes"),
        ([1.0, 0.0, 1.0, 0.0], ["good", "bad", "good", None], "but the metric gives numbers"),
        ([1.0, 0.0, 1.0, 0.0], [3, 4, 5, None], "labels range from 3 to 5, outside 0 to 1"),
    ],
)
def test_what_cannot_be_compared_gets_a_reason_and_no_number(values, labels, reason):
    found = only(agree(run(column("faith", values)), "label", labels))
    assert reason in found.reason
    assert (found.kappa, found.alpha, found.sensitivity, found.corpus, found.verdicts) == (
        None,
        None,
        None,
        None,
        (),
    )


def test_numbers_are_compared_on_one_scale():
    generator = np.random.default_rng(1)
    stars = generator.integers(1, 6, 80)
    values = np.clip((stars - 1) / 4 + generator.normal(0, 0.1, 80), 0, 1)
    made = run(column("relevance", values))
    unknown = agree(made, "stars", stars.tolist())
    assert "`scale`" in only(unknown).reason
    report = agree(made, "stars", stars.tolist(), scale=(1.0, 5.0))
    found = only(report)
    truth = (stars - 1) / 4
    assert found.kappa.value == cohen_kappa(truth, values, weights="quadratic").value
    assert found.alpha.value == krippendorff_alpha(truth, values, scale="interval").value
    assert (found.weights, found.scale, found.sensitivity, found.threshold) == (
        "quadratic",
        "interval",
        None,
        None,
    )
    assert found.pearson == correlation(truth, values, made.clusters)
    assert found.spearman == correlation(truth, values, made.clusters, kind="spearman")
    assert found.pearson.interval.low < found.pearson.value < found.pearson.interval.high
    linear = only(agree(made, "stars", stars.tolist(), scale=(1.0, 5.0), weights="linear"))
    assert linear.kappa.value == cohen_kappa(truth, values, weights="linear").value
    assert found.corpus.labels.value == pytest.approx(truth.mean())
    assert "; mean absolute difference 0.0" in found.verdicts[0]
    assert not report.notes


def test_numbers_without_a_scale_are_read_on_the_metrics_own_and_this_is_told():
    labels, values = [0.2, 0.5, 0.8] * 10, [0.2, 0.5, 0.8] * 10
    made = agree(run(column("similarity", values)), "score", labels)
    assert only(made).kappa.value == pytest.approx(1.0)
    assert "on the scale of each metric" in made.notes[0]


def test_labels_of_0_and_1_alone_can_belong_to_a_longer_scale():
    made = agree(run(column("relevance", [0.0, 0.3] * 10)), "stars", [0, 1] * 10, scale=(0.0, 3.0))
    assert (made.kind, only(made).kappa.value > 0.9) == ("numbers", True)


def test_a_metric_without_an_end_shares_no_scale_with_numbers():
    made = run(column("ratio", [0.5, 1.5, 2.5], high=None))
    assert "no common scale" in only(agree(made, "stars", [1, 2, 3])).reason


def test_names_are_compared_with_the_classes(monkeypatch):
    monkeypatch.setattr(engine, "class_keys", lambda _: {"verdicts": "class"})
    people = ["Correct", "wrong", "wrong", "dont_know", None] * 6
    classes = ["correct", "wrong", "correct", "wrong", "wrong"] * 6
    made = run(column("verdicts", [1.0, 0.0, 1.0, 0.0, 0.0] * 6))
    found = only(agree(made, "human", people, classes={"verdicts": classes}))
    places = {"correct": 0, "dont_know": 1, "wrong": 2}
    first = [places[name.lower()] for name in people if name]
    second = [places[name] for name, label in zip(classes, people, strict=True) if label]
    assert (found.rows, found.compared, found.weights, found.scale) == (24, "classes", "nominal", "nominal")
    assert found.kappa == cohen_kappa(first, second)
    assert found.alpha == krippendorff_alpha(first, second)
    assert found.confusion == {
        "correct": {"correct": 6},
        "dont_know": {"wrong": 6},
        "wrong": {"correct": 6, "wrong": 6},
    }
    assert found.corpus is None
    assert (
        "50.0 % of the rows; most frequent error: dont_know classified as wrong (6 rows)" in found.verdicts[0]
    )


def test_grades_are_ordered(monkeypatch):
    monkeypatch.setattr(engine, "class_keys", lambda _: {"accuracy": "grade"})
    people, classes = ["A", "b", "C", "E"] * 6, ["A", "C", "C", "D"] * 6
    made = run(column("accuracy", [1.0, 0.5, 0.5, 0.2] * 6))
    found = only(agree(made, "human", people, classes={"accuracy": classes}))
    first, second = [0, 1, 2, 4] * 6, [0, 2, 2, 3] * 6  # D lies between C and E, also where nobody said it
    assert (found.compared, found.weights, found.scale) == ("grades", "quadratic", "ordinal")
    assert found.kappa == cohen_kappa(first, second, weights="quadratic")
    assert found.alpha == krippendorff_alpha(first, second, scale="ordinal")
    assert found.spearman.value == correlation(first, second, kind="spearman").value


def test_names_that_are_no_classes_of_the_metric_are_told(monkeypatch):
    monkeypatch.setattr(engine, "class_keys", lambda _: {"verdicts": "class"})
    made = run(column("verdicts", [1.0, 0.0] * 6))
    other = agree(made, "human", ["good", "bad"] * 6, classes={"verdicts": ["correct", "wrong"] * 6})
    assert "no label is one of its classes" in only(other).reason
    gone = agree(made, "human", ["correct", "wrong"] * 6, classes={"verdicts": ["correct", None] * 6})
    assert "the run has no class for them" in only(gone).reason


def test_the_corrected_mean_comes_with_its_condition_and_a_slice_that_breaks_it_is_told():
    labels, verdicts = judged(400, seed=2)
    made = run(column("faith", verdicts))
    generator = np.random.default_rng(3)
    drawn = generator.permutation(400) < 60
    fair = agree(made, "human", [one if there else None for one, there in zip(labels, drawn, strict=True)])
    assert [note[:36] for note in fair.notes] == ["The corrected means are valid if the"]
    first = agree(made, "human", [*labels[:60], *[None] * 340])
    assert any("first 60 of the run" in note for note in first.notes)
    good = [
        one if said or row % 9 == 0 else None
        for row, (one, said) in enumerate(zip(labels, verdicts, strict=True))
    ]
    chosen = agree(made, "human", good)
    assert any("Kolmogorov-Smirnov" in note for note in chosen.notes)
    assert not agree(made, "human", labels).notes  # all are labelled: nothing is taken for granted


def test_the_words_say_whether_the_own_mean_can_stand():
    labels, verdicts = judged(1000, error=0.0, seed=4)
    generator = np.random.default_rng(5)
    lenient = np.where(generator.random(1000) < 0.5, 1.0, verdicts)
    some = [label if row % 5 == 0 else None for row, label in enumerate(labels)]
    report = agree(run(column("strict", verdicts), column("lenient", lenient)), "human", some)
    strict, other = report.metrics
    assert "is consistent with the estimated mean label of all rows" in strict.verdicts[1]
    assert "is above the estimated mean label of all rows" in other.verdicts[1]
    assert "False positive rate 0.0 %" in strict.verdicts[0]


def test_a_metric_that_says_the_opposite_is_told():
    labels, verdicts = judged(100)
    report = agree(run(column("faith", 1 - verdicts)), "hallucinated", labels)
    assert any("disagrees with the labels" in note for note in report.notes)


def test_metrics_are_chosen_by_name_in_the_runs_order():
    labels, verdicts = judged(20)
    made = run(column("a", verdicts), column("b", verdicts), column("c", verdicts))
    assert [one.metric for one in agree(made, "label", labels, metrics=["c", "a"]).metrics] == ["a", "c"]
    with pytest.raises(UnknownNameError, match="nope"):
        agree(made, "label", labels, metrics=["nope"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": NAN}, "`threshold` cannot be nan"),
        ({"scale": (3.0, 0.0)}, "lower one first"),
        ({"scale": (0.0, np.inf)}, "two finite numbers"),
        ({"scale": (NAN, 1.0)}, "two finite numbers"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        agree(run(column("faith", [0.0, 1.0])), "label", [0, 1], **options)


def test_labels_are_one_for_each_row_and_readable():
    made = run(column("faith", [0.0, 1.0]))
    with pytest.raises(UsageError, match="2 rows, but 1 labels"):
        agree(made, "label", [1])
    with pytest.raises(DataError, match="id '1'"):
        agree(made, "label", [1, [0]])


def test_equal_input_gives_equal_bits_as_json():
    labels, verdicts = judged()
    reports = [agree(run(column("faith", verdicts)), "human", labels).to_dict() for _ in range(2)]
    assert json.dumps(reports[0], allow_nan=False) == json.dumps(reports[1], allow_nan=False)


@pytest.mark.parametrize("threshold", [7.0, -1.0])
def test_a_threshold_that_no_value_can_cross_decides_nothing(threshold):
    labels, verdicts = judged()
    found = only(agree(run(column("faith", verdicts)), "human", labels, threshold=threshold))
    assert "its range is 0 to 1" in found.reason
    assert found.kappa is None


def test_labels_of_middle_rows_promise_no_corrected_mean():
    """Their mean score is that of all rows, so only the distribution shows how they were chosen."""
    generator = np.random.default_rng(4)
    values = generator.random(600)
    labels = generator.random(600) < values**3
    middle = np.abs(values - 0.5) < 0.06
    given = [bool(label) if known else None for label, known in zip(labels, middle, strict=True)]
    report = agree(run(column("faith", values)), "human", given)
    assert not only(report).corpus.random
    assert any("Kolmogorov-Smirnov" in note for note in report.notes)
    assert not any("no more labels" in verdict for verdict in only(report).verdicts)
