"""A run with a target has the measured latency of each answer, and the tokens and the cost it returns."""

from __future__ import annotations

import json

from support.answers import write_jsonl

_TARGET = """
from pathlib import Path


def answer(question):
    number = int(question.split()[1])
    if number >= 90 and not Path("repaired").exists():
        raise RuntimeError("not yet")
    usage = {"prompt_tokens": 100 + number, "completion_tokens": 10}
    return {"answer": "a", "usage": usage, "cost": number / 10_000}
"""


def test_latency_tokens_and_cost_of_a_target_are_scored_resumed_and_gated(sgi, tmp_path):
    (tmp_path / "rag_with_costs.py").write_text(_TARGET)
    write_jsonl(tmp_path / "questions.jsonl", [{"id": f"q{k}", "question": f"Q {k} ?"} for k in range(100)])
    target = ("--target", "rag_with_costs:answer")

    run = sgi(
        *("run", "questions.jsonl", "-m", "latency,total_tokens,cost", *target),
        *("--max-failures", "20%", "--name", "costs", "-q"),
    )
    assert (run.code, run.err) == (3, "")  # some rows failed
    before = _scores(sgi)
    (tmp_path / "repaired").touch()
    assert sgi("run", "--resume", "costs", "--retry-failed", *target, "-q").code == 0
    after = _scores(sgi)

    assert [row["total_tokens"] for row in after] == [110 + k for k in range(100)]
    assert [row["cost"] for row in after] == [k / 10_000 for k in range(100)]
    assert after[:90] == before[:90]
    assert all(row["latency"] is None for row in before[90:])
    assert all(row["latency"] >= 0 for row in after)

    gate = sgi("gate", "costs", "latency.p95<=60000", "cost<=0.02", "total_tokens<=150", "--json")
    assert gate.code == 4
    assert [check["passed"] for check in gate.json["checks"]] == [True, True, False]


def _scores(sgi):
    """The scores of each row, by metric."""
    lines = sgi("runs", "export", "costs").out.splitlines()
    return [{name: score["value"] for name, score in json.loads(line)["scores"].items()} for line in lines]
