"""The decision table: what its reader refuses, and how rules decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgi.analysis.diagnosis.causes import CAUSES
from sgi.analysis.diagnosis.decision_table import built_in_table, built_in_text, read_table
from sgi.analysis.diagnosis.diagnosis_signals import SIGNALS, Signal
from sgi.kernel.errors import UsageError

RULE = '[[rule]]\ncause = "correct"\nbecause = "fine"\nwhen = ["refusal is false"]\n'


def table(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def test_a_table_with_many_rules_is_refused_with_its_place(tmp_path):
    with pytest.raises(UsageError, match=r"mine\.toml.*201 rules; at most 200"):
        table(tmp_path, RULE * 201)


def test_the_first_rule_that_holds_decides(tmp_path):
    found = table(tmp_path, RULE.replace("fine", "rank {gold_rank}").replace("false", "true") + RULE)
    signals = {"refusal": Signal(value=True), "gold_rank": Signal(4.0)}
    rule = found.decide(signals).rule
    assert (rule.number, rule.sentence(signals)) == (1, "rank 4")
    assert found.decide(signals | {"refusal": Signal(value=False)}).rule.number == 2


def test_a_row_without_a_decision_has_the_reason_of_the_unknown_signals(tmp_path):
    rules = table(tmp_path, RULE.replace("refusal is false", 'grounding >= 0.5", "refusal is false'))
    known, unknown = Signal(value=False), Signal(None, "the sample has no contexts")
    assert rules.decide({"refusal": known, "grounding": unknown}).reason == "the sample has no contexts"
    both = {"refusal": Signal(None, "a; the same"), "grounding": Signal(None, "b; the same")}
    assert rules.decide(both).reason == "b; the same; a"
    refused = rules.decide({"refusal": Signal(value=True), "grounding": unknown})
    assert refused.reason == "no rule of the table fits this row"


def test_unknown_is_a_value_that_a_rule_can_ask_for(tmp_path):
    rules = table(tmp_path, RULE.replace("refusal is false", "gold_rank is unknown"))
    assert rules.decide({"gold_rank": Signal(None)}).rule is not None
    assert rules.decide({"gold_rank": Signal(1.0)}).rule is None


def test_the_built_in_table_gives_every_cause_and_a_next_step_for_each():
    rules = built_in_table()
    assert {rule.cause for rule in rules.rules} == set(CAUSES)
    assert set(rules.next_steps) == set(CAUSES)
    assert set(rules.signals) <= set(SIGNALS)
    assert "[[rule]]" in built_in_text()


def test_the_page_lists_every_signal():
    page = Path(__file__).parents[4] / "docs" / "find-what-is-wrong.md"
    rows = "".join(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `"))
    assert [name for name in SIGNALS if f"`{name}`" not in rows] == []


def _rule(*conditions):
    return RULE.replace('["refusal is false"]', str(list(conditions)).replace("'", '"'))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["refusal is false"], ["refusal is false", "grounding < 0.5"]),
        (["grounding >= 0.5"], ["grounding >= 0.5"]),
        (["grounding >= 0.5"], ["grounding > 0.5"]),
        (["grounding < 0.5"], ["refusal is false", "grounding < 0.4"]),
    ],
)
def test_a_rule_behind_a_wider_rule_is_refused(tmp_path, first, second):
    with pytest.raises(UsageError):
        table(tmp_path, _rule(*first) + _rule(*second))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("refusal is true", "refusal is false"),
        ("grounding is unknown", "grounding < 0.5"),
        ("grounding < 0.5", "grounding >= 0.5"),
        ("grounding <= 0.2", "grounding > 0.2"),
    ],
)
def test_conditions_that_exclude_each_other_are_refused(tmp_path, one, other):
    with pytest.raises(UsageError):
        table(tmp_path, _rule(one, other))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["grounding > 0.5"], ["grounding >= 0.5"]),
        (["grounding < 0.4"], ["grounding < 0.5"]),
        (["grounding < 0.5", "refusal is false"], ["grounding < 0.5"]),
        (["grounding < 0.5"], ["grounding >= 0.5", "grounding <= 0.5"]),
        (["gold_rank is unknown"], ["gold_rank >= 1"]),
    ],
)
def test_a_rule_that_can_decide_is_accepted(tmp_path, first, second):
    assert len(table(tmp_path, _rule(*first) + _rule(*second)).rules) == 2
