"""A target returns ids and scores of its passages: they are stored, exported, and read again on resume."""

import json

import pyarrow.parquet as pq
import pytest

from support.command import sgi

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
    exported = sgi(folder, "runs", "export", name, "--db", database, "--inputs", "-o", f"{name}.jsonl")
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
    exported = sgi(folder, "runs", "export", "base", "--db", database_url, "--inputs", "-o", file)
    assert exported.code == 0, exported.err
    if kind == "parquet":
        assert {"context_ids", "context_scores", "cost"} <= {*pq.read_schema(folder / file).names}
    again = sgi(folder, "run", file, "--db", database_url, "--name", "again", "-q", "-m", metrics)
    assert again.code == 0, again.err
    assert values(folder, database_url, "again") == values(folder, database_url, "base")
