"""A target returns ids and scores of its passages: they are stored, exported, and read again on resume."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from support.command import sgi
from support.judge_server import JudgeServer, ServerReply

METRICS = "recall@1,mrr,ndcg@2,map"
SYSTEM = """
from pathlib import Path

HITS = {"A?": [("x", 2.5), ("y", 1)], "B?": [("y", 0.5), ("x", -1)], "C?": [], "D?": [("z", 3), ("y", 2)]}

def answer(question):
    with Path("calls.txt").open("a") as calls:
        calls.write(question + "\\n")
    if question in "C? D?" and Path("down").exists():
        raise ValueError("down")
    ids = [name for name, _ in HITS[question]]
    scores = [score for _, score in HITS[question]]
    texts = [f"The text of {name}." for name in ids]
    return {"answer": "It is x.", "contexts": texts, "context_ids": ids, "context_scores": scores,
            "usage": {"prompt_tokens": 30, "completion_tokens": 4}, "cost": 0.5}
"""
CLAIMS = json.dumps({"claims": ["It is x."]})
VERDICTS = json.dumps(
    {"verdicts": [{"index": 1, "reason": "It does not say so.", "supported": 0, "passage": None}]}
)


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"id": name.lower(), "question": f"{name}?", "gold_ids": ["x"], "context_ids": ["own"]}
        for name in "ABCD"
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ranked_system.py").write_text(SYSTEM)
    return tmp_path


def calls(folder):
    return sorted((folder / "calls.txt").read_text().split())


def run(folder, *words, metrics=METRICS):
    data = ("questions.jsonl", "--target", "ranked_system:answer", "-m", metrics)
    return sgi(folder, "run", *data, "-q", *words)


def values(folder, database, name):
    """The scores of a run by row, and its rows with ids and scores of passages."""
    exported = sgi(folder, "export", name, "--db", database, "--inputs", "-o", f"{name}.jsonl")
    assert exported.code == 0, exported.err
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    scores = {row["id"]: {metric: cell["value"] for metric, cell in row["scores"].items()} for row in rows}
    rankings = {row["id"]: (row.get("context_ids"), row.get("context_scores")) for row in rows}
    return scores, rankings


def test_a_resumed_run_reads_the_stored_ids_and_asks_only_for_the_rest(folder, database_url):
    (folder / "down").touch()
    stopped = run(folder, "--db", database_url, "--name", "part", "--max-failures", "60%")
    assert stopped.code == 3, stopped.err
    assert calls(folder) == ["A?", "B?", "C?", "D?"]
    (folder / "down").unlink()
    words = ("--resume", "part", "--retry-failed", "--trust-target", "-q", "--db", database_url)
    resumed = sgi(folder, "run", *words)
    assert resumed.code == 0, resumed.err
    assert calls(folder) == ["A?", "B?", "C?", "C?", "D?", "D?"]
    assert run(folder, "--db", database_url, "--name", "whole").code == 0
    assert values(folder, database_url, "part") == values(folder, database_url, "whole")
    scores, rankings = values(folder, database_url, "part")
    assert rankings == {
        "a": (["x", "y"], [2.5, 1.0]),
        "b": (["y", "x"], [0.5, -1.0]),
        "c": ([], []),
        "d": (["z", "y"], [3.0, 2.0]),
    }
    assert [scores[name]["mrr"] for name in "abcd"] == [1.0, 0.5, 0.0, 0.0]
    assert [scores[name]["recall@1"] for name in "abcd"] == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_exports_have_the_ids_scores_and_costs_of_the_target(folder, database_url, kind):
    """The data has neither scores nor costs, so their columns can only come from the answers."""
    metrics = f"{METRICS},prompt_tokens"
    assert run(folder, "--db", database_url, "--name", "base", metrics=metrics).code == 0
    file = f"base.{kind}"
    exported = sgi(folder, "export", "base", "--db", database_url, "--inputs", "-o", file)
    assert exported.code == 0, exported.err
    if kind == "parquet":
        assert {"context_ids", "context_scores", "cost"} <= {*pq.read_schema(folder / file).names}
    again = sgi(folder, "run", file, "--db", database_url, "--name", "again", "-q", "-m", metrics)
    assert again.code == 0, again.err
    assert values(folder, database_url, "again") == values(folder, database_url, "base")


def test_a_database_is_copied_with_the_ids(folder, database_url):
    assert run(folder, "--db", database_url, "--name", "base").code == 0
    assert sgi(folder, "db", "export", "all.jsonl", "--db", database_url).code == 0
    copied = sgi(folder, "db", "import", "all.jsonl", "--db", "copy.db")
    assert copied.code == 0, copied.err
    assert values(folder, "copy.db", "base") == values(folder, database_url, "base")


def test_a_replayed_run_scores_the_ids_again(folder):
    words = ("questions.jsonl", "--target", "ranked_system:answer", "-m", f"{METRICS},faithfulness")
    words = (*words, "--no-store", "-q", "--json")

    def reply(asked):
        return ServerReply(VERDICTS if "verdicts" in json.dumps(asked.body["response_format"]) else CLAIMS)

    with JudgeServer(replies=reply) as server:
        environment = {"SGI_CACHE_DIR": str(folder / "cache"), "NO_PROXY": "127.0.0.1"}
        judge = ("--judge", f"openai:m@{server.url}", "--max-failures", "100%")
        recorded = sgi(folder, "judge", "record", "calls.jsonl", *words, *judge, **environment)
        assert recorded.code == 0, recorded.err
        requests = len(server.requests)
    environment["SGI_CACHE_DIR"] = str(folder / "other")
    replayed = sgi(folder, "judge", "replay", "calls.jsonl", *words, "--max-failures", "100%", **environment)
    assert replayed.code == 0, replayed.err
    first, second = recorded.json, replayed.json
    assert requests > 0
    assert first == second
    means = {each["metric"]: each["mean"] for each in first["metrics"]}
    assert means["mrr"] == pytest.approx(1.5 / 4)


def test_a_wrong_ranking_names_target_row_and_field(folder):
    (folder / "repeating_system.py").write_text(SYSTEM.replace('("z", 3)', '("y", 3)'))
    stopped = sgi(folder, "run", "questions.jsonl", "--target", "repeating_system:answer", "-m", METRICS)
    assert stopped.code == 2
    problem = "row 'd': repeating_system:answer returned wrong context_ids: the id 'y' occurs twice."
    assert problem in " ".join(stopped.err.split())


def test_the_spec_of_a_run_has_the_fields(folder):
    toml = (
        'data = "questions.jsonl"\nmetrics = ["mrr"]\n[target]\nwhere = "http://127.0.0.1:9/a"\n'
        'context_ids_field = "hits.*.id"\ncontext_scores_field = "hits.*.score?"\n'
    )
    (folder / "run.toml").write_text(toml)
    planned = sgi(folder, "run", "run.toml", "--dry-run")
    assert planned.code == 0, planned.err
    (folder / "run.toml").write_text(toml.replace("http://127.0.0.1:9/a", "ranked_system:answer"))
    refused = sgi(folder, "run", "run.toml", "--dry-run")
    assert refused.code == 2
    assert "context_ids_field requires a URL" in refused.err
