"""The tools of `sgi mcp`, without a client: their results, and what they refuse."""

import json

import pytest

from sgi.cli.mcp_command import Tools
from sgi.kernel.errors import SgiError, UsageError
from support.adapter_contract import CONTRADICTED, NO_CONTEXTS, SUPPORTED
from support.judge_server import JudgeServer, ServerReply

ROWS = [row | {"id": str(n)} for n, row in enumerate((SUPPORTED, CONTRADICTED, NO_CONTEXTS))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    for place in (inside, tmp_path):
        (place / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    monkeypatch.chdir(inside)
    monkeypatch.delenv("SGI_DATABASE_URL", raising=False)
    return inside


def test_results_are_those_of_the_commands(sgi, folder):
    tools = Tools(folder, str(folder / "sgi.db"), None)
    words = [word for text in CONTRADICTED["contexts"] for word in ("--c", text)]
    words += ["--q", CONTRADICTED["question"], "--r", CONTRADICTED["response"]]
    assert tools.check(**CONTRADICTED) == sgi("check", *words, "--json").json
    first = tools.run("rows.jsonl", ["grounding"], "first")
    where = ("--db", folder / "sgi.db", "--json")
    second = sgi("run", folder / "rows.jsonl", "-m", "grounding", "--name", "second", *where).json
    assert first | {"run": ""} == second | {"run": ""}
    assert tools.compare("first", "second") == sgi("compare", "first", "second", *where).json
    shown = tools.show("first", rows=2)
    worst = sgi("show", "first", "--worst", 2, *where).json
    assert shown.pop("worst") == {name: worst[name] for name in ("metric", "higher_is_better", "worst")}
    assert shown == sgi("show", "first", *where).json
    diagnosed, printed = tools.diagnose("first", rows=1), sgi("diagnose", "first", *where).json
    assert diagnosed.pop("diagnoses") == [row for row in printed["diagnoses"] if row["id"] == "1"]
    assert diagnosed == {name: value for name, value in printed.items() if name != "diagnoses"}


def test_only_data_files_in_the_folder_are_read(folder):
    (folder / "run.toml").write_text('data = "rows.jsonl"\ntarget = "app:answer"\n')
    (folder / "link.jsonl").symlink_to(folder.parent / "rows.jsonl")
    (folder / "toml.jsonl").symlink_to(folder / "run.toml")
    (folder / "up").symlink_to(folder.parent)
    outside = ["../rows.jsonl", str(folder.parent / "rows.jsonl"), "link.jsonl", "up/rows.jsonl"]
    for name in (*outside, "run.toml", "toml.jsonl", ".", "none.jsonl", "otel:rows.jsonl", "halueval_qa:"):
        with pytest.raises(UsageError, match="is not a data file of this server"):
            Tools(folder, None, None).run(name)
    assert not (folder / "sgi.db").exists()


def test_a_metric_has_no_parameters_and_no_judge(folder):
    tools = Tools(folder, None, None)
    with pytest.raises(UsageError, match="without parameters"):
        tools.run("rows.jsonl", ["semantic_similarity(models=['/etc'])"])
    with pytest.raises(UsageError, match="has no judge"):
        tools.run("rows.jsonl", ["faithfulness"])


def test_a_judge_needs_a_limit_that_all_runs_share(sgi, folder):
    with JudgeServer(replies=ServerReply('{"claims": []}', usage=(1_000_000, 0))) as server:
        judge = {"model": f"openai:m@{server.url}", "input_price": 1, "output_price": 0}
        with pytest.raises(UsageError, match="--max-cost"):
            Tools(folder, None, judge)
        tools = Tools(folder, None, judge | {"max_cost": 1.5})
        tools.run("rows.jsonl")  # without a judged metric, nothing is asked
        assert server.requests == []
        with pytest.raises(SgiError, match="limit"):
            tools.run("rows.jsonl", ["faithfulness"])
        asked = len(server.requests)
        assert asked
        with pytest.raises(UsageError, match="its cost limit is used up"):
            tools.run("rows.jsonl", ["faithfulness"])
        assert len(server.requests) == asked
