"""The judge over a scripted model: turns, shapes, and asking anew."""

import asyncio
import json

import pytest

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError
from sgi.kernel.prompts import Verdicts
from sgi.kernel.protocols import CountingJudge
from sgi.llm.calls import UsageCounter
from sgi.llm.judge import ChatJudge, first_call
from sgi.llm.reply_cache import CachedChat
from sgi.metrics.judged.claims import VERIFY, Support
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, ScriptedChat, Supported, verdicts_reply

SCHEMA = Verdicts[Supported]


def ask(judge, *claims):
    return asyncio.run(judge.ask(PROMPT.about(claims=claims or ("a",)), SCHEMA))


def test_it_is_a_judge_that_counts():
    judge = ChatJudge(ScriptedChat(), budget=500)
    assert isinstance(judge, CountingJudge)
    assert (judge.fingerprint, judge.budget) == ("scripted", 500)


def test_a_repair_is_a_second_call_that_holds_the_reply_and_the_problem():
    chat = ScriptedChat(lambda _, before: verdicts_reply("yy" if before == 0 else "y"))
    reply = ask(ChatJudge(chat))
    assert reply.verdicts[0].supported
    first, second = chat.calls
    assert [message.role for message in first.messages] == ["system", "user"]
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.messages[2:]] == ["assistant", "user"]
    assert second.messages[2].text == verdicts_reply("yy")
    assert "entries that were not asked: 2" in second.messages[3].text


@pytest.mark.parametrize("passage", [0, 3, -1, 10**30])
def test_a_passage_that_was_not_shown_is_repaired(passage):
    def reply(named):
        return json.dumps({"verdicts": [{"index": 1, "reason": "r", "supported": 1, "passage": named}]})

    def ask_judge(*replies):
        chat = ScriptedChat(lambda _, before: replies[before])
        inquiry = VERIFY.about(passages=("p", "q"), claims=("a",))
        return chat, asyncio.run(ChatJudge(chat).ask(inquiry, Verdicts[Support]))

    chat, judgement = ask_judge(reply(passage), reply(2))
    assert judgement.verdicts[0].passage == 2
    message = f"verdicts[0]: there is no passage {passage}: they are numbered from 1 to 2"
    assert message in chat.calls[1].messages[-1].text
    with pytest.raises(JudgeMalformedError, match=rf"there is no passage {passage}:"):
        ask_judge(reply(passage), reply(passage))


def test_the_number_of_verdicts_stands_in_the_schema_and_fields_in_their_order():
    two = first_call(PROMPT.about(claims=("a", "b")), SCHEMA).shape
    three = first_call(PROMPT.about(claims=("a", "b", "c")), SCHEMA).shape
    schema = json.loads(two.text)
    assert (schema["properties"]["verdicts"]["minItems"], schema["properties"]["verdicts"]["maxItems"]) == (
        2,
        2,
    )
    assert list(schema["$defs"]["Supported"]["properties"]) == ["index", "reason", "supported"]
    assert two != three
    assert two.name == "Verdicts_Supported"
    assert "minItems" not in json.loads(first_call(PROMPT.about(claims=("a",)), Supported).shape.text)


@pytest.mark.parametrize(
    ("reply", "error"), [("nonsense", JudgeMalformedError), ("I'm sorry.", JudgeRefusedError)]
)
def test_what_failed_from_the_cache_is_asked_anew_if_wished(reply, error):
    cache = MemoryCache()

    def judge(chat, *, again):
        return ChatJudge(CachedChat(chat, cache, UsageCounter()), again=again)

    bad = ScriptedChat(reply)
    with pytest.raises(error):
        ask(judge(bad, again=True))
    count = len(bad.calls)
    assert {call.take for call in bad.calls} == {1}
    with pytest.raises(error):
        ask(judge(bad, again=False))
    assert len(bad.calls) == count

    with pytest.raises(error):
        ask(judge(bad, again=True))
    assert [call.take for call in bad.calls[count:]] == [2] * count

    good = ScriptedChat(verdicts_reply("y"))
    assert ask(judge(good, again=True)).verdicts
    assert [call.take for call in good.calls] == [3]
    nobody = ScriptedChat(lambda *_: AssertionError("asked"))
    assert ask(judge(nobody, again=True)).verdicts
