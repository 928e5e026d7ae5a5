"""What holds of agreement and of corrected means, whatever the ratings."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.agreement.agree import agree
from sgi.analysis.labels import read_labels
from sgi.kernel.errors import DataError
from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.prediction_powered import prediction_powered_mean
from support.scored_runs import column, run

numbers = st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float)
pairs = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20).map(np.array)
few = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=20).map(np.array)
kappas = st.sampled_from(["nominal", "linear", "quadratic"])
scales = st.sampled_from(["nominal", "ordinal", "interval"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner)
)
shares = st.floats(0, 1)


@given(pairs, kappas)
def test_kappa_lies_in_its_range_and_does_not_know_who_is_who(made, weights):
    first, second = made.T
    one = cohen_kappa(first, second, weights=weights)
    other = cohen_kappa(second, first, weights=weights)
    if one.value is None:
        assert one.reason
        assert np.ptp(made / np.abs(made).max()) < 1e-9 if made.any() else True
    else:
        assert -1 - 1e-9 <= one.value <= 1
        assert other.value == pytest.approx(one.value, abs=1e-9)
    if one.interval is not None:
        assert math.isfinite(one.interval.low)
        assert one.interval.low <= one.interval.high <= 1


@given(pairs, scales)
def test_alpha_is_at_most_1_and_1_only_without_a_disagreement(made, scale):
    first, second = made.T
    found = krippendorff_alpha(first, second, scale=scale)
    if found.value is not None:
        assert found.value <= 1
        if np.array_equal(first, second):
            assert found.value == 1
        elif scale != "interval":
            assert found.value < 1


@given(few, st.floats(0.01, 100), st.floats(-50, 50))
def test_no_unit_matters(made, factor, shift):
    first, second = made.T.astype(float)
    moved = first * factor + shift, second * factor + shift
    for weights in ("nominal", "linear", "quadratic"):
        before, after = (cohen_kappa(*two, weights=weights).value for two in ((first, second), moved))
        assert after == (None if before is None else pytest.approx(before, abs=1e-6))
    for scale in ("nominal", "ordinal", "interval"):
        before, after = (krippendorff_alpha(*two, scale=scale).value for two in ((first, second), moved))
        assert after == (None if before is None else pytest.approx(before, abs=1e-6))


@given(few, st.randoms())
def test_the_order_of_rows_matters_not_at_all(made, random):
    order = list(range(len(made)))
    random.shuffle(order)
    for measure in (cohen_kappa, krippendorff_alpha):
        assert measure(*made[order].T).value == measure(*made.T).value


@given(st.lists(st.tuples(st.none() | st.booleans(), shares), min_size=1, max_size=40))
def test_a_corrected_share_is_a_share_within_its_interval(rows):
    labels = [math.nan if label is None else float(label) for label, _ in rows]
    found = prediction_powered_mean(labels, [score for _, score in rows], bounds=(0.0, 1.0))
    known = [label for label in labels if not math.isnan(label)]
    if len(known) < 2:
        assert found is None
        return
    assert (0 <= found.value <= 1, 0 <= found.power <= 1) == (True, True)
    assert (found.labelled, found.unlabelled) == (len(known), len(rows) - len(known))
    if found.interval is not None:
        slack = 1e-9
        assert 0 <= found.interval.low <= found.value + slack
        assert found.value - slack <= found.interval.high <= 1


@given(st.lists(anything, max_size=12), st.booleans())
def test_labels_are_read_or_refused_by_name(values, numbers):
    ids = [f"row {place}" for place in range(len(values))]
    try:
        made = read_labels("human", values, ids, numbers=numbers)
    except DataError as caught:
        refused = caught
    else:
        refused = None
    if refused is not None:
        assert (refused.sample_id in ids, refused.field) == (True, "human")
        return
    assert len(made.values) == len(values)
    kinds = {type(value) for value in made.values if value is not None}
    assert kinds <= ({str} if made.kind == "classes" else {float})
    assert all(math.isfinite(value) for value in made.values if isinstance(value, float))


@given(st.lists(st.tuples(st.none() | st.booleans(), st.none() | shares), min_size=1, max_size=40))
def test_a_report_is_json_and_has_a_number_or_a_reason(rows):
    values = [math.nan if value is None else value for _, value in rows]
    made = agree(run(column("faith", values)), "human", [label for label, _ in rows])
    json.dumps(made.to_dict(), allow_nan=False)
    (found,) = made.metrics
    assert (found.kappa is None) == bool(found.reason)
    if found.kappa is not None:
        assert found.kappa.value is not None
        assert (found.kappa.interval is None) == bool(found.kappa.reason)
