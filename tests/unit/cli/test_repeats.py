"""``sgi run --repeat`` and ``sgi study repeats``: a target that answers by chance."""

from __future__ import annotations

import json

import pytest

from support.answers import write_jsonl

TARGET = """\
import itertools

calls = itertools.count()


def answer(question):
    number = int(question.split()[1])
    return "right" if number < 3 or (number < 6 and next(calls) % 2) else "wrong"
"""


@pytest.fixture
def questions(tmp_path):
    (tmp_path / "chance.py").write_text(TARGET, encoding="utf-8")
    write_jsonl(
        tmp_path / "questions.jsonl",
        (
            {"id": f"q{number}", "question": f"question {number} ?", "reference": "right"}
            for number in range(8)
        ),
    )


def run(sgi, *words):
    target = ("--target", "chance:answer", "--target-set", "concurrency=1")
    return sgi("run", "questions.jsonl", "-m", "squad_em", *target, "--name", "four", "-q", *words)


def test_the_target_answers_each_question_several_times(sgi, questions, tmp_path):
    assert run(sgi, "--repeat", "4", "-o", "scores.jsonl").code == 0
    lines = (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["id"] for row in rows[:5]] == ["q0#1", "q0#2", "q0#3", "q0#4", "q1#1"]
    assert [row["metadata"]["repeat"] for row in rows[:4]] == [1, 2, 3, 4]
    facts = sgi("study", "repeats", "four", "-m", "squad_em", "--json").json
    assert (facts["questions"], facts["answers"], facts["flaky"]) == (8, 32, 3)
    assert [rate["questions"] for rate in facts["rates"]] == [8] * 4
    assert facts["rates"][3]["all_pass"] == pytest.approx(3 / 8)
    assert facts["rates"][3]["at_least_one"] == pytest.approx(6 / 8)
    shown = sgi("study", "repeats", "four", "-m", "squad_em").out
    assert "squad_em: 32 answers to 8 questions" in shown
    assert "between answers to one question" in shown
    assert "q3#1" in shown


def test_without_a_metric_all_with_repeats_are_shown(sgi, questions):
    assert run(sgi, "--repeat", "4", "-m", "rouge_l,refusal").code == 0
    shown = sgi("study", "repeats", "four").out
    assert [name for name in ("squad_em", "rouge_l", "refusal") if f"{name}: 32 answers to 8" in shown] == [
        "squad_em",
        "rouge_l",
        "refusal",
    ]
    listed = sgi("study", "repeats", "four", "--json").json
    assert listed[0] == sgi("study", "repeats", "four", "-m", "squad_em", "--json").json
    assert [result["metric"] for result in listed] == ["squad_em", "rouge_l", "refusal"]
    assert "--pass needs one metric" in sgi("study", "repeats", "four", "--pass", "0.5").err


def test_the_answers_to_a_question_are_one_cluster_and_a_resumed_run_has_the_same_rows(sgi, questions):
    assert run(sgi, "--repeat", "2").code == 0
    summary = sgi("run", "--resume", "four", "--target", "chance:answer", "-q", "--json").json
    assert (summary["rows"], summary["questions"]) == (16, 8)
