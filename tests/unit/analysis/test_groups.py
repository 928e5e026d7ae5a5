from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.groups import class_tables, group_by
from sgi.engine.summarise import class_keys, column_summary, metric_summary, with_range
from sgi.kernel.errors import UsageError
from sgi.stats.paired_tests import benjamini_hochberg
from support.scored_runs import column, run

VALUES = [0.1, 0.9, 0.2, np.nan, 0.3, 0.8, 0.4, 0.5, 0.6]
GROUPS = ["b", None, "b", "b", "b", None, "b", "a", "b"]


def test_groups_stand_in_the_order_in_which_they_appear():
    found = group_by(run(column("m", VALUES)), GROUPS)
    assert [(group.name, group.rows) for group in found] == [("b", 6), ("(none)", 2), ("a", 1)]


def test_a_group_has_the_numbers_of_its_rows_alone():
    made = run(column("m", VALUES), column("k", np.arange(9)), clusters=[0, 0, 1, 1, 2, 2, 3, 3, 4])
    first = group_by(made, GROUPS)[0]
    rows = np.array([0, 2, 3, 4, 6, 8])
    summary = first.metrics[0]
    assert summary == metric_summary(made.take(rows).metrics["m"], made.clusters[rows])
    assert (summary.rows, summary.ok, summary.coverage) == (6, 5, 5 / 6)
    assert summary.mean == pytest.approx(np.mean([0.1, 0.2, 0.3, 0.4, 0.6]))
    assert summary.deviation == pytest.approx(np.std([0.1, 0.2, 0.3, 0.4, 0.6], ddof=1))
    assert summary.interval.low < summary.mean < summary.interval.high
    assert first.metrics[1].mean == pytest.approx(rows.mean())


def test_one_row_has_a_mean_and_no_interval():
    alone = group_by(run(column("m", VALUES)), GROUPS)[2].metrics[0]
    assert (alone.mean, alone.interval, alone.deviation) == (0.5, None, None)


