from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.analysis.gate.checks import Policy, WorstRow, check_drop
from sgi.analysis.gate.gate import gate
from sgi.analysis.gate.rules import Condition, Rule
from sgi.kernel.clusters import Clustering
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.stats.intervals import Interval
from support.gates import INTERVAL, VALUES, good, only
from support.scored_runs import column, run, with_record


@pytest.mark.parametrize(
    ("operator", "threshold", "passed"),
    [
        (">=", INTERVAL.low, True),
        (">", INTERVAL.low, False),
        (">=", VALUES.mean(), False),
        ("<=", INTERVAL.high, True),
        ("<", INTERVAL.high, False),
    ],
)
def test_the_end_of_the_interval_decides(operator, threshold, passed):
    check = only(gate(good(), Rule("m", Condition(operator), float(threshold))))
    assert check.passed is passed
    assert check.bound == (INTERVAL.low if operator.startswith(">") else INTERVAL.high)
    assert check.value == pytest.approx(VALUES.mean())
    assert ("the 95 % interval reaches" in check.reason) is not passed


def test_every_rule_is_one_check():
    report = gate(good(), ["m >= 0.5", "m <= 0.9", "angle >= 0.5"])
    assert [check.passed for check in report.checks] == [True, True, False]
    assert not report.passed
    assert [check.rule for check in report.checks] == ["m >= 0.5", "m <= 0.9", "angle >= 0.5"]


def test_rows_without_a_value_count_against_coverage():
    holed = np.where(np.arange(100) < 6, np.nan, VALUES)
    made = run(column("m", holed))
    check = only(gate(made, "m>=0.5"))
    assert (check.passed, check.coverage) == (False, 0.94)
    assert check.reason == "only 94.0% of 100 rows have a value; 95.0% are required"
    assert gate(made, "m>=0.5", coverage=0.94).passed
    assert gate(made, Rule("m", Condition.AT_LEAST, 0.5, coverage=0.9)).passed
    assert not gate(made, Rule("m", Condition.AT_LEAST, 0.5, coverage=0.99), coverage=0.1).passed


def test_a_run_that_has_not_come_to_its_end_is_not_good():
    assert only(gate(good(rows=1000), "m>=0.1")).reason.startswith("only 10.0% of 1,000 rows")


def test_no_rows_are_not_good():
    assert only(gate(run(column("m", [])), "m>=0.0")).reason == "the run has no rows"
    assert not gate(run(column("m", [])), "m>=0.0", coverage=0.0).passed
    assert not gate(run(column("m", [np.nan] * 9)), "m>=0.0", coverage=0.0).passed


def test_too_few_values_for_an_interval_are_not_good():
    check = only(gate(run(column("m", [0.9, 0.8, 0.9])), "m>=0.1"))
    assert check.reason == "there is no interval: 3 clusters are too few for an interval; 5 are needed"


def test_a_metric_the_run_does_not_have_is_not_good():
    check = only(gate(good(), "rouge_l>=0.1"))
    assert (check.passed, check.value, check.bound, check.coverage) == (False, None, None, 0.0)
    assert "It has: m, angle" in check.reason
    several = run(column("rouge_l(beta=1.2)", VALUES), column("rouge_l(beta=2.0)", VALUES))
    assert not gate(several, "rouge_l>=0.1").passed
    assert gate(several, "rouge_l(beta = 2)>=0.1").passed
    assert gate(run(column("rouge_l(beta=1.2)", VALUES)), "rouge_l>=0.1").passed
    with pytest.raises(UnknownNameError, match="anglee"):
        gate(good(), "anglee<=0.1")
    assert not gate(good(), "retired>=0.1", against=run(column("retired", VALUES)), max_drop=0.1).passed


def test_equal_values_are_no_proof():
    assert not gate(run(column("m", [0.75] * 5)), "m>=0.75").passed
    assert not gate(run(column("m", [1.5] * 10, high=2.0)), "m>=1.5").passed
    assert gate(run(column("m", [1.5] * 100, high=2.0)), "m>=1.4").passed
    assert not gate(run(column("m", [1.5] * 4, high=2.0)), "m>=0.1").passed
    assert not gate(run(column("m", [1.0] * 10)), "m>=0.9").passed  # ten of ten is no proof of 0.9


