import json

import anyio
import pytest

from sgi.kernel.errors import JudgeUnavailableError
from sgi.llm.calls import Call, Completion, Message, Shape
from sgi.testing import ScriptedJudge
from sgi_lab.metric_bench.bench import bench
from sgi_lab.metric_bench.bench_page import bench_markdown
from sgi_lab.metric_bench.catalogue import FAULTS
from sgi_lab.metric_bench.judge_faults import FaultyChat
from sgi_lab.metric_bench.measures import Verdict
from support.judge_server import JudgeServer, ScriptedChat, ServerReply

REPLY = '{"reason": "So it is.", "verdicts": [{"index": 1, "supported": 1}, {"index": 2, "supported": 0}]}'
CALL = Call((Message("system", "task"), Message("user", "texts")), Shape("Reply", "{}"))
REPAIR = Call((*CALL.messages, Message("assistant", "?"), Message("user", "again")), CALL.shape)


@pytest.fixture
def spoilt(draw):
    """A reply as a fault leaves it."""
    return lambda name, text=REPLY: FAULTS[name].corrupt(text, draw)


def test_what_each_fault_does_to_a_reply(spoilt):
    assert REPLY.startswith(spoilt("reply_cut"))
    assert sorted(spoilt("reply_garbled")) == sorted(REPLY)
    assert spoilt("reply_twice") == f"{REPLY}\n{REPLY}"
    assert len(json.loads(spoilt("verdict_twice"))["verdicts"]) == 3
    beyond = json.loads(spoilt("verdict_out_of_range"))["verdicts"]
    assert [verdict["index"] for verdict in beyond] == [1, 2]
    assert {abs(verdict["supported"]) for verdict in beyond} == {97}
    assert spoilt("reply_empty") == ""


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.corrupt])
@pytest.mark.parametrize(
    "text", [REPLY, "", "[]", "no JSON", "{", '{"rating": 3}', "\ud800", "9" * 10_000, "[" * 99_999]
)
def test_no_fault_stumbles_over_a_reply_and_none_leaves_a_good_one(name, text, spoilt):
    result = spoilt(name, text)
    assert isinstance(result, str)
    assert (result == text) <= (text != REPLY)


def test_a_repair_meets_the_same_and_asks_for_nothing_more():
    inner = ScriptedChat(REPLY)
    chat = FaultyChat(inner, FAULTS["reply_garbled"])

    async def ask():
        return [await chat.complete(CALL), await chat.complete(REPAIR)]

    first, second = anyio.run(ask)
    assert first.text == second.text != REPLY
    assert inner.calls == [CALL, CALL]
    assert chat.faulty_replies == 2
    assert chat.fingerprint == inner.fingerprint


def test_a_judge_that_breaks_off_gives_no_reply():
    chat = FaultyChat(ScriptedChat(Completion(REPLY)), FAULTS["judge_breaks_off"])
    with pytest.raises(JudgeUnavailableError, match="connection closed"):
        anyio.run(chat.complete, CALL)


ROWS = [
    {
        "id": str(k),
        "question": f"Who {k}?",
        "contexts": [f"Ada came {k} times."],
        "response": f"Ada came {k} times.",
    }
    for k in range(20, 32)
]
RATING = {"reasoning": "Because.", "rating": 2}
CLAIMS = ["Ada came.", "She came often."]


def replies(asked):
    """What is wanted by the schema's name: two claims, a verdict on each, or ratings."""
    name = asked.body["response_format"]["json_schema"]["name"]
    verdicts = [{"index": k + 1, "reason": "So.", "supported": 1 - k, "passage": None} for k in range(2)]
    wanted = {
        "ClaimList": {"claims": CLAIMS},
        "Verdicts_Support": {"verdicts": verdicts},
        "AllRatings": dict.fromkeys(("answer_relevance", "context_relevance", "groundedness"), RATING),
    }
    return ServerReply(json.dumps(wanted[name]))


def test_no_perturbed_reply_of_a_real_server_becomes_a_value(tmp_path):
    metrics = ("faithfulness", "groundedness")
    with JudgeServer(replies=replies) as server:
        result = bench(
            ROWS,
            metrics,
            ["refusal", *FAULTS],
            judge={"model": f"openai:m@{server.url}", "retries": 0},
            cache=tmp_path / "vectors.db",
        )
        asked = len(server.requests)
    # Claims and ratings of each row as it is and refused, and verdicts on its claims; faults ask no more.
    assert asked == (2 * 2 + 1) * len(ROWS)
    found = {(cell.metric, cell.perturbation): cell for cell in result.cells}
    for metric in metrics:
        assert found[metric, "refusal"].pairs == len(ROWS)
        for name in FAULTS:
            if (metric, name) == ("groundedness", "verdict_twice"):  # its replies hold no list of verdicts
                assert (found[metric, name].verdict, found[metric, name].pairs) == (Verdict.NONE, 0)
                continue
            assert found[metric, name].verdict is Verdict.CLOSED, found[metric, name]
            assert (found[metric, name].pairs, found[metric, name].share) == (len(ROWS), 1.0)
    assert "fails closed under 7 of 7 judge faults" in bench_markdown(result)


def test_a_judge_object_has_no_faulty_replies():
    judge = ScriptedJudge(
        {"ratings.all": dict.fromkeys(("answer_relevance", "context_relevance", "groundedness"), RATING)}
    )
    result = bench(ROWS, ["groundedness"], ["refusal", "reply_cut"], judge=judge, cache=False)
    assert [cell.perturbation for cell in result.cells] == ["refusal"]
    assert "cannot be simulated" in result.notes[-1]
