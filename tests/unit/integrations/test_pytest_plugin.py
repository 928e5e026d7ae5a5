"""The plugin in pytest runs of its own, found by its entry point, with the embedded model."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

MODULE = """
import json
from dataclasses import replace
from pathlib import Path

import pytest
import sgi

with (Path(sgi.__file__).parent / "data" / "halueval_qa_sample.jsonl").open(encoding="utf-8") as lines:
    SAMPLE = [json.loads(line) for line, _ in zip(lines, range(12))]


def rows(response):
    return [
        {
            "id": str(i),
            "question": row["question"],
            "contexts": [row["knowledge"]],
            "response": row[response],
            "reference": row["right_answer"],
        }
        for i, row in enumerate(SAMPLE)
    ]


def test_the_knowledge_itself_is_grounded(sgi_score, assert_gate):
    result = sgi_score(rows("knowledge"), ["theta_rc", "theta_rq"], "minilm")
    report = assert_gate(result, "theta_rc <= 1", "theta_rq > 0.1", looks=2, on="interval")
    assert [check.passed for check in report.checks] == [True, True]


def test_the_question_itself_is_not(sgi_score, assert_gate):
    assert_gate(sgi_score(rows("question"), ["theta_rc"]), "theta_rc <= 0.1")


def test_too_little_coverage(sgi_score, assert_gate):
    made = rows("right_answer")
    for row in made[:3]:
        del row["response"]
    result = sgi_score(made, "squad_em")
    assert_gate(result, "squad_em >= 0.5", coverage=0.7)
    assert_gate(result.named("the nightly run"), "squad_em >= 0.5")


def test_a_planted_drop(sgi_score, assert_gate):
    before, after = (sgi_score(rows(kind), "rouge_l") for kind in ("right_answer", "hallucinated_answer"))
    assert_gate(before, against=before, max_drop=0.3)
    assert_gate(after, against=before, max_drop=0.3)


def test_a_run_that_is_not_finished(sgi_score, assert_gate):
    part = sgi_score(rows("right_answer"), "rouge_l").named("part")
    part = replace(part, record=replace(part.record, rows=13))
    assert_gate(part, "rouge_l >= 0.5", coverage=0.9, allow_unfinished=True)
    assert_gate(part, "rouge_l >= 0.5", coverage=0.9)


def test_a_rule_outside_the_range(sgi_score, assert_gate):
    assert_gate(sgi_score(rows("right_answer"), "rouge_l"), "rouge_l >= 80")


def test_another_metric_version(sgi_score, assert_gate):
    before = sgi_score(rows("right_answer"), "rouge_l").named("before")
    older = {name: replace(column, version=99) for name, column in before.metrics.items()}
    after = sgi_score(rows("right_answer"), "rouge_l")
    assert_gate(after, against=replace(before, metrics=older), max_drop=0.5, allow_different=True)
    assert_gate(after, against=replace(before, metrics=older), max_drop=0.5)


def test_a_rule_that_is_none(sgi_score, assert_gate):
    assert_gate(sgi_score(rows("right_answer"), "rouge_l"), "rouge_l => 0.5")


def test_a_misspelt_option(sgi_score):
    sgi_score(rows("right_answer"), "rouge_l", colums={})
"""


def pytest_run(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "test_theirs.py").write_text(MODULE, encoding="utf-8")
    done = pytest_run(folder, "-rA")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_entry_point_names_the_plugin():
    named = [point.value for point in entry_points(group="pytest11") if point.name == "sgi"]
    assert set(named) == {"sgi.integrations.pytest_plugin"}, (
        "install the package again: it has a new entry point"
    )


def test_a_result_that_meets_its_rules_passes(shown):
    assert "PASSED test_theirs.py::test_the_knowledge_itself_is_grounded" in shown
    assert shown.rstrip().splitlines()[-1].strip("= ").startswith("8 failed, 1 passed")


def test_a_result_that_does_not_fails_with_its_table(shown):
    assert "FAILED test_theirs.py::test_the_question_itself_is_not" in shown
    (line,) = {line for line in shown.splitlines() if line.startswith("FAILED  theta_rc <= 0.1")}
    assert "100.0%" in line
    assert "the 95 % interval reaches up to" in line
    worst = re.findall(r"^  (\d+)  ([\d.]+)  \S.*$", shown, flags=re.MULTILINE)
    assert len({sample_id for sample_id, _ in worst}) >= 5, "the worst rows are named with their responses"
    assert "result: 1 of 1 rules failed" in shown


def test_coverage_and_drops_are_gated_too(shown):
    assert "the nightly run: 1 of 1 rules failed" in shown
    assert "only 75.0% of 12 rows have a value; 95.0% are required" in shown
    assert "interval allows a drop of" in shown
    assert "12 of 13 rows are scored; resume it with sgi run --resume part" in shown
    assert "part: 1 of 1 rules failed" in shown


def test_a_call_that_makes_no_sense_is_an_error_of_its_own(shown):
    assert "'rouge_l => 0.5' is not a rule." in shown
    assert "the range of rouge_l is [0, 1]. Did you mean 0.8?" in shown
    assert "version of rouge_l: 99 → 2. Score both runs with the same settings" in shown
    assert "Unknown key in sgi.evaluate 'colums'. Did you mean 'columns'" in shown


def test_the_fixtures_are_listed_with_what_they_do(tmp_path):
    output = pytest_run(tmp_path, "--fixtures").stdout
    assert "assert_gate [session scope]" in output
    assert "with the arguments of `sgi.evaluate`" in output


def test_loading_the_plugin_loads_nothing_heavy():
    script = (
        "import sys, sgi.integrations.pytest_plugin; print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "_pytest" in loaded
    assert loaded.isdisjoint({"numpy", "pydantic", "anyio", "onnxruntime", "sqlite3", "tokenizers"})
