from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import ChangedRow, MissingPairs, compare
from sgi.analysis.gate.gate import gate
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Status
from sgi.kernel.metric_column import STATUSES, MetricColumn
from support.scored_runs import column, run


def noisy(seed=0, n=60, effect=0.0):
    return np.random.default_rng(seed).normal(effect, 0.1, n)


def test_a_run_beside_itself_shows_no_difference():
    made = run(column("a", noisy()), column("b", noisy(1) > 0))
    found = compare(made, made)
    assert (found.pairs, found.only_base, found.only_new) == (60, 0, 0)
    for metric in found.metrics:
        assert (metric.verdict, metric.difference.difference, metric.difference.p) == (
            "no difference found",
            0.0,
            1.0,
        )
        assert metric.adjusted_p == 1.0
        assert metric.changed == ()


@pytest.mark.parametrize(
    ("effect", "higher_is_better", "verdict"),
    [(0.1, True, "better"), (-0.1, True, "worse"), (0.1, False, "worse"), (-0.1, False, "better")],
)
def test_the_verdict_follows_the_direction(effect, higher_is_better, verdict):
    base = column("a", noisy(), higher_is_better=higher_is_better)
    new = column("a", noisy() + noisy(1, effect=effect), higher_is_better=higher_is_better)
    (found,) = compare(run(base), run(new)).metrics
    assert found.verdict == verdict
    assert found.difference.difference == pytest.approx(effect, abs=0.05)


def test_rows_are_paired_by_id_whatever_their_order():
    values, gain = noisy(), noisy(1, effect=0.2)
    order = np.random.default_rng(2).permutation(60)
    ids = [f"q{i}" for i in range(60)]
    base = run(column("a", values), ids=ids, name="base")
    new = run(
        column("a", [*(values + gain)[order], 9.0]),
        ids=[*(ids[i] for i in order), "extra"],
        clusters=[0] * 61,  # the base run's clusters count
    )
    found = compare(base, new)
    assert (found.pairs, found.only_base, found.only_new) == (60, 0, 1)
    (metric,) = found.metrics
    assert metric.difference.difference == pytest.approx(gain.mean())
    assert metric.difference.clusters == 60
    assert metric.changed[0].id == ids[int(np.argmax(np.abs(gain)))]


def test_samples_and_metrics_of_one_run_alone_are_named_and_left_out():
    base = run(column("a", noisy(n=6)), column("old", noisy(n=6)), ids=list("abcdef"))
    new = run(column("fresh", noisy(n=5)), column("a", noisy(n=5)), ids=list("cdefg"))
    found = compare(base, new)
    assert (found.pairs, found.only_base, found.only_new) == (4, 2, 1)
    assert [metric.metric for metric in found.metrics] == ["a"]
    assert (found.only_base_metrics, found.only_new_metrics) == (("old",), ("fresh",))
    assert found.metrics[0].difference.interval is None  # four clusters
    assert found.metrics[0].verdict == "not tested"


def test_pairs_without_a_value_are_counted_by_their_statuses():
    values = noisy(n=10)
    codes = np.zeros(10, dtype=np.int8)
    codes[[1, 2, 3]] = STATUSES.index(Status.FAILED)
    codes[4] = STATUSES.index(Status.UNDEFINED)
    holed = np.where(codes == 0, values, np.nan)
    new = MetricColumn("a", holed, codes, 0.0, 1.0)
    before = values.copy()
    before[3] = np.nan
    (found,) = compare(run(column("a", before)), run(new), allow_different=True).metrics
    assert found.lacking == (
        MissingPairs("ok", "undefined", 1),
        MissingPairs("ok", "failed", 2),
        MissingPairs("failed", "failed", 1),
    )
    assert found.difference.pairs == 6


def test_the_rows_that_changed_most_ties_by_id():
    base = run(column("a", [0.0, 0.0, 0.5, 0.5, 0.0, np.nan]), ids=["z", "b", "c", "a", "same", "none"])
    new = run(column("a", [0.5, 0.5, 0.0, 1.5, 0.0, 9.0]), ids=["z", "b", "c", "a", "same", "none"])
    (found,) = compare(base, new, changed=3, allow_different=True).metrics
    assert found.changed == (
        ChangedRow("a", "a", 0.5, 1.5, 1.0),
        ChangedRow("b", "b", 0.0, 0.5, 0.5),
        ChangedRow("c", "c", 0.5, 0.0, -0.5),
    )
    assert len(compare(base, new, allow_different=True).metrics[0].changed) == 4
    assert compare(base, new, changed=0, allow_different=True).metrics[0].changed == ()
    (worse,) = compare(base, new, only_worse=True, allow_different=True).metrics
    assert [row.id for row in worse.changed] == ["c"]


