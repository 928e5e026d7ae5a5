"""Gates on latency, tokens and cost say their unit, and no hidden digits make a value look like its limit."""

from __future__ import annotations

import numpy as np

from sgi.analysis.gate.gate import gate
from sgi.cli.printed_tables import gate_table, worst_tables
from sgi.reporting.gate_summary import junit
from support.scored_runs import column, run


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