def test_a_drop_is_judged_by_the_end_of_the_interval_of_the_difference():
    noise = np.random.default_rng(1).normal(0, 0.01, 100)
    base, same, worse = (run(column("m", VALUES + step)) for step in (0.0, noise, noise - 0.05))
    assert gate(same, "m>=0.1", against=base, max_drop=0.01).passed
    report = gate(worse, "m>=0.1", against=base, max_drop=0.04)
    assert [check.passed for check in report.checks] == [True, False]
    drop = report.checks[1]
    assert drop.rule == "m drop <= 0.04"
    assert drop.value == pytest.approx(-0.05 + noise.mean())
    assert drop.bound < drop.value
    said = f"the 95 % interval allows a drop of {-drop.bound:.4g}; your limit is 0.04"
    assert drop.reason.startswith(f"{said}. The mean difference itself is a drop of 0.05")
    assert gate(worse, "m>=0.1", against=base, max_drop=-drop.bound + 1e-9).passed
    assert not gate(worse, "m>=0.1", against=base, max_drop=-drop.value).passed


def test_a_metric_of_which_less_is_better_drops_by_rising():
    base, risen = (run(column("angle", VALUES + up, higher_is_better=False)) for up in (0.0, 0.1))
    check = only(gate(risen, [], against=base, max_drop=0.05))
    assert not check.passed
    assert "itself is a rise of 0.1" in check.reason
    assert gate(base, [], against=risen, max_drop=0.0).passed


def test_unchanged_pairs_allow_the_drop_that_so_few_cannot_show():
    report = gate(good(), [], against=good(), max_drop=0.02)
    assert [check.rule for check in report.checks] == ["m drop <= 0.02", "angle drop <= 0.02"]
    drop = report.checks[0]
    lost = 1 - 0.025 ** (1 / 100)
    assert (drop.passed, drop.bound, drop.needed) == (False, pytest.approx(-lost), 183)
    assert drop.reason.startswith(
        f"none of the 100 pairs changed, but with so few pairs the 95 % interval allows a drop of {lost:.4g};"
        " your limit is 0.02. The run has 100 questions; about 183 are needed"
    )
    many = run(column("m", np.resize(VALUES, 183)))
    assert gate(many, [], against=many, max_drop=0.02).passed
    none = gate(good(), [], against=good(), max_drop=0.0).checks[0]
    assert (none.needed, none.reason.endswith("no number of questions is enough")) == (None, True)


def test_whose_drops_are_looked_at():
    rules = ["m>=0.1", "m<=1.0", Rule("angle", Condition.MAX_DROP, 0.5)]
    wanted = [check.rule for check in gate(good(), rules, against=good(), max_drop=0.1).checks]
    assert wanted == ["m >= 0.1", "m <= 1.0", "angle drop <= 0.5", "m drop <= 0.1"]


@pytest.mark.parametrize(
    ("against", "reason"),
    [
        (run(column("m", VALUES), ids=[f"x{i}" for i in range(100)]), "no sample id in common"),
        (run(column("k", VALUES)), "no metric in common"),
        (run(column("angle", VALUES, higher_is_better=False), name="base"), "base has no metric m"),
        (run(column("m", VALUES, high=9.0)), "another range"),
        (
            run(column("m", np.where(np.arange(100) < 10, np.nan, VALUES))),
            "rows without a value of m: 10 of 100 (10.0%) → 0 of 100 (0.0%)",
        ),
        (run(column("m", [*VALUES, *VALUES])), "only 50.0% of 200 rows have a value in both runs"),
        (good(rows=300), "only 33.3% of 300 rows"),
    ],
)
def test_what_cannot_be_compared_is_not_good(against, reason):
    check = only(gate(good(), Rule("m", Condition.MAX_DROP, 1.0), against=against))
    assert reason in check.reason


