from __future__ import annotations

import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.gate.rules import Condition, Rule, parse_rule, read_rules
from sgi.kernel.errors import UsageError


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("faithfulness>=0.8", Rule("faithfulness", Condition.AT_LEAST, 0.8)),
        ("sgi > 1", Rule("sgi", Condition.ABOVE, 1.0)),
        ("theta_rc<1e-3", Rule("theta_rc", Condition.BELOW, 0.001)),
        ("rouge_l( beta = 1.2 )>=.3", Rule("rouge_l(beta=1.2)", Condition.AT_LEAST, 0.3)),
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
        """,
    )
    wanted = (
        Rule("faithfulness", Condition.AT_LEAST, 0.8, 0.9),
        Rule("faithfulness", Condition.MAX_DROP, 0.02, 0.9),
        Rule("rouge_l(beta=1.2)", Condition.ABOVE, 0.0, 0.98),
        Rule("rouge_l(beta=1.2)", Condition.BELOW, 1.0, 0.98),
        Rule("theta_rc", Condition.AT_MOST, 0.9, 0.98),
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
