from __future__ import annotations

import numpy as np

from sgi.engine.accumulator import Accumulator, Failures
from sgi.engine.score import BatchScores
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample


def entered(samples, truncated=(), values=None):
    accumulator = Accumulator()
    column = np.zeros(len(samples)) if values is None else np.array(values)
    scores = Scores.of(column, undefined={"no value": np.isnan(column)})
    accumulator.add(Batch.of(samples), BatchScores({"m": scores}, dict(truncated)))
    return accumulator


def test_values_and_counts_add_up_over_batches():
    accumulator = Accumulator()
    for values in ([1.0, np.nan], [3.0]):
        column = np.array(values)
        scores = Scores.of(column, undefined={"no value": np.isnan(column)})
        samples = [Sample(id=f"{len(accumulator)}-{i}") for i in range(len(values))]
        accumulator.add(Batch.of(samples), BatchScores({"theta_rc": scores}))
    assert len(accumulator) == 3
    column = accumulator.column(metric("theta_rc"))
    np.testing.assert_array_equal(column.values, [1.0, np.nan, 3.0])
    assert (column.low, column.high, column.higher_is_better) == (0.0, np.pi, False)
    assert column.counts() == {Status.OK: 2, Status.UNDEFINED: 1, Status.MISSING: 0, Status.FAILED: 0}
    assert accumulator.failures().share == 0.0


def test_the_failure_share_is_that_of_the_worst_metric():
    accumulator = Accumulator()
    failed = Scores.without_value(Status.FAILED, ["down", "down"])
    samples = [Sample(id="a"), Sample(id="b")]
    accumulator.add(Batch.of(samples), BatchScores({"m": Scores.of(np.zeros(2)), "k": failed}))
    assert accumulator.failures().share == 1.0
    assert accumulator.failures() == Failures(2, 2, reason="down", row="b")
    assert accumulator.failures(fewest_asked=9) == Failures(2, 2, reason="down", row="b")  # of no judge
    assert Accumulator().failures().share == 0.0


def test_rows_of_one_question_share_a_cluster_and_rows_without_stand_alone():
    questions = ("Who?", "Where?", "Who?", "", " ", "")
    accumulator = entered([Sample(id=str(i), question=text) for i, text in enumerate(questions)])
    assert accumulator.clusters.numbers.tolist()[:3] == [0, 1, 0]
    assert len(set(accumulator.clusters.numbers)) == 5


def test_labels_lengths_and_content_word_precisions():
    accumulator = entered(
        [
            Sample(id="a", response="old Paris", contexts=("Paris",), label=True),
            Sample(id="b", response="in Rome", contexts=("Paris",)),
            Sample(id="c", response="Rome", label=False),
            Sample(id="d", label=False),
        ]
    )
    assert list(accumulator.labels) == [1, -1, 0, 0]
    assert list(accumulator.lengths)[:3] == [9, 7, 4]
    assert np.isnan(accumulator.lengths[3])
    assert accumulator.precisions[0] == accumulator.overlaps[0] == 0.5
    assert np.isnan([accumulator.precisions[1:], accumulator.overlaps[1:]]).all()


def test_copies_of_the_reference_are_counted_where_labels_are():
    twin = {"response": "Paris", "reference": ["Rome", "Paris"]}
    accumulator = entered([Sample(id="a", label=False, **twin), Sample(id="b", **twin)])
    assert accumulator.copies == 1


def test_blank_responses_are_counted_and_absent_ones_are_not():
    samples = [Sample(id="a", response=" \n"), Sample(id="b", response=""), Sample(id="c", question="When?")]
    assert entered(samples).blank == 2


def test_rows_with_truncated_texts_add_up_by_field():
    accumulator = entered([Sample(id="a")], {"contexts": 1})
    accumulator.add(Batch.of([Sample(id="b")]), BatchScores({}, {"contexts": 1, "question": 1}))
    assert accumulator.truncated == {"contexts": 2, "question": 1}
    assert accumulator.windowed == {}


def test_rows_with_texts_in_windows_add_up_by_field():
    accumulator = entered([Sample(id="a")])
    for windowed in ({"contexts": 1}, {"contexts": 2, "response": 1}):
        accumulator.add(Batch.of([Sample(id="b")]), BatchScores({}, windowed=windowed))
    assert (accumulator.windowed, accumulator.truncated) == ({"contexts": 3, "response": 1}, {})
