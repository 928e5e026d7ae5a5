from __future__ import annotations

import math
import os
from functools import cache
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.gate.checks import Check, WorstRow
from sgi.analysis.gate.gate import GateReport, gate
from sgi.analysis.gate.rules import Condition, Rule, parse_rule, read_rules
from sgi.cli.printed_tables import gate_table, worst_tables
from sgi.kernel.errors import UsageError
from sgi.reporting.gate_summary import junit
from support.gates import INTERVAL, good, only
from support.scored_runs import column, run


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("faithfulness>=0.8", Rule("faithfulness", Condition.AT_LEAST, 0.8)),
        ("sgi > 1", Rule("sgi", Condition.ABOVE, 1.0)),
        ("theta_rc<1e-3", Rule("theta_rc", Condition.BELOW, 0.001)),
        ("rouge_l( beta = 1.2 )>=.3", Rule("rouge_l(beta=1.2)", Condition.AT_LEAST, 0.3)),
        (
            "kind = two words: latency.p95<=3",
            Rule("latency", Condition.AT_MOST, 3.0, statistic="p95", where="kind=two words"),
        ),
        ('x(mode="a>=b")>=-1', Rule('x(mode="a>=b")', Condition.AT_LEAST, -1.0)),
    ],
)
def test_an_expression(text, rule):
    assert parse_rule(text) == rule


@given(st.text(max_size=30))
def test_any_text_is_a_rule_or_a_clear_error(text):
    try:
        rule = parse_rule(text)
    except UsageError:
        return
    assert math.isfinite(rule.threshold)
    assert rule.metric.strip() == rule.metric != ""
    assert parse_rule(str(rule)) == rule


def written(tmp_path, text):
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_rules(tmp_path):
    path = written(
        tmp_path,
        """
        coverage = 0.98
        [[rule]]
        metric = "faithfulness"
        at_least = 0.8
        max_drop = 0.02
        coverage = 0.9
        [[rule]]
        metric = "rouge_l(beta=1.2)"
        above = 0
        below = 1
        [[rule]]
        metric = "theta_rc"
        at_most = 0.9
        where = "kind=a: b"
        """,
    )
    wanted = (
        Rule("faithfulness", Condition.AT_LEAST, 0.8, 0.9),
        Rule("faithfulness", Condition.MAX_DROP, 0.02, 0.9),
        Rule("rouge_l(beta=1.2)", Condition.ABOVE, 0.0, 0.98),
        Rule("rouge_l(beta=1.2)", Condition.BELOW, 1.0, 0.98),
        Rule("theta_rc", Condition.AT_MOST, 0.9, 0.98, where="kind=a: b"),
    )
    assert read_rules(path) == wanted
    assert read_rules(str(path)) == wanted
    assert read_rules(["sgi>1", path, wanted[0]]) == (parse_rule("sgi>1"), *wanted, wanted[0])


def test_a_file_that_nests_too_deep_is_refused_by_name(tmp_path):
    path = written(tmp_path, "a = " + "[" * 100_000)
    with pytest.raises(UsageError, match=f"{path}.*is not TOML"):
        read_rules(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError):
        read_rules(tmp_path / "absent.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not TOML"):
        read_rules(os.fspath(binary))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("m", Condition.AT_LEAST, math.nan), "The rule m >=: expected a finite number, found nan"),
        (("m", Condition.AT_MOST, "1"), "expected a finite number, found '1'"),
        (("m", Condition.MAX_DROP, -0.1), "expected a finite number of at least 0"),
        (("m", Condition.AT_LEAST, 0.5, math.nan), "The rule m >= 0.5: coverage: expected"),
        (("m", "=>", 0.5), "The condition '=>' of a rule is not valid. Use one of: >=, >"),
        (("", Condition.AT_LEAST, 0.5), "Give a name"),
        (
            ("m", Condition.AT_LEAST, 0.5, None, "mean", "kind"),
            "'kind' does not name rows. Write COLUMN=VALUE",
        ),
        (("m", Condition.AT_LEAST, 0.5, None, "mean", 3), "3 does not name rows"),
    ],
)
def test_a_rule_made_by_hand_is_checked_too(given, message):
    with pytest.raises(UsageError) as caught:
        Rule(*given)
    assert message in str(caught.value)


def test_a_condition_may_be_its_sign():
    assert Rule("m", "drop <=", 0.5).condition is Condition.MAX_DROP


