from __future__ import annotations

import json

import numpy as np
import pytest

from sgi.engine.gate import gate
from sgi.engine.rules import Condition, Rule
from sgi.kernel.errors import UsageError
from sgi.stats import mean_interval
from support.scored_runs import column, run

VALUES = np.random.default_rng(0).beta(8, 2, 100)
INTERVAL = mean_interval(VALUES)


def good(**options):
    return run(column("m", VALUES), column("angle", 1 - VALUES, higher_is_better=False), **options)


def only(report):
    (check,) = report.checks
    assert report.passed == check.passed == (check.reason == "")
    return check


@pytest.mark.parametrize(
    ("operator", "threshold", "passed"),
    [
        (">=", INTERVAL.low, True),
        (">", INTERVAL.low, False),
        (">=", VALUES.mean(), False),  # the mean alone would do
        ("<=", INTERVAL.high, True),
        ("<", INTERVAL.high, False),
        ("<=", VALUES.mean(), False),
        (">", INTERVAL.low - 1e-9, True),
        ("<", INTERVAL.high + 1e-9, True),
    ],
)
def test_the_end_of_the_interval_decides(operator, threshold, passed):
    check = only(gate(good(), Rule("m", Condition(operator), float(threshold))))
    assert check.passed is passed
    assert check.bound == (INTERVAL.low if operator.startswith(">") else INTERVAL.high)
    assert check.value == pytest.approx(VALUES.mean())
    assert ("end of its interval" in check.reason) is not passed


def test_every_rule_is_one_check():
    report = gate(good(), ["m >= 0.5", "m <= 0.9", "angle >= 0.5"])
    assert [check.passed for check in report.checks] == [True, True, False]
    assert not report.passed
    assert [check.wanted for check in report.checks] == ["m >= 0.5", "m <= 0.9", "angle >= 0.5"]


def test_rows_without_a_value_count_against_coverage():
    holed = np.where(np.arange(100) < 6, np.nan, VALUES)
    made = run(column("m", holed))
    check = only(gate(made, "m>=0.5"))
    assert (check.passed, check.coverage) == (False, 0.94)
    assert check.reason == "only 94.0% of 100 rows have a value; 95.0% are wanted"
    assert gate(made, "m>=0.5", coverage=0.94).passed
    assert gate(made, Rule("m", Condition.AT_LEAST, 0.5, coverage=0.9)).passed
    assert not gate(made, Rule("m", Condition.AT_LEAST, 0.5, coverage=0.99), coverage=0.1).passed


def test_a_run_that_has_not_come_to_its_end_is_not_good():
    assert only(gate(good(rows=1000), "m>=0.1")).reason.startswith("only 10.0% of 1000 rows")


def test_no_rows_are_not_good():
    assert only(gate(run(column("m", [])), "m>=0.0")).reason == "there are no rows"
    assert not gate(run(column("m", [])), "m>=0.0", coverage=0.0).passed
    assert not gate(run(column("m", [np.nan] * 9)), "m>=0.0", coverage=0.0).passed


def test_too_few_values_for_an_interval_are_not_good():
    assert (
        only(gate(run(column("m", [0.9, 0.8, 0.9])), "m>=0.1")).reason
        == "there are too few values for an interval"
    )


def test_a_metric_the_run_does_not_have_is_not_good():
    check = only(gate(good(), "n>=0.1"))
    assert (check.passed, check.value, check.bound, check.coverage) == (False, None, None, 0.0)
    assert "It has: m, angle" in check.reason
    several = run(column("rouge_l(beta=1.2)", VALUES), column("rouge_l(beta=2.0)", VALUES))
    assert not gate(several, "rouge_l>=0.1").passed
    assert gate(several, "rouge_l(beta = 2)>=0.1").passed
    assert gate(run(column("rouge_l(beta=1.2)", VALUES)), "rouge_l>=0.1").passed


def test_a_constant_has_an_interval():
    assert gate(run(column("m", [1.5] * 10, high=None)), "m>=1.5").passed
    assert not gate(run(column("m", [1.0] * 10)), "m>=0.9").passed  # ten of ten is no proof of 0.9