def test_too_few_pairs_are_not_good():
    few = run(column("m", [0.1, 0.2, 0.3]))
    reason = "there is no interval: 3 clusters are too few for an interval; 5 are needed"
    assert only(gate(few, [], against=few, max_drop=1.0)).reason == reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": []}, "The gate has no rules"),
        ({"rules": "m>=1", "max_drop": 0.1}, "needs a baseline run"),
        ({"rules": "m>=1", "against": good()}, "needs a rule on a drop"),
        ({"rules": "m>=1", "coverage": 95}, "95 % is 0.95"),
        (
            {"rules": "m>=1", "max_drop": -0.1, "against": good()},
            "max_drop: expected a finite number of at least 0",
        ),
        ({"rules": "m=>1"}, "is not a rule"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(UsageError) as caught:
        gate(good(), **arguments)
    assert message in str(caught.value)


def test_rules_from_a_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        'coverage = 0.5\n[[rule]]\nmetric = "m"\nat_least = 0.5\nmax_drop = 0.1\n', encoding="utf-8"
    )
    half = run(column("m", np.where(np.arange(100) % 3 == 0, np.nan, VALUES)))
    report = gate(half, path, against=half)
    assert report.passed
    assert [check.rule for check in report.checks] == ["m >= 0.5", "m drop <= 0.1"]


def test_a_report_is_json_and_a_table():
    report = gate(good(), ["m>=0.5", "rouge_l>=0.5"])
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (plain["passed"], [check["passed"] for check in plain["checks"]]) == (False, [True, False])
    shown = str(report).splitlines()
    assert shown[0] == "last: 1 of 2 rules failed"
    assert shown[2].startswith("passed ")
    assert shown[3].startswith("FAILED")
    assert str(gate(good(), "m>=0.5")).startswith("last: all rules passed")


def test_a_bound_that_is_no_number_is_not_met():
    made = compare(good(), good()).metrics[0]
    hollow = replace(made.difference, interval=Interval(np.nan, np.nan, 0.95, "none"))
    rule, policy = Rule("m", Condition.MAX_DROP, 0.5), Policy(0.9, "interval", 0.95, 5)
    check = check_drop(replace(made, difference=hollow), rule, policy, good(), good())
    assert (check.passed, "allows a drop of nan" in check.reason) == (False, True)
    check = check_drop(made, rule, replace(policy, coverage=float("nan")), good(), good())
    assert (check.passed, check.reason.startswith("only 100.0%")) == (False, True)


def test_rows_that_could_not_be_read_count_against_coverage():
    made = with_record(good(), rejected=25)
    check = only(gate(made, "m>=0.1"))
    assert (check.passed, check.coverage) == (False, 0.8)
    assert check.reason == "only 80.0% of 125 rows (25 could not be read) have a value; 95.0% are required"
    assert gate(made, "m>=0.1", coverage=0.8).passed
    assert only(gate(with_record(run(column("m", [])), rejected=3), "m>=0.1")).reason.startswith(
        "only 0.0% of 3"
    )


@pytest.mark.parametrize("side", ["new", "base"])
def test_they_count_against_the_coverage_of_a_drop_too(side):
    spoilt, rule = with_record(good(), rejected=25), Rule("m", Condition.MAX_DROP, 0.5)
    made, before = (spoilt, good()) if side == "new" else (good(), spoilt)
    check = only(gate(made, rule, against=before))
    assert (check.passed, check.coverage) == (False, 0.8)
    assert "of 125 rows (25 could not be read) have a value in both runs" in check.reason
    assert gate(made, rule, against=before, coverage=0.8).passed


def test_a_metric_that_the_run_before_alone_has_is_not_met():
    report = gate(run(column("m", VALUES)), [], against=good(name="base"), max_drop=0.5)
    assert [(check.metric, check.passed) for check in report.checks] == [("m", True), ("angle", False)]
    assert "It has: m" in report.checks[1].reason
    other = gate(good(), [], against=run(column("k", VALUES)), max_drop=0.1)
    assert [(check.metric, check.passed) for check in other.checks] == [("k", False)]


def test_a_metric_with_other_parameters_does_not_stand_for_the_one_that_is_gone():
    plain, weighted = column("rouge_l", VALUES), column("rouge_l(beta=1.2)", VALUES)
    report = gate(run(weighted), [], against=run(plain, weighted), max_drop=0.5)
    assert [check.passed for check in report.checks] == [False, True]
    assert "last has no metric rouge_l, but rouge_l(beta=1.2)" in report.checks[0].reason
    assert gate(run(weighted), Rule("rouge_l", Condition.MAX_DROP, 0.1), against=run(weighted)).passed