def test_so_is_one_of_a_file_and_one_made_by_hand(tmp_path):
    path = written(tmp_path, '[[rule]]\nmetric = "rouge_l"\nmax_drop = 5')
    with pytest.raises(UsageError, match="rouge_l"):
        read_rules(path)
    with pytest.raises(UsageError, match="rouge_l"):
        Rule("rouge_l", Condition.ABOVE, 1.0)


def test_a_percentile_stands_after_the_metric():
    rule = parse_rule("latency.p95 <= 2000")

    assert (rule.metric, rule.statistic, rule.share) == ("latency", "p95", 0.95)
    assert str(rule) == "latency.p95 <= 2000.0"
    assert parse_rule("cost.mean<=0.01") == parse_rule("cost<=0.01")
    assert parse_rule("rouge_l(beta=1.2).p5>=0.3").metric == "rouge_l(beta=1.2)"


def test_a_file_names_the_statistic(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\nmetric = "latency"\nstatistic = "p95"\nat_most = 2000\nmax_drop = 100\n')

    assert [rule.name for rule in read_rules(path)] == ["latency.p95", "latency"]


def test_a_drop_compares_means():
    with pytest.raises(UsageError):
        Rule("latency", Condition.MAX_DROP, 5, statistic="p95")


def check(rule, count=400, **options):
    values = np.arange(1, count + 1) / 1000
    return gate(run(column("m", values, higher_is_better=False)), rule, **options).checks[0]


def test_the_end_of_the_interval_of_a_percentile_decides():
    passed, failed = check("m.p95<=0.389"), check("m.p95<=0.385")

    assert passed.passed
    assert (passed.metric, passed.value, passed.bound) == ("m.p95", 0.38, 0.389)
    assert not failed.passed
    assert failed.reason == (
        "the 95 % interval of p95 reaches up to 0.389; your limit is at most 0.385. The p95 itself is 0.38"
    )
    assert failed.worst[0].value == 0.4


def test_an_unknown_end_fails_and_says_how_many_rows_are_needed():
    failed = check("m.p99<=0.9", count=50)

    assert not failed.passed
    assert failed.reason == (
        "the upper end of the 95 % interval is unknown: 368 independent rows are needed for p99, and the run "
        "has 50"
    )
    assert check("m.p99<=0.9", count=50, on="mean").passed


def costs(metric, values, name="last"):
    return run(column(metric, values, high=None, higher_is_better=False), name=name)


def test_reasons_limits_and_tables_have_the_unit():
    values = np.linspace(11_000, 13_068, 100)
    report = gate(costs("latency", values), "latency<=2000", on="mean", worst=1)
    (check,) = report.checks
    assert check.reason == "the mean is 12,034 ms; your limit is at most 2,000 ms"
    assert report.to_dict()["checks"][0]["unit"] == "ms"
    assert "12,034 ms" in gate_table(report).markdown()
    assert "13,068 ms" in worst_tables(report)[0].markdown()
    assert "  99  13,068 ms" in str(report)
    assert b"value 12,034 ms, " in junit(report)


def test_a_large_limit_and_a_tiny_cost_are_plain_decimals():
    tokens = gate(costs("total_tokens", [2e6] * 9), "total_tokens<=1000000", on="mean").checks[0]
    assert tokens.reason == "the mean is 2,000,000 tokens; your limit is at most 1,000,000 tokens"
    cost = gate(costs("cost", [0.000025] * 9), "cost<=0.00001", on="mean").checks[0]
    assert cost.reason == "the mean is $0.000025; your limit is at most $0.00001"


def test_a_value_just_beyond_the_limit_shows_the_digits_that_differ():
    latency = gate(costs("latency", [2000.04] * 9), "latency<=2000", on="mean").checks[0]
    assert latency.reason == "the mean is 2,000.04 ms; your limit is at most 2,000 ms"
    score = gate(run(column("rouge_l", [0.79999] * 9)), "rouge_l>=0.8", on="mean").checks[0]
    assert score.reason == "the mean is 0.79999; your limit is at least 0.8"


def test_a_rise_has_the_unit_and_both_values():
    base, new = costs("latency", [1000.0] * 9, "old"), costs("latency", [1340.8] * 9, "new")
    report = gate(new, [], against=base, max_drop=100, on="mean", worst=1)
    assert report.checks[0].reason == "the mean difference is a rise of 341 ms; your limit is 100 ms"
    assert "1,000 ms → 1,341 ms" in str(report)


def test_each_planned_look_narrows_what_passes():
    limit = float(INTERVAL.low)
    assert gate(good(), f"m>={limit}").passed
    planned = only(gate(good(), f"m>={limit}", looks=20))
    assert (planned.passed, planned.level) == (False, 0.9975)
    assert planned.reason.startswith("the 99.75 % interval reaches down to")
    assert gate(good(), f"m>={limit}", looks=1).checks[0].level == 0.95


def test_looks_are_numbered_and_end_where_they_were_planned_to():
    earlier = {("m", ">="): 4, ("m", "drop"): 1}
    report = gate(good(), ["m>=0.5", "m>0.4", "m<=0.99"], earlier=earlier)
    assert ([check.look for check in report.checks], report.passed) == ([5, 5, 1], True)
    assert gate(good(), "m>=0.5", earlier=earlier, looks=5).passed
    late = only(gate(good(), "m>=0.5", earlier=earlier, looks=4))
    assert late.reason == "this is gate 5 on these questions, but 4 were planned; use new questions"
    assert only(gate(good(), "m>=0.5")).look is None
    with pytest.raises(UsageError):
        gate(good(), "m>=0.5", looks=0)


def passes_once(looks, histories=1000):
    """The share of histories in which a run exactly at the threshold passes one of 20 gates."""

    @cache
    def passes(ones):
        values = np.repeat([1.0, 0.0], [ones, 100 - ones])
        return gate(run(column("m", values)), "m>=0.8", looks=looks, worst=0).passed

    ones = np.random.default_rng(1).binomial(100, 0.8, size=(histories, 20))
    return np.mean([any(map(passes, history)) for history in ones.tolist()])


def test_twenty_looks_let_a_run_at_the_threshold_pass_and_planned_ones_do_not():
    assert passes_once(None) > 0.25
    assert passes_once(20) <= 0.03


def parsed(document):
    return ET.fromstring(document)


def report(*checks, run="last"):
    return GateReport(run, checks)


def met(wanted="sgi > 1.0"):
    return Check("sgi", wanted, ">=", 1.2, 1.1, 1.0, passed=True, reason="")


def missed(reason, wanted="rouge_l >= 0.3"):
    worst = (WorstRow("q7", 0.125, 0.5, "Nobody knows."),)
    facts = {"decided_on": "mean", "questions": 12, "needed": 40, "look": 3, "worst": worst}
    return Check("rouge_l", wanted, ">=", 0.25, None, 0.5, passed=False, reason=reason, **facts)


def test_one_case_a_rule_and_failures_with_their_reason():
    root = parsed(junit(report(met(), missed("only 50.0% & <few>"))))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.attrib == {"name": "last", "tests": "2", "failures": "1", "errors": "0"}
    good, bad = suite
    assert (good.attrib["name"], good.attrib["classname"], len(good)) == ("sgi > 1.0", "sgi.gate", 0)
    (failure,) = bad
    assert failure.attrib["message"] == "only 50.0% & <few>"
    assert bad.attrib["name"] == "rouge_l >= 0.3 (on the mean)"
    assert failure.text.splitlines() == [
        (
            "value 0.2500, coverage 0.5000, questions 12, about 40 needed, decided on mean,"
            " gate 3 on these questions"
        ),
        "  q7  0.5 → 0.125  Nobody knows.",
    ]


def test_it_says_which_encoding_it_is_in():
    made = junit(report(met("naïve ≥ 東京")))
    assert made.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    assert parsed(made)[0][0].attrib["name"] == "naïve ≥ 東京"


def test_what_xml_cannot_hold_is_replaced():
    made = parsed(junit(report(missed("a\x00b\x0b\ud800\ufffe\x1bc\td"), run="x\x07")))
    assert made[0][0][0].attrib["message"] == "a\ufffdb\ufffd\ufffd\ufffd\ufffdc\td"
    assert made[0].attrib["name"] == "x\ufffd"


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_parses_back(reason, wanted):
    made = parsed(junit(report(missed(reason, wanted))))
    read = made[0][0].attrib["name"].removesuffix(" (on the mean)"), made[0][0][0].attrib["message"]
    for text, back in zip((wanted, reason), read, strict=True):
        assert len(back) == len(text)
        assert all(other in {one, "\ufffd"} for one, other in zip(text, back, strict=True))