def test_repeated_questions_count_within_a_group_too():
    values = np.repeat(np.random.default_rng(0).random(size=10), 10)
    together = group_by(run(column("m", values), clusters=np.arange(100) // 10), ["g"] * 100)[0]
    apart = group_by(run(column("m", values)), ["g"] * 100)[0]
    wide, narrow = (group.metrics[0].interval for group in (together, apart))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_grades_are_in_grade_order_with_their_shares():
    grades = ["E", "C", "E", "E", None, "A", "B", "B", "E"]
    found = group_by(run(column("factual_accuracy", VALUES)), GROUPS, classes={"factual_accuracy": grades})
    first, second, _ = (group.metrics[0] for group in found)
    assert list(first.classes.items()) == [("B", 1), ("E", 4)]
    assert first.class_shares == {"B": 0.2, "E": 0.8}  # of the rows that have a grade
    assert list(second.classes) == ["A", "C"]
    assert first.to_dict()["class_shares"] == first.class_shares
    (table,) = class_tables(found)
    assert (table.metric, table.classes) == ("factual_accuracy", ("A", "B", "C", "E"))


def test_classes_of_a_metric_that_is_not_installed_are_the_most_frequent_first():
    made = group_by(run(column("theirs", VALUES)), ["g"] * 9, classes={"theirs": ["x", "y", "y"] * 3})
    assert class_tables(made)[0].classes == ("y", "x")
    assert class_tables(group_by(run(column("m", VALUES)), GROUPS)) == ()


def test_the_best_and_the_worst_value_follow_the_direction():
    up = group_by(run(column("m", VALUES)), GROUPS)[0].metrics[0]
    assert (up.best, up.worst) == (0.6, 0.1)
    down = group_by(run(replace(column("m", VALUES), higher_is_better=False)), GROUPS)[0].metrics[0]
    assert (down.best, down.worst) == (0.1, 0.6)


def test_a_group_is_json():
    plain = json.loads(json.dumps([group.to_dict() for group in group_by(run(column("m", VALUES)), GROUPS)]))
    assert plain[0]["metrics"][0]["coverage"] == 5 / 6
    assert plain[0]["metrics"][0]["counts"]["failed"] == 1


def test_no_rows_have_no_groups():
    assert group_by(run(column("m", [])), []) == ()


def test_groups_and_classes_are_one_for_each_row():
    made = run(column("m", VALUES))
    with pytest.raises(UsageError):
        group_by(made, ["a", "b"])
    with pytest.raises(UsageError):
        group_by(made, GROUPS, classes={"m": ["A"]})


def test_the_range_of_a_known_name_is_known():
    unknown = {"low": None, "high": None}
    made = with_range(replace(column("rouge_l(beta=1.2)", [1.0], **unknown), version=2))
    assert (made.low, made.high) == (0.0, 1.0)
    assert with_range(column("rouge_l", [1.0], low=0.5, high=None)).low == 0.5
    assert with_range(column("theirs", [1.0], **unknown)).low is None
    for version in (0, 99):  # 0: of which version is not known
        assert with_range(replace(column("rouge_l", [1.0], **unknown), version=version)).low is None
    (group,) = group_by(run(column("squad_em", [1.0] * 6, **unknown)), ["g"] * 6)
    assert (group.metrics[0].interval.high, group.metrics[0].is_share) == (1.0, True)


def test_equal_values_of_a_range_that_is_not_known_have_no_interval():
    found = column_summary(column("theirs", [0.5] * 90, low=None, high=None), np.arange(90))
    assert (found.mean, found.interval) == (0.5, None)
    assert "no known ends" in found.no_interval
    ours = replace(column("squad_em", [1.0] * 90, low=None, high=None), version=1)
    known = column_summary(ours, np.arange(90))
    assert known.interval.method == "unseen values"


def test_the_keys_of_classes_are_those_of_metrics_that_are_here():
    found = class_keys(["factual_accuracy(weights=[1, 1, 1])", "squad_em", "of_some_plugin(x=1)"])
    assert found == {"factual_accuracy(weights=[1, 1, 1])": "grade"}


def verdicts(*columns, names, **parts):
    return {
        group.name: [one.verdict for one in group.others] for group in group_by(run(*columns, **parts), names)
    }


def test_a_group_is_named_only_if_the_test_against_the_other_rows_says_so():
    names = [f"g{row % 5}" for row in range(200)]
    noise = np.random.default_rng(0).normal(0.5, 0.1, (2, 200))
    noise[1, ::5] -= 0.3
    same, low = np.clip(noise, 0, 1)
    found = verdicts(
        column("same", same), column("low", low), column("cost", low, higher_is_better=False), names=names
    )
    assert found["g0"] == ["no difference found", "worse", "better"]
    assert {words[0] for words in found.values()} == {"no difference found"}
    assert {words[1] for name, words in found.items() if name != "g0"} <= {"no difference found", "better"}


def test_p_is_corrected_for_all_groups_and_metrics():
    made = run(column("a", np.arange(40) / 40), column("b", np.arange(40)[::-1] / 40))
    groups = group_by(made, [f"g{row // 10}" for row in range(40)])
    tests = [test for group in groups for test in group.others]
    assert tuple(test.adjusted_p for test in tests) == benjamini_hochberg([test.p for test in tests])
    assert [test.verdict for test in groups[0].others] == ["worse", "better"]


def test_what_cannot_be_tested_has_a_reason_and_no_verdict():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, np.nan, 0.5]
    few, _, empty = group_by(run(column("m", values)), ["few", *["rest"] * 4, "empty", "rest"])
    assert (few.others[0].verdict, few.others[0].p) == ("not tested", None)
    assert "too few" in few.others[0].not_tested
    assert empty.others[0].not_tested == "no row has a value"
    many = group_by(run(column("m", np.arange(60) / 60)), list(map(str, range(60))))
    assert many[0].others[0].not_tested == "60 groups are too many; at most 50 are tested"
    (alone,) = group_by(run(column("m", values)), ["all"] * 7)
    assert alone.others == ()


def test_a_group_of_weighted_rows_is_not_tested():
    inside = [0.9] * 20 + [0.1] * 20  # better than the others without weights, worse with them
    values = np.array([*inside, *[0.4] * 20, *[0.3] * 20])
    weights = np.array([0.1] * 20 + [10.0] * 20 + [1.0] * 40)
    made = replace(run(column("m", values)), weights=weights)
    first, second = group_by(made, ["in"] * 40 + ["out"] * 40)
    assert np.mean(values[:40]) > np.mean(values[40:]) > first.metrics[0].mean
    assert {(test.verdict, test.not_tested, test.p) for test in (*first.others, *second.others)} == {
        ("not tested", "the rows have weights", None)
    }