def test_a_run_that_is_not_finished_is_not_met():
    part = with_record(good(name="my part"), rows=103)
    check = only(gate(part, "m>=0.1"))
    assert check.reason == "100 of 103 rows are scored; resume it with sgi run --resume 'my part'"
    assert (check.value, check.coverage) == (pytest.approx(VALUES.mean()), 100 / 103)
    assert gate(part, "m>=0.1", allow_unfinished=True).passed
    assert not gate(part, "m>=0.1", allow_unfinished=True, coverage=0.99).passed
    both = only(gate(part, "rouge_l>=0.1")).reason
    assert ("resume it with" in both, "It has: m, angle" in both) == (True, True)


def test_nor_is_a_drop_from_one_that_is_not_finished():
    part = with_record(good(name="base"), rows=103)
    report = gate(good(), "m>=0.1", against=part, max_drop=0.1)
    assert [check.passed for check in report.checks] == [True, False]
    assert report.checks[1].reason == "100 of 103 rows are scored; resume it with sgi run --resume base"
    assert gate(good(), "m>=0.1", against=part, max_drop=0.1, allow_unfinished=True).passed
    beside_itself = only(gate(part, Rule("m", Condition.MAX_DROP, 0.1), against=part))
    assert beside_itself.reason.count("resume it with") == 1


def test_all_equal_is_no_proof_where_the_range_is_not_known():
    check = only(gate(run(column("theirs", [1.0] * 100, low=None, high=None)), "theirs>=0.9"))
    assert (check.passed, "no known ends" in check.reason) == (False, True)
    ours = replace(column("squad_em", [1.0] * 10, low=None, high=None), version=1)
    known = gate(run(ours), "squad_em>=0.9")
    assert only(known).bound == pytest.approx(0.025 ** (1 / 10))  # ten of ten


def with_texts(made):
    samples = [Sample(id=name, question=f"Q{name}?", response=f"answer\n{name}") for name in made.ids]
    return replace(made, read_samples=lambda rows: (samples[row] for row in rows))


def test_a_rule_can_be_decided_on_the_mean_and_says_so():
    rule = f"m>={VALUES.mean() - 1e-6}"
    report = gate(good(), rule, on="mean")
    assert (report.passed, only(report).decided_on) == (True, "mean")
    assert report.verdict == "all rules passed (decided on means, without intervals)"
    assert "(on the mean)" in str(report)
    low = only(gate(good(), "m>=0.9", on="mean"))
    assert low.reason == f"the mean is {VALUES.mean():.4g}; your limit is at least 0.9"
    few = gate(run(column("m", [0.9, 0.8, 0.9])), "m>=0.8", on="mean")
    assert few.passed
    assert gate(good(), [], against=good(), max_drop=0.0, on="mean").passed
    lost = gate(run(column("m", VALUES - 0.05)), [], against=good(), max_drop=0.02, on="mean").checks[0]
    assert lost.reason == "the mean difference is a drop of 0.05; your limit is 0.02"
    with pytest.raises(UsageError, match="interval"):
        gate(good(), "m>=0.1", on="median")


def test_a_small_set_says_how_many_questions_are_needed():
    values = np.resize([0.0, 1.0, 1.0, 1.0, 1.0], 20)
    check = only(gate(run(column("m", values)), "m>=0.7"))
    assert (check.questions, check.needed) == (20, 154)
    assert "The run has 20 questions; about 154 are needed to pass in 80 % of cases" in check.reason
    assert gate(run(column("m", np.resize(values, 100))), "m>=0.7").passed
    hopeless = only(gate(run(column("m", values)), "m>=0.9"))
    assert (hopeless.needed, "The mean itself is 0.8" in hopeless.reason) == (None, True)


