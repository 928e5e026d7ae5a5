"""Settings of stored and imported runs start nothing that the user did not name."""

from __future__ import annotations

import json
import sys

import pytest

from support.embedding_server import EmbeddingServer
from support.judge_server import JudgeServer
from support.kept_runs import rows
from support.target_server import TargetServer

APP = """from pathlib import Path

def answer(question):
    if Path("fails").exists() and "3" in question:
        raise ValueError("not now")
    return question
"""


@pytest.fixture
def unfinished(sgi, tmp_path):
    """A run that stopped, as the lines of an export; and what imports it, with other settings, elsewhere."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(6)))
    (tmp_path / "honest.py").write_text(APP)
    (tmp_path / "fails").touch()
    words = ("--target", "honest:answer", "--target-set", "retries=0", "--db", "honest.db", "-q")
    assert sgi("run", "rows.jsonl", "-m", "rouge_l", *words).code == 2
    assert sgi("runs", "db", "export", "honest.jsonl", "--db", "honest.db").code == 0
    (tmp_path / "fails").unlink()

    def imported(**settings):
        lines = [json.loads(line) for line in (tmp_path / "honest.jsonl").read_text().splitlines()]
        (run,) = (line for line in lines if isinstance(line, list) and line[0] == "runs")
        spec = {**run[4], **settings}
        run[4] = {key: value for key, value in spec.items() if value is not None}
        (tmp_path / "other.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / "sgi.db").unlink(missing_ok=True)
        result = sgi("runs", "db", "import", "other.jsonl")
        assert result.code == 0, result.err

    yield imported
    sys.modules.pop("honest", None)


def test_an_imported_target_does_not_run(sgi, unfinished, tmp_path):
    (tmp_path / "stranger.py").write_text("open('imported', 'w').close()\ndef answer(q): return q\n")
    for where in ("stranger:answer", "subprocess:getoutput"):
        unfinished(target={"where": where})
        for words in ((), ("--retry-failed",), ("--target-set", "concurrency=2"), ("--map", "label=")):
            refused = sgi("run", "--resume", "last", "-q", *words)
            assert (refused.code, f"the target {where}" in refused.err) == (2, True)
            assert "--trust-target" in refused.err
    assert not (tmp_path / "imported").exists()


def test_one_s_own_run_resumes_with_its_target_named_or_trusted(sgi, unfinished):
    for words in (("--target", "honest:answer"), ("--trust-target",)):
        unfinished()
        resumed = sgi("run", "--resume", "last", "-q", "--json", *words)
        assert (resumed.code, resumed.err) == (0, "")
        assert resumed.json["rows"] == 6


def test_the_error_prints_the_command_that_resumes(sgi, unfinished):
    unfinished()
    run = sgi("runs", "--json").json[0]["id"]
    assert f"sgi run --resume {run} --trust-target" in sgi("run", "--resume", "last").err


def test_an_imported_address_gets_no_question_and_no_secret(sgi, unfinished, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    with TargetServer() as server:
        target = {"where": server.url, "headers": {"X-Note": "${AWS_SECRET_ACCESS_KEY}"}}
        unfinished(target=target)
        refused = sgi("run", "--resume", "last", "-q")
        assert (refused.code, f"the target {server.url}" in refused.err) == (2, True)
        refused = sgi("run", "--resume", "last", "-q", "--target", server.url)
        assert (refused.code, "the environment variable AWS_SECRET_ACCESS_KEY" in refused.err) == (2, True)
        assert server.requests == []


def test_an_imported_judge_gets_no_key(sgi, unfinished, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    with JudgeServer() as server:
        unfinished(target=None, metrics=["faithfulness"], judge={"model": f"openai:m@{server.url}"})
        for words in ((), ("--judge-set", "seed=3"), ("--rpm", "5"), ("--dry-run",)):
            refused = sgi("run", "--resume", "last", *words)
            assert (refused.code, "names the judge" in refused.err or "the judge" in refused.err) == (2, True)
        assert server.requests == []


@pytest.mark.parametrize("where", ["embedders", "metric", "calibration"])
def test_nor_does_an_imported_embedding_service(sgi, unfinished, monkeypatch, where):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    with EmbeddingServer() as server:
        model = f"openai:m@{server.url}/v1"
        metric = f'semantic_similarity(models=["{model}"])'
        settings = {
            "embedders": {"embedders": [model], "metrics": ["sgi"]},
            "metric": {"metrics": [metric]},
            "calibration": {"calibration": "calibration.json"},
        }[where]
        unfinished(target=None, **settings)
        refused = sgi("run", "--resume", "last", "-q")
        assert refused.code == 2
        assert ("calibration is not an object" if where == "calibration" else model) in refused.err
        assert server.requests == []


@pytest.mark.parametrize("key", ["out", "rejects"])
def test_an_imported_run_replaces_no_file(sgi, unfinished, tmp_path, key):
    victim = tmp_path / "precious.csv"
    victim.write_text("precious")
    outside = tmp_path.parent / "outside.jsonl"
    for path in (victim, outside):
        unfinished(target=None, **{key: str(path)}, on_error="skip")
        refused = sgi("run", "--resume", "last", "-q")
        assert (refused.code, f"{path}" in refused.err) == (2, True)
    assert victim.read_text() == "precious"
    assert not outside.exists()


def test_a_settings_file_runs_only_functions_of_the_working_folder(sgi, unfinished, tmp_path):
    del unfinished
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "there.py").write_text("open('imported', 'w').close()\ndef answer(q): return q\n")
    for where in ("subprocess:getoutput", "os:system", "there:answer"):
        data = tmp_path / "rows.jsonl"
        file = elsewhere / "run.toml"
        file.write_text(f'data = "{data}"\nmetrics = ["rouge_l"]\n[target]\nwhere = "{where}"\n')
        refused = sgi("run", str(file), "-q")
        assert (refused.code, f"name the target yourself: {where}" in refused.err) == (2, True)
        refused = sgi("run", str(file), "-q", "--target-set", "retries=0")
        assert refused.code == 2
    assert not (tmp_path / "imported").exists()
    file.write_text(f'data = "{data}"\nmetrics = ["rouge_l"]\n[target]\nwhere = "honest:answer"\n')
    assert sgi("run", str(file), "-q").code == 0


def test_trust_is_for_stored_runs_alone(sgi):
    assert "--resume" in sgi("run", "rows.jsonl", "--trust-target").err


def test_a_finished_run_is_shown_again_without_opening_anything(sgi, unfinished):
    unfinished()
    assert sgi("run", "--resume", "last", "-q", "--target", "honest:answer").code == 0
    assert sgi("run", "--resume", "last", "-q").code == 0
    refused = sgi("run", "--resume", "last", "-q", "-m", "bleu")
    assert (refused.code, "its settings changed" in refused.err) == (2, True)


def test_card_and_rescore_contact_no_service_of_a_stored_run(sgi, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(12)))
    with EmbeddingServer() as server:
        model = f"openai:m@{server.url}/v1"
        assert sgi("run", "rows.jsonl", "-m", "sgi", "-e", model, "-q").code == 0
        asked = len(server.requests)
        refused = sgi("study", "card", "last", "-m", "sgi", "-q", "--no-cache")
        assert (refused.code, f"-e {model}" in refused.err) == (2, True)
        assert len(server.requests) == asked
        assert (
            sgi("study", "card", "last", "-m", "sgi", "-q", "--no-cache", "-e", model, "--draws", "10").code
            == 0
        )
        assert len(server.requests) > asked
