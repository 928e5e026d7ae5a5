"""Rules for a group of rows, and one check for each group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.gate.gate import gate
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.sample import Sample
from support.scored_runs import column, run_of

KINDS = ["fact"] * 40 + ["regression"] * 12 + ["faq"] * 4 + [None] * 4
VALUES = np.array([kind != "regression" for kind in KINDS], dtype=np.float64)


def kinds(values=VALUES):
    samples = [
        Sample(id=str(row), question=f"{row}?", metadata={} if kind is None else {"kind": kind})
        for row, kind in enumerate(KINDS)
    ]
    return run_of(samples, column("m", values))


def verdicts(report):
    return {check.rule: check.passed for check in report.checks}


def test_a_rule_for_a_group_ignores_the_other_rows():
    rules = ["m>=0.6", "kind=fact: m>=0.8", "kind=regression: m>=0.8"]
    report = gate(kinds(), rules)
    assert verdicts(report) == {
        "m >= 0.6": True,
        "kind=fact: m >= 0.8": True,
        "kind=regression: m >= 0.8": False,
    }
    *_, failed = report.checks
    assert (failed.value, failed.questions, failed.coverage) == (0.0, 12, 1.0)
    assert {row.id for row in failed.worst} <= {str(row) for row in range(40, 52)}


@pytest.mark.parametrize("on", ["interval", "mean"])
def test_each_group_has_a_check_and_few_rows_never_pass(on):
    report = gate(kinds(), ["m>=0.5", "kind=fact: m>=0.9"], by="kind", on=on)
    assert verdicts(report) == {
        "kind=fact: m >= 0.5": True,
        "kind=fact: m >= 0.9": True,
        "kind=regression: m >= 0.5": False,
        "kind=faq: m >= 0.5": False,
        "kind=(none): m >= 0.5": False,
    }
    reason = next(check.reason for check in report.checks if check.where == "kind=faq")
    assert reason == "not enough rows: kind=faq has 4 questions; at least 5 are needed"
    assert "kind=gone has 0 questions" in gate(kinds(), "kind=gone: m>=0", on=on).checks[0].reason


def test_a_right_mean_of_a_small_group_fails_and_says_how_many_rows_are_needed():
    check = gate(kinds(np.ones(len(KINDS))), "kind=regression: m>=0.8").checks[0]
    assert (check.passed, check.value) == (False, 1.0)
    assert "kind=regression has 12 questions; about" in check.reason


def test_rows_that_are_not_read_may_be_in_the_group():
    whole = kinds(np.ones(len(KINDS)))
    part = replace(whole, record=replace(whole.record, rows=len(KINDS) + 2, rejected=1))
    check = gate(part, "kind=regression: m>=0.5", allow_unfinished=True).checks[0]
    assert (check.passed, check.coverage) == (False, 12 / 15)


def test_a_drop_in_a_group_is_a_drop_of_its_pairs():
    report = gate(kinds(), [], against=kinds(np.ones(len(KINDS))), max_drop=0.5, by="kind")
    assert verdicts(report)["kind=fact: m drop <= 0.5"] is True
    assert verdicts(report)["kind=regression: m drop <= 0.5"] is False


def test_looks_are_counted_for_each_group():
    earlier = {("kind=regression: m", ">="): 3}
    checks = gate(kinds(), ["m>=0.5", "kind=regression: m>=0.5"], earlier=earlier).checks
    assert [check.look for check in checks] == [1, 4]


def test_unknown_columns_and_too_many_groups_are_refused():
    with pytest.raises(UnknownNameError, match="It has: kind"):
        gate(kinds(), "kid=fact: m>=0.5")
    samples = [Sample(id=str(row), metadata={"n": row}) for row in range(60)]
    with pytest.raises(UsageError, match="60 values; at most 50"):
        gate(run_of(samples, column("m", VALUES)), "m>=0.5", by="n")