def test_a_drop_is_judged_by_the_end_of_the_interval_of_the_difference():
    noise = np.random.default_rng(1).normal(0, 0.01, 100)
    base, same, worse = (run(column("m", VALUES + step)) for step in (0.0, noise, noise - 0.05))
    assert gate(same, "m>=0.1", against=base, max_drop=0.01).passed
    report = gate(worse, "m>=0.1", against=base, max_drop=0.04)
    assert [check.passed for check in report.checks] == [True, False]
    drop = report.checks[1]
    assert drop.wanted == "m drop <= 0.04"
    assert drop.value == pytest.approx(-0.05 + noise.mean())
    assert drop.bound < drop.value
    assert drop.reason == f"it may have lost {-drop.bound:.6g}, by the end of the interval of the difference"
    assert gate(worse, "m>=0.1", against=base, max_drop=-drop.bound + 1e-9).passed
    assert not gate(worse, "m>=0.1", against=base, max_drop=-drop.value).passed


def test_a_metric_of_which_less_is_better_drops_by_rising():
    base, risen = (run(column("angle", VALUES + up, higher_is_better=False)) for up in (0.0, 0.1))
    assert not gate(risen, [], against=base, max_drop=0.05).passed
    assert gate(base, [], against=risen, max_drop=0.0).passed


def test_a_run_beside_itself_has_lost_nothing():
    report = gate(good(), [], against=good(), max_drop=0.0)
    assert report.passed
    assert [check.wanted for check in report.checks] == ["m drop <= 0.0", "angle drop <= 0.0"]


def test_whose_drops_are_looked_at():
    rules = ["m>=0.1", "m<=1.0", Rule("angle", Condition.MAX_DROP, 0.5)]
    wanted = [check.wanted for check in gate(good(), rules, against=good(), max_drop=0.1).checks]
    assert wanted == ["m >= 0.1", "m <= 1.0", "angle drop <= 0.5", "m drop <= 0.1"]


@pytest.mark.parametrize(
    ("against", "reason"),
    [
        (run(column("m", VALUES), ids=[f"x{i}" for i in range(100)]), "no sample id in common"),
        (run(column("k", VALUES)), "no metric in common"),
        (run(column("angle", VALUES, higher_is_better=False), name="base"), "base has no metric m"),
        (run(column("m", VALUES, high=9.0)), "another range"),
        (run(column("m", np.where(np.arange(100) < 10, np.nan, VALUES))), "only 90.0% of 100 rows"),
        (run(column("m", [*VALUES, *VALUES])), "only 50.0% of 200 rows have a value in both runs"),
        (good(rows=300), "only 33.3% of 300 rows"),
    ],
)
def test_what_cannot_be_compared_is_not_good(against, reason):
    check = only(gate(good(), Rule("m", Condition.MAX_DROP, 1e6), against=against))
    assert reason in check.reason


def test_too_few_pairs_are_not_good():
    few = run(column("m", [0.1, 0.2, 0.3]))
    assert only(gate(few, [], against=few, max_drop=1.0)).reason == "there are too few values for an interval"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": []}, "no rule to decide by"),
        ({"rules": [], "against": good()}, "no rule to decide by"),
        ({"rules": [], "against": run(column("k", VALUES)), "max_drop": 0.1}, "no rule to decide by"),
        ({"rules": "m>=1", "max_drop": 0.1}, "needs a run to compare with"),
        ({"rules": "m>=1", "against": good()}, "needs how much may be lost"),
        ({"rules": Rule("m", Condition.MAX_DROP, 0.1)}, "needs a run to compare with"),
        ({"rules": "m>=1", "coverage": 95}, "95 % is 0.95"),
        ({"rules": "m>=1", "coverage": float("nan")}, "coverage: expected a finite number"),
        (
            {"rules": "m>=1", "max_drop": -0.1, "against": good()},
            "max_drop: expected a finite number of at least 0",
        ),
        ({"rules": "m=>1"}, "is no rule"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(UsageError) as caught:
        gate(good(), **arguments)
    assert message in str(caught.value)


def test_rules_from_a_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        'coverage = 0.5\n[[rule]]\nmetric = "m"\nat_least = 0.5\nmax_drop = 0.01\n', encoding="utf-8"
    )
    half = run(column("m", np.where(np.arange(100) % 3 == 0, np.nan, VALUES)))
    report = gate(half, path, against=half)
    assert report.passed
    assert [check.wanted for check in report.checks] == ["m >= 0.5", "m drop <= 0.01"]


def test_a_report_is_json_and_a_table():
    report = gate(good(), ["m>=0.5", "n>=0.5"])
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (plain["passed"], [check["passed"] for check in plain["checks"]]) == (False, [True, False])
    shown = str(report).splitlines()
    assert shown[0] == "last: 1 of 2 rules not met"
    assert shown[2].startswith("met ")
    assert shown[3].startswith("NOT MET")
    assert str(gate(good(), "m>=0.5")).startswith("last: all rules met")
