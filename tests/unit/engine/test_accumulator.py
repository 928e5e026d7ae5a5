from __future__ import annotations

import numpy as np

from sgi.engine.accumulator import Failures, Ledger
from sgi.engine.score import BatchScores
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample


def entered(samples, truncated=(), values=None):
    ledger = Ledger()
    column = np.zeros(len(samples)) if values is None else np.array(values)
    scores = Scores.of(column, undefined={"no value": np.isnan(column)})
    ledger.add(Batch.of(samples), BatchScores({"m": scores}, dict(truncated)))
    return ledger


def test_values_and_counts_add_up_over_batches():
    ledger = Ledger()
    for values in ([1.0, np.nan], [3.0]):
        column = np.array(values)
        scores = Scores.of(column, undefined={"no value": np.isnan(column)})
        samples = [Sample(id=f"{len(ledger)}-{i}") for i in range(len(values))]
        ledger.add(Batch.of(samples), BatchScores({"theta_rc": scores}))
    assert len(ledger) == 3
    column = ledger.column(metric("theta_rc"))
    np.testing.assert_array_equal(column.values, [1.0, np.nan, 3.0])
    assert (column.low, column.high, column.higher_is_better) == (0.0, np.pi, False)
    assert column.counts() == {Status.OK: 2, Status.UNDEFINED: 1, Status.MISSING: 0, Status.FAILED: 0}
    assert ledger.failure_share() == 0.0


def test_the_failure_share_is_that_of_the_worst_metric():
    ledger = Ledger()
    failed = Scores.without_value(Status.FAILED, ["down", "down"])
    samples = [Sample(id="a"), Sample(id="b")]
    ledger.add(Batch.of(samples), BatchScores({"m": Scores.of(np.zeros(2)), "k": failed}))
    assert ledger.failure_share() == 1.0
    assert ledger.failures() == Failures(2, 2, reason="down")
    assert ledger.failures(fewest_asked=9) == Failures(2, 2, reason="down")  # of no judge
    assert Ledger().failure_share() == 0.0


def test_rows_of_one_question_share_a_cluster_and_rows_without_stand_alone():
    questions = ("Who?", "Where?", "Who?", "", " ", "")
    ledger = entered([Sample(id=str(i), question=text) for i, text in enumerate(questions)])
    assert ledger.clusters.numbers.tolist()[:3] == [0, 1, 0]
    assert len(set(ledger.clusters.numbers)) == 5


def test_labels_lengths_and_overlaps():
    ledger = entered(
        [
            Sample(id="a", response="in Paris", contexts=("Paris",), label=True),
            Sample(id="b", response="in Rome", contexts=("Paris",)),
            Sample(id="c", response="Rome", label=False),
            Sample(id="d", label=False),
        ]
    )
    assert list(ledger.labels) == [1, -1, 0, 0]
    assert list(ledger.lengths)[:3] == [8, 7, 4]
    assert np.isnan(ledger.lengths[3])
    assert ledger.overlaps[0] == 0.5
    assert np.isnan(ledger.overlaps[1:]).all()


def test_copies_of_the_reference_are_counted_where_labels_are():
    twin = {"response": "Paris", "reference": ["Rome", "Paris"]}
    ledger = entered([Sample(id="a", label=False, **twin), Sample(id="b", **twin)])
    assert ledger.copies == 1


def test_rows_with_truncated_texts_add_up_by_field():
    ledger = entered([Sample(id="a")], {"contexts": 1})
    ledger.add(Batch.of([Sample(id="b")]), BatchScores({}, {"contexts": 1, "question": 1}))
    assert ledger.truncated == {"contexts": 2, "question": 1}
