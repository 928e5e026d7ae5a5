"""The command `sgi mcp`, called over stdio by the client of the SDK."""

from __future__ import annotations

import json
import os
import sys
from functools import partial

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from sgi.integrations.mcp import MAX_RESULT, MAX_TEXT, limit_size
from sgi.kernel.errors import UsageError
from support.adapter_contract import CONTRADICTED, SUPPORTED, PageContract


class TestMcp(PageContract):
    name = "mcp"


@pytest.fixture
def server(tmp_path):
    """Calls tools of a server that is started in an empty folder; yields a function."""

    async def talk(*calls):
        start = StdioServerParameters(
            command=sys.executable, args=["-m", "sgi", "mcp"], env=dict(os.environ), cwd=tmp_path
        )
        async with Client(stdio_client(start)) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return lambda *calls: anyio.run(partial(talk, *calls))


def test_the_tools_score_store_compare_and_explain(server, tmp_path):
    for name, response in (("old", "It is 330 m tall."), ("new", CONTRADICTED["response"])):
        same = {"contexts": SUPPORTED["contexts"], "response": response, "reference": "330 m"}
        rows = [same | {"id": str(n), "question": f"How tall is tower {n}?"} for n in range(9)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tools, results = server(
        ("run", {"data": "old.jsonl", "metrics": ["grounding"], "name": "old"}),
        ("run", {"data": "new.jsonl", "metrics": ["grounding"], "name": "new"}),
        ("compare", {"base": "old", "new": "new"}),
        ("show", {"run": "new", "rows": 2}),
        ("diagnose", {"run": "last", "rows": 3}),
    )
    assert {tool.name: tool.annotations.read_only_hint for tool in tools} == {
        **dict.fromkeys(("check", "compare", "show", "diagnose"), True),
        "run": False,
    }
    assert not any(result.is_error for result in results), results
    old, _, compared, shown, diagnosed = (result.structured_content for result in results)
    assert old["rows"] == 9
    assert compared["metrics"][0]["verdict"] == "worse"
    assert [row["response"] for row in shown["worst"]["worst"]] == [CONTRADICTED["response"]] * 2
    assert [row["cause"] for row in diagnosed["diagnoses"]] == ["contradicted_fact"] * 3
    assert json.loads(results[2].content[0].text) == compared


def test_an_error_has_its_message_and_hint(server, tmp_path):
    outside = tmp_path.parent / "outside.jsonl"
    outside.write_text("{}")
    _, results = server(
        ("show", {"run": "last"}),
        ("run", {"data": str(outside)}),
        ("check", {"contexts": [], "response": "x"}),
        ("check", {"contexts": ["a" * 100_001], "response": "x"}),
    )
    texts = [result.content[0].text for result in results]
    assert all(result.is_error for result in results)
    assert "sgi.db" in texts[0]
    assert "is not a data file of this server. Name a file in the folder" in texts[1]
    assert "at least 1 item" in texts[2]
    assert "at most 100000 characters" in texts[3]


def test_a_result_is_limited():
    rows = [{"id": str(n), "text": "b" * 5000, "lone": "\ud800"} for n in range(300)]
    limited = limit_size({"rows": rows})
    assert len(json.dumps(limited)) <= MAX_RESULT
    assert limited["left_out"] == {"rows": 280}
    assert (len(limited["rows"][0]["text"]), limited["rows"][0]["lone"]) == (MAX_TEXT, "?")
    wide = {str(n): {str(m): {str(k): "c" * 999 for k in range(9)} for m in range(9)} for n in range(9)}
    with pytest.raises(UsageError, match="more than 50,000 characters"):
        limit_size(wide)
