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
        plan = duel(sgi, server, "--dry-run")
        assert not server.requests
        result = duel(sgi, server, "-o", "duels.jsonl")
    assert re.match(
        r"systems: good, bad\nquestions: 6\ncriteria: better_answer\njudge: openai:m@\S+\njudge calls: 18\n",
        plan.out,
    )
    assert int(re.search(r"judge input tokens: ([\d,]+)", plan.out)[1].replace(",", "")) > 1000
    assert result.code == 0
    assert len(server.requests) == 6 + 12
    assert re.search(r"good against bad +6 +0 +0 +0 +100.00 % +– +– +– +2.14 times", result.out), result.out
    assert "itself on 6 of the questions, on 6 of them by one text twice." in result.out
    assert "the response shown first is preferred in 50.00 %" in result.out
    assert "good against bad: 100.00 % [54.07, 100.00] is not adjusted for order and length." in result.out
    assert "18 calls" in result.out
    rows = [json.loads(line) for line in (tmp_path / "duels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["outcome"] for row in rows] == ["order-dependent"] * 6 + ["first"] * 6
    assert (rows[6]["criterion"], rows[6]["lengths"]) == ("better_answer", [15, 7])
    assert rows[6]["reasons"] == ["It says more.", "It says more."]


def test_each_criterion_has_its_part(sgi, models):
    words = ("--on", "diversity,directness", "--on", "empowerment", "--aa", "0")
    with JudgeServer(replies=longer) as server:
        result = duel(sgi, server, *words)
    assert len(server.requests) == 3 * 12
    parts = re.findall(
        r"(\w+): the win rates are those of the first system\.\nduel .*\n.*\n\nA/A: no test was made\.",
        result.out,
    )
    assert parts == ["diversity", "directness", "empowerment"]


REPLY = '{"reasoning": "It is shown first.", "better": "response_1"}'


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("I compared [1] and [2].\n```json\n" + REPLY + "\n```", "order-dependent"),
        ("Response [1] is {direct}.\n</think>\n\n" + REPLY, "order-dependent"),
        ("<thinking>Response [1].</thinking>\n" + REPLY, "order-dependent"),
        ("The form is {better: ...}. Here it is:\n" + REPLY, "order-dependent"),
        (REPLY + "\n" + REPLY.replace("response_1", "response_2"), "failed"),
        (REPLY.replace("response_1", "Response 1"), "failed"),
        ("Response 1 is better.", "failed"),
        ("", "failed"),
    ],
)
def test_unusual_replies_on_a_criterion_are_read_or_fail(sgi, models, tmp_path, reply, outcome):
    with JudgeServer(replies=ServerReply(reply)) as server:
        result = duel(sgi, server, "--on", "directness", "-o", "duels.jsonl", "--judge-set", "retries=0")
    rows = [json.loads(line) for line in (tmp_path / "duels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["outcome"] for row in rows} == {outcome}
    assert result.code == (3 if outcome == "failed" else 0)
    assert ("no question has usable replies. 6 more" in result.out) == (outcome == "failed")


def test_json_has_counts_and_failures_make_the_exit_code_3(sgi, models):
    with JudgeServer([error_reply(400)], replies=longer) as server:
        result = duel(sgi, server, "--json", "--judge-set", "retries=0", "--aa", "0")
    assert result.code == 3
    (part,) = result.json["criteria"]
    (pair,) = part["pairs"]
    assert (part["criterion"], part["aa"]) == ("better_answer", None)
    assert (pair["counts"]["failed"], pair["counts"]["first"], pair["win_rate"]) == (1, 5, 1.0)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "--judge is required"),
        (("--judge", "openai:m@http://127.0.0.1:9/v1", "--on", "length"), "The criteria are: better_answer"),
        (("--judge", "openai:m@http://127.0.0.1:9/v1", "-o", "no/such/folder/x.jsonl"), "no/such/folder"),
        (("--judge", "openai:m@http://127.0.0.1:9/v1", "-o", "duels.txt"), "suffix"),
    ],
)
def test_wrong_arguments_are_refused_before_a_request(sgi, models, words, text):
    result = sgi("judge", "duel", "models", "--by", "model", *words)
    assert result.code == 2
    assert text in result.err


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_run_without_texts_is_refused_before_a_request(sgi, models, words):
    sgi("run", "models.jsonl", "-m", "refusal", "--no-texts", "--name", "hidden", "-q")
    with JudgeServer(replies=longer) as server:
        result = sgi("judge", "duel", "hidden", "--by", "model", "--judge", f"openai:m@{server.url}", *words)
    assert not server.requests
    assert (result.code, "the run hidden stores none" in result.err) == (2, True), result.err
