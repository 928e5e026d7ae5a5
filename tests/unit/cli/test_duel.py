from __future__ import annotations

import json
import re

import pytest

from support import command
from support.answers import write_jsonl
from support.judge_server import JudgeServer, ServerReply, error_reply


@pytest.fixture
def models(tmp_path):
    rows = (
        {"id": f"{number}-{model}", "question": f"question {number}?", "response": answer, "model": model}
        for number in range(6)
        for model, answer in (("good", f"a long answer {number}"), ("bad", f"short {number}"))
    )
    write_jsonl(tmp_path / "models.jsonl", rows)
    command.sgi(tmp_path, "run", "models.jsonl", "-m", "theta_rq", "--name", "models", "-q")


def longer(request):
    one, two = re.search(
        r"<response_1 .*?>\n(.*?)\n<.*<response_2 .*?>\n(.*?)\n<", request.text, re.DOTALL
    ).groups()
    better = "response_1" if len(one) > len(two) else "response_2"
    return ServerReply(json.dumps({"reasoning": "It says more.", "better": better}))


def duel(sgi, server, *words):
    return sgi(
        "judge", "duel", "models", "--by", "model", "--judge", f"openai:m@{server.url}", "--no-cache", *words
    )


def test_a_judge_decides_between_two_systems(sgi, models, tmp_path):
    with JudgeServer(replies=longer) as server:
        result = duel(sgi, server, "-o", "duels.jsonl")
    assert result.code == 0
    assert len(server.requests) == 12
    assert "good against bad  100.00 %" in result.out
    assert "shown first in 50.00 %" in result.out
    assert "12 calls" in result.out
    rows = [json.loads(line) for line in (tmp_path / "duels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["outcome"] for row in rows} == {"first"}
    assert rows[0]["reasons"] == ["It says more.", "It says more."]


def test_json_has_counts_and_failures_make_the_exit_code_3(sgi, models):
    with JudgeServer([error_reply(400)], replies=longer) as server:
        result = duel(sgi, server, "--json", "--judge-set", "retries=0")
    assert result.code == 3
    (pair,) = result.json["pairs"]
    assert (pair["counts"]["failed"], pair["counts"]["first"], pair["win_rate"]) == (1, 5, 1.0)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "--judge is required"),
        (("--judge", "openai:m@http://127.0.0.1:9/v1", "-o", "no/such/folder/x.jsonl"), "no/such/folder"),
        (("--judge", "openai:m@http://127.0.0.1:9/v1", "-o", "duels.txt"), "suffix"),
    ],
)
def test_wrong_arguments_are_refused_before_a_request(sgi, models, words, text):
    result = sgi("judge", "duel", "models", "--by", "model", *words)
    assert result.code == 2
    assert text in result.err