def test_mcnemar_stands_where_only_yes_and_no_stand_and_no_question_repeats():
    before, after = np.repeat([1.0, 0.0, 1.0], [2, 12, 20]), np.repeat([0.0, 1.0, 1.0], [2, 12, 20])
    (found,) = compare(run(column("a", before)), run(column("a", after))).metrics
    assert (found.mcnemar.lost, found.mcnemar.gained, found.mcnemar.method) == (2, 12, "exact binomial")
    assert found.difference.p == pytest.approx(found.mcnemar.p, abs=0.01)
    repeated = run(column("a", before), clusters=np.arange(34) // 2)
    assert compare(repeated, run(column("a", after))).metrics[0].mcnemar is None
    assert compare(run(column("a", before)), run(column("a", after * 0.9))).metrics[0].mcnemar is None


def test_several_metrics_are_corrected_for():
    # One metric differs barely, and seven not at all: alone it would be found, among eight it is not.
    base = [column(f"m{i}", noisy(i)) for i in range(8)]
    new = [column("m0", noisy(0) + noisy(20, effect=0.055)), *base[1:]]
    alone = compare(run(base[0]), run(new[0])).metrics[0]
    among = compare(run(*base), run(*new)).metrics[0]
    assert alone.adjusted_p == alone.difference.p == among.difference.p
    assert among.adjusted_p == pytest.approx(8 * among.difference.p)
    assert (alone.verdict, among.verdict) == ("better", "no difference found")


def test_repeated_questions_count_once():
    gain = np.repeat(noisy(3, n=12, effect=0.05), 10)
    base, new = column("a", np.zeros(120)), column("a", gain)
    together = compare(run(base, clusters=np.arange(120) // 10), run(new)).metrics[0]
    apart = compare(run(base), run(new)).metrics[0]
    assert together.difference.clusters == 12
    assert together.difference.p > apart.difference.p
    assert together.difference.smallest > 2 * apart.difference.smallest


def test_runs_without_a_common_sample_or_metric_are_refused():
    one, other = run(column("a", [1.0]), ids=["x"]), run(column("a", [1.0]), ids=["y"], name="other")
    with pytest.raises(UsageError):
        compare(one, other)
    with pytest.raises(UsageError):
        compare(one, run(column("b", [1.0]), ids=["x"]))
    with pytest.raises(UsageError):
        compare(one, run(column("a", []), name="other"))


@pytest.mark.parametrize("changed", [{"high": 100.0}, {"low": -1.0}, {"higher_is_better": False}])
def test_a_metric_that_became_another_is_refused(changed):
    base, new = run(column("a", noisy())), run(column("a", noisy(), **changed), name="new")
    with pytest.raises(UsageError):
        compare(base, new)


def test_a_range_that_is_not_known_contradicts_none():
    known, unknown = column("a", noisy()), column("a", noisy(), low=None, high=None)
    assert compare(run(known), run(unknown)).pairs == 60


def test_a_comparison_is_json_and_shows_both_signatures():
    base = run(column("a", [np.nan, *noisy(n=59)]), column("b", np.arange(60) % 2), name="monday")
    new = run(column("a", noisy(1, n=60)), column("b", np.arange(60) % 3 == 0), name="friday")
    found = compare(base, new)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["metrics"][0]["difference"]["pairs"] == 59
    assert plain["metrics"][1]["mcnemar"]["method"] == "chi-squared"
    shown = str(found).splitlines()
    assert shown[0] == "monday → friday: 60 pairs (0 only in monday, 0 only in friday)"
    assert shown[-2:] == ["signature of monday", "signature of friday"]
    assert "no difference found" in shown[2]


def versioned(version, *names, **options):
    return run(*(replace(column(name, noisy()), version=version) for name in names), **options)


@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0), (0, 0)])
def test_a_version_that_is_not_recorded_is_noted(before, after):
    found = compare(versioned(before, "bleu"), versioned(after, "bleu"))
    assert (len(found.metrics), found.differences) == (1, ())
    (note,) = found.notes
    assert "version of bleu is not recorded in both runs" in note
    assert note in str(found)