def test_the_worst_rows_are_named_with_their_responses():
    values = VALUES.copy()
    values[[7, 3]] = 0.01, 0.02
    made = with_texts(run(column("m", values), column("angle", values, higher_is_better=False)))
    low, high = gate(made, ["m>=0.99", "angle<=0.01"], worst=2).checks
    assert [(row.id, row.response) for row in low.worst] == [("7", "answer 7"), ("3", "answer 3")]
    assert high.worst[0].value == values.max()
    assert gate(made, "m>=0.1").checks[0].worst == ()
    assert only(gate(with_texts(run(column("m", np.ones(20)))), "m>=0.95")).worst == ()
    assert gate(made, "m>=0.99", worst=0).checks[0].worst == ()
    assert "  7  0.01  answer 7" in str(gate(made, "m>=0.99"))


def test_the_rows_that_fell_most_are_named_and_not_those_that_rose():
    values = VALUES - 0.1
    values[[4, 9]] = 0.0, 1.0
    made = with_texts(run(column("m", values), name="new"))
    (check,) = gate(made, [], against=good(), max_drop=0.01, worst=3).checks[:1]
    assert check.worst[0] == WorstRow("4", 0.0, VALUES[4], "answer 4")
    assert "9" not in {row.id for row in check.worst}


@pytest.mark.parametrize("rule", ["m>=80", "m<=1.5", "m>1", "m<0", Rule("m", Condition.MAX_DROP, 2.0)])
def test_a_rule_outside_the_range_of_the_runs_metric_is_refused(rule):
    with pytest.raises(UsageError):
        gate(good(), rule, against=good() if isinstance(rule, Rule) else None)


def test_a_drop_of_runs_that_differ_is_not_met_unless_that_is_allowed():
    def scored(model):
        facts = {"provenance": MetricProvenance((model,)), "version": 1}
        return run(replace(column("m", VALUES), **facts), replace(column("k", VALUES), version=1))

    rules = [Rule(name, Condition.MAX_DROP, 0.5) for name in ("m", "k")]
    report = gate(scored("one@1"), rules, against=scored("two@1"))
    assert [check.passed for check in report.checks] == [False, True]
    assert "embedder of m: two@1 → one@1. Score both runs with the same settings" in report.checks[0].reason
    allowed = gate(scored("one@1"), rules, against=scored("two@1"), allow_different=True)
    assert (allowed.passed, allowed.notes[0]) == (
        True,
        "Differs in more than the responses: embedder of m: two@1 → one@1.",
    )


def test_a_ratio_is_decided_in_its_own_unit():
    values = np.resize([0.5, 2.0, 1.5, 1.2, 3.0], 40)
    made = run(replace(column("sgi", values, low=0.0, high=None), version=metric("sgi").spec.version))
    check = only(gate(made, "sgi>=1.3"))
    assert 1.0 < check.bound < 1.3 < check.value < 1.4
    assert f"reaches down to {check.bound:.4g}; your limit is at least 1.3" in check.reason
    assert gate(made, "sgi>=1").passed
    more = replace(column("sgi", np.resize(values, check.needed), low=0.0, high=None), version=2)
    assert 1.3 < only(gate(run(more), "sgi>=1.25")).bound < check.value


def test_clusters_that_are_no_questions_are_called_clusters():
    made = replace(run(column("m", np.resize([0.0, 1.0, 1.0, 1.0, 1.0], 20))), clustering=Clustering("doc"))
    assert "The run has 20 clusters; about 154 are needed" in only(gate(made, "m>=0.7")).reason


def test_a_weighted_gate_names_no_number_of_questions():
    values = np.array([0.0] * 30 + [1.0] * 30)
    weights = np.where(values == 1, 10.0, 1.0)
    made = replace(run(column("m", values)), weights=weights)
    check = only(gate(made, "m>=0.85"))  # the weighted mean is 0.91, the unweighted 0.5
    assert (check.passed, check.needed, check.value > 0.85) == (False, None, True)
    assert check.reason.endswith("your limit is at least 0.85")
    lower = replace(run(column("m", np.resize([0.0, 0.3, 0.9], 60) * values)), weights=weights)
    drop = next(one for one in gate(lower, [], against=made, max_drop=0.62).checks if one.side == "drop")
    assert (drop.passed, drop.needed, drop.value > -0.62) == (False, None, True)
    assert drop.reason.endswith("your limit is 0.62")
