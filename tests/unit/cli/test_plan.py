"""``sgi study plan`` with stored runs and files as pilots; tests/golden/commands/plan.txt has its words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.answers import write_jsonl

WORDS = ["the", "answer", "has", "six", "words", "here"]


@pytest.fixture
def runs(sgi, tmp_path):
    """Two runs of 40 questions with two answers each, which have some words of the reference."""
    for seed, name in enumerate(("base", "new")):
        draw = np.random.default_rng(seed).random((80, len(WORDS))) < 0.7 + 0.1 * seed
        rows = [
            {
                "id": f"q{k}",
                "question": f"Question {k // 2}?",
                "reference": " ".join(WORDS),
                "response": " ".join(
                    word if kept else "other" for word, kept in zip(WORDS, row, strict=True)
                ),
                "label": "yes" if row[:3].all() else "no",
            }
            for k, row in enumerate(draw)
        ]
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
        words = ("-m", "rouge_l,squad_em,lexical_aggregate", "-o", f"{name}.scores.jsonl", "-q")
        assert sgi("run", f"{name}.jsonl", "--name", name, *words).code == 0


def planned(sgi, *words):
    result = sgi("study", "plan", *words, "--json")
    assert result.code == 0, result.err
    return result.json


def test_a_gate_names_the_number_that_its_plan_has(sgi, runs):
    rule = "rouge_l>=0.6"
    check = sgi("gate", "base", rule, "--json").json["checks"][0]
    plan = planned(sgi, "gate", rule, "--pilot", "base")
    assert (check["questions"], plan["pilot"], plan["unit"]) == (40, 40, "questions")
    assert check["passed"] is False
    assert check["needed"] == plan["needed"] > 40
    assert plan["low"] < plan["needed"]
    assert plan["high"] is None  # at the worse end of the interval of the mean, the limit is not met


def test_a_drop_names_the_number_of_the_plan_with_a_margin(sgi, runs):
    margin = ("--pilot", "base", "--pilot", "base", "-m", "rouge_l", "--margin", "0.02")
    assert "spread of the difference is unknown" in sgi("study", "plan", "difference", *margin).err
    words = ("-m", "rouge_l", "--pilot", "new", "--pilot", "base")
    drop = planned(sgi, "difference", *words, "--margin", "0.2", "--of=-0.1")
    gate = sgi("gate", "base", "rouge_l>=0", "--against", "new", "--max-drop", "0.2", "--json").json
    value = next(one["value"] for one in gate["checks"] if one["side"] == "drop")
    same = planned(sgi, "difference", *words, "--margin", "0.2", f"--of={value}")
    needed = next(one["needed"] for one in gate["checks"] if one["side"] == "drop")
    assert needed is None or needed == same["needed"]
    assert (drop["value"], drop["quantity"]) == (-0.1, "difference")


def test_rows_of_a_question_are_one_cluster_unless_the_rule_says_otherwise(sgi, runs):
    words = ("difference", "--of", "0.05", "--pilot", "base", "--pilot", "new", "-m", "rouge_l")
    by_question, by_row = (planned(sgi, *words, *more) for more in ((), ("--cluster", "row")))
    assert (by_question["pilot"], by_row["pilot"], by_row["unit"]) == (40, 80, "clusters")
    assert by_question["needed"] < by_row["needed"] < 4 * by_question["needed"]
    assert by_question["notes"] == ["The pilot has 2 rows for each of the questions; the plan keeps this."]


def test_a_file_of_results_gives_the_plan_of_its_run(sgi, runs, tmp_path):
    words = ("difference", "--of", "0.05", "-m", "rouge_l", "--cluster", "row")
    stored = planned(sgi, *words, "--pilot", "base", "--pilot", "new")
    from_file = planned(sgi, *words, "--pilot", "base.scores.jsonl", "--pilot", "new.scores.jsonl")
    assert from_file == stored
    rows = [json.loads(line) for line in (tmp_path / "base.scores.jsonl").read_text().splitlines()]
    lines = [f"q{k},{row['scores']['rouge_l']['value']},{k % 2}" for k, row in enumerate(rows)]
    (tmp_path / "mine.csv").write_text("\n".join(["id,mine,good", *lines]))
    plan = planned(
        sgi,
        "auroc",
        "--half-width",
        "0.1",
        "--assume",
        "0.6",
        "--pilot",
        "mine.csv",
        "-m",
        "mine",
        "--label",
        "good",
    )
    assert (plan["pilot"], plan["unit"]) == (80, "labelled questions")
    missing = sgi("study", "plan", "gate", "other>=0.5", "--pilot", "mine.csv")
    assert missing.code == 2
    assert "It has: good, id, mine." in missing.err


@pytest.mark.parametrize(
    "words",
    [
        ("auroc", "--above", "0.6"),
        ("agreement", "--above", "0.1", "--threshold", "0.8"),
        ("agreement", "--above", "0.5", "--threshold", "0.8", "--statistic", "accuracy"),
    ],
)
def test_labels_are_planned_from_a_labelled_run(sgi, runs, words):
    plan = planned(sgi, *words, "-m", "rouge_l", "--pilot", "base")
    powers = [point["power"] for point in plan["curve"]]
    assert plan["unit"] == "labelled questions"
    assert plan["low"] <= plan["needed"]
    assert powers == sorted(powers)
    assert next(p["power"] for p in plan["curve"] if p["count"] == plan["needed"]) >= 0.79


def test_a_ratio_is_planned_in_its_own_unit(sgi, tmp_path):
    rows = [{"id": f"r{k}", "sgi": 1 + (k % 7) / 7} for k in range(60)]
    write_jsonl(tmp_path / "ratios.jsonl", rows)
    plan = planned(sgi, "gate", "sgi>=1.3", "--pilot", "ratios.jsonl")
    assert 1.3 < plan["value"] < 1.45
    write_jsonl(
        tmp_path / "more.jsonl", [row | {"sgi": row["sgi"] + 0.1 * (k % 3)} for k, row in enumerate(rows)]
    )
    two = ("--pilot", "ratios.jsonl", "--pilot", "more.jsonl", "-m", "sgi")
    assert planned(sgi, "difference", *two, "--of", "0.1")["needed"] < 60


def test_a_pilot_of_one_row_or_without_the_metric_is_refused(sgi, tmp_path):
    write_jsonl(tmp_path / "one.jsonl", [{"id": "a", "mine": 0.5}])
    few = sgi("study", "plan", "gate", "mine>=0.2", "--pilot", "one.jsonl")
    assert few.code == 2
    assert "The pilot has 1 question; at least 5 are needed. Use a larger pilot" in few.err
    (tmp_path / "text.csv").write_text("id,mine\na,good\nb,bad\n")
    assert "is not a number" in sgi("study", "plan", "gate", "mine>=0.2", "--pilot", "text.csv").err


def test_the_power_is_drawn(sgi, tmp_path):
    pytest.importorskip("vl_convert")
    result = sgi("study", "plan", "gate", "squad_em>=0.8", "--assume", "0.9", "--chart", "power.svg")
    assert (result.code, "Wrote power.svg." in result.err) == (0, True)
    assert (tmp_path / "power.svg").read_text().startswith("<svg")


def test_a_file_of_results_is_clustered_by_an_existing_column(sgi, tmp_path):
    rows = [{"mine": int(k % 3 > 0), "doc": f"d{k // 4}", "contexts": [f"p{k // 2}"]} for k in range(80)]
    write_jsonl(tmp_path / "mine.jsonl", rows)
    words = ("gate", "mine>=0.3", "--pilot", "mine.jsonl", "--cluster")
    assert [planned(sgi, *words, by)["pilot"] for by in ("doc", "contexts", "row")] == [20, 40, 80]
    unknown = sgi("study", "plan", *words, "docs")
    assert (unknown.code, "It has: contexts, doc, mine." in unknown.err) == (2, True)
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps({"mine": int(k % 3 > 0)}) for k in range(80)))
    assert sgi("study", "plan", *words, "contexts").code == 2


def test_the_plan_of_several_metrics_names_its_level(sgi):
    plan = planned(sgi, "difference", "--of", "0.03", "--sd", "0.2", "--tests", "5")
    assert "its 99 % interval excludes 0" in plan["sentence"]