@pytest.mark.parametrize(
    ("margin", "higher_is_better", "verdict"),
    [
        (0.06, True, "equal, shown"),
        (0.02, True, "no worse, shown"),  # the gain of 0.03 can be more than 0.02
        (0.02, False, "not shown"),
        (0.06, False, "equal, shown"),
    ],
)
def test_a_margin_is_shown_if_the_interval_allows_no_such_loss(margin, higher_is_better, verdict):
    base = column("a", noisy(), higher_is_better=higher_is_better)
    new = replace(base, values=base.values + noisy(1, effect=0.03) / 2 + 0.015)
    (found,) = compare(run(base), run(new), margin=margin).metrics
    ends, test = found.difference.interval, found.margin
    assert test.verdict == verdict
    assert (test.p_equal < 0.05) == (ends.low > -margin and ends.high < margin)
    assert (test.p_no_worse < 0.05) == (ends.low > -margin if higher_is_better else ends.high < margin)


def test_the_margins_of_several_metrics_are_corrected_and_agree_with_a_gate():
    made = noisy(1) / 4
    metrics = [column(name, noisy()) for name in "abcd"]
    base, new = run(*metrics), run(*(replace(one, values=one.values + made) for one in metrics))
    alone, *several = (
        compare(*sides, margin=0.01).metrics[0].margin
        for sides in (
            (run(metrics[0]), run(replace(metrics[0], values=metrics[0].values + made))),
            (base, new),
        )
    )
    assert several[0].p_no_worse == pytest.approx(4 * alone.p_no_worse)
    end = compare(base, new).metrics[0].difference.interval.low
    for margin in (-end * 1.01, -end * 0.99):
        passed = gate(run(new.metrics["a"]), [], against=run(base.metrics["a"]), max_drop=margin).passed
        (shown,) = compare(run(base.metrics["a"]), run(new.metrics["a"]), margin=margin).metrics
        assert passed == (shown.margin.verdict != "not shown")


def test_the_margin_of_a_ratio_is_in_its_own_unit():
    values = np.resize([0.5, 2.0, 1.5, 1.2, 3.0], 60)
    first, second = (
        replace(column("sgi", side, low=0.0, high=None), unit="ratio")
        for side in (values, values + np.resize([0.02, -0.02], 60))
    )
    for margin in (0.001, 0.05):
        (found,) = compare(run(first), run(second), margin=margin).metrics
        ends = found.difference.interval
        assert (found.margin.verdict == "equal, shown") == (ends.low > -margin and ends.high < margin)


@pytest.mark.parametrize("margin", [0.0, -0.1, float("inf"), float("nan")])
def test_a_margin_that_is_not_above_zero_is_refused(margin):
    made = run(column("a", noisy()))
    with pytest.raises(UsageError, match="margin"):
        compare(made, made, margin=margin)


def test_a_certain_difference_is_shown_or_not_without_an_interval():
    fast, slow = (run(column("latency", np.full(20, value), low=0.0, high=None)) for value in (100.0, 110.0))
    verdicts = [compare(fast, slow, margin=margin).metrics[0].margin.verdict for margin in (5.0, 20.0)]
    assert "equal, shown" in verdicts
    few = run(column("a", [0.1, 0.2]))
    assert compare(few, few, margin=0.1).metrics[0].margin.verdict == "not tested"


def test_the_margin_of_a_weighted_ratio_agrees_with_its_weighted_interval():
    rng = np.random.default_rng(3)
    before = np.r_[rng.uniform(0.1, 0.2, 20), rng.uniform(8, 9, 60)]
    weights = np.r_[np.full(20, 20.0), np.ones(60)]
    sides = [
        replace(run(column("sgi", values, low=0.0, high=None), name=name), weights=weights)
        for name, values in (("base", before), ("new", before * rng.uniform(0.85, 1.1, 80)))
    ]
    low = compare(*sides).metrics[0].difference.interval.low
    shown = [compare(*sides, margin=-low * factor).metrics[0].margin.verdict for factor in (0.99, 1.01)]
    assert shown[0] == "not shown" != shown[1]
