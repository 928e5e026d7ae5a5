from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgi
from sgi.integrations.promptfoo import get_assert
from support.adapter_contract import AdapterContract, HostResult, HostRow
from support.scripts import load_script

PROMPTFOO = Path(sys.prefix) / "node_modules" / ".bin" / "promptfoo"
needs_node = pytest.mark.skipif(
    not PROMPTFOO.exists(),
    reason="make test-integration-promptfoo installs promptfoo if the machine has Node",
)
RAG = """
def call_api(prompt, options, context):
    answers = {"lost": "", "wrong": "It was built in 1789."}
    return {"output": answers.get(prompt, "It was built in 1889.")}
"""


class TestPromptfoo(AdapterContract):
    name = "promptfoo"
    mean = "plain"

    def evaluate(self, rows, metric, embedder=None):
        """Call the assertion as promptfoo does, with its context; promptfoo sums the named scores."""
        results = []
        for row in rows:
            variables = {name: value for name, value in row.items() if name != "response"}
            context = {
                "prompt": row["question"],
                "vars": variables,
                "test": {"vars": variables},
                "providerResponse": {"output": row.get("response"), "metadata": {}},
                "config": {"metrics": metric, "embedder": embedder},
            }
            results.append(get_assert(row.get("response"), context))
        named = [result["named_scores"] for result in results]
        values = [scores[metric] for scores in named if metric in scores]
        return HostResult(
            [
                HostRow(scores.get(metric), result["reason"])
                for scores, result in zip(named, results, strict=True)
            ],
            sum(values) / len(values) if values else None,
            sum(scores[f"{metric}.coverage"] for scores in named) / len(named),
        )


def assertion(output, **config):
    return get_assert(output, {"vars": {"reference": "Paris"}, "config": config})


def test_all_metrics_must_reach_their_thresholds():
    metrics = ["squad_em", "rouge_l"]
    result = assertion("paris", metrics=metrics, thresholds={"squad_em": 1, "rouge_l": 0.5})
    assert (result["pass"], result["score"]) == (True, 1.0)
    result = assertion("in paris", metrics=metrics, thresholds={"squad_em": 1, "rouge_l": 0.5})
    assert [each["pass"] for each in result["component_results"]] == [False, True]
    assert (result["pass"], result["score"]) == (False, 0.0)
    assert "squad_em is 0, below 1." in result["reason"]


def test_an_output_without_a_value_does_not_pass_without_thresholds():
    result = get_assert("Paris", {"vars": {}, "config": {"metrics": ["squad_em"]}})
    assert result["pass"] is False
    assert result["named_scores"] == {"squad_em.coverage": 0}


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"metric": "rouge_l"}, "Did you mean 'metrics'"),
        ({"thresholds": {"sgi": 1}}, "belongs to no metric of the assertion"),
    ],
)
def test_wrong_settings_are_refused(config, text):
    with pytest.raises(sgi.errors.UsageError, match=text):
        assertion("Paris", **config)


@needs_node
def test_the_configuration_of_the_page_runs_in_promptfoo(tmp_path):
    with load_script("update_integration_page") as script:
        page, code, _ = script.shown("promptfoo")
    (tmp_path / "grounding.py").write_text(code)
    config = re.search(r"```yaml\n(prompts.*?)```", page.read_text("utf-8"), re.DOTALL)[1]
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    (tmp_path / "rag.py").write_text(RAG)
    result = evaluate_with_promptfoo(tmp_path)
    (row,) = result["results"]["results"]
    assert row["success"], row
    assert row["namedScores"].keys() == {"grounding", "grounding.coverage"}


@needs_node
def test_promptfoo_records_values_and_reasons(tmp_path):
    (tmp_path / "grounding.py").write_text("from sgi.integrations.promptfoo import get_assert\n")
    (tmp_path / "rag.py").write_text(RAG)
    check = {
        "type": "python",
        "value": "file://grounding.py",
        "config": {"thresholds": {"grounding": 0.5}},
    }
    contexts = ["The tower was built in 1889 🗼.", "It is 330 m tall."]
    tests = [{"vars": {"question": name, "contexts": contexts}} for name in ("right", "wrong", "lost")]
    config = {
        "prompts": ["{{question}}"],
        "providers": ["file://rag.py"],
        "defaultTest": {"options": {"disableVarExpansion": True}, "assert": [check]},
        "tests": tests,
    }
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    result = evaluate_with_promptfoo(tmp_path)
    rows = {row["vars"]["question"]: row for row in result["results"]["results"]}
    assert [rows[name]["success"] for name in ("right", "wrong", "lost")] == [True, False, False]
    assert rows["lost"]["namedScores"] == {"grounding.coverage": 0}
    assert "undefined: the response is blank" in rows["lost"]["gradingResult"]["reason"]
    samples = [
        {"question": name, "contexts": contexts, "response": rows[name]["response"]["output"]}
        for name in ("right", "wrong")
    ]
    expected = sgi.evaluate(samples, "grounding")["grounding"].values
    assert [rows[name]["namedScores"]["grounding"] for name in ("right", "wrong")] == expected.tolist()
    (prompt,) = result["results"]["prompts"]
    assert prompt["metrics"]["namedScores"]["grounding"] == pytest.approx(expected.sum())
    assert prompt["metrics"]["namedScoresCount"]["grounding"] == 2
    assert prompt["metrics"]["namedScores"]["grounding.coverage"] == 2
    assert prompt["metrics"]["namedScoresCount"]["grounding.coverage"] == 3


def evaluate_with_promptfoo(folder):
    """Run promptfoo without a network: no telemetry, no updates, no remote generation."""
    off = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING")
    environment = {
        **os.environ,
        **{f"PROMPTFOO_DISABLE_{name}": "1" for name in off},
        "PROMPTFOO_CONFIG_DIR": str(folder / "config"),
        "PROMPTFOO_PYTHON": sys.executable,
    }
    command = [PROMPTFOO, "eval", "--no-cache", "--no-write", "--no-table", "-o", "out.json"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert (folder / "out.json").exists(), done.stdout + done.stderr
    return json.loads((folder / "out.json").read_text("utf-8"))
