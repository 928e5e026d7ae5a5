"""No answer is paid twice: kept, joined, taken over, and there after a kill."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError, JudgeUnavailableError, StoreError
from sgi.kernel.prompts import Verdicts
from sgi.kernel.protocols import CountingJudge
from sgi.llm.calls import Completion, Finish, UsageCounter
from sgi.llm.judge import CachedChat, ChatJudge, first_call
from sgi.metrics.judged.claims import VERIFY, Support
from sgi.store.cache import MemoryCache, SqliteCache
from support.judge_server import (
    PROMPT,
    JudgeServer,
    ScriptedChat,
    ServerReply,
    Supported,
    call,
    verdicts_reply,
)


def test_what_was_answered_is_kept_whole():
    answer = Completion("é\n\x00", Finish.LENGTH, "no", 3, 4)
    cache, counter = MemoryCache(), UsageCounter()
    assert asyncio.run(CachedChat(ScriptedChat(answer), cache, counter).complete(call())) == answer
    assert counter.usage.cached == 0
    completion = asyncio.run(CachedChat(ScriptedChat(), cache, counter).complete(call()))
    assert completion == Completion("é\n\x00", Finish.LENGTH, "no", 3, 4, cached=True)
    assert counter.usage.cached == 1


def test_a_key_is_of_model_messages_schema_and_take():
    cache = MemoryCache()

    def is_sent(one, model="scripted"):
        chat = ScriptedChat()
        chat.fingerprint = model
        asyncio.run(CachedChat(chat, cache, UsageCounter()).complete(one))
        return bool(chat.calls)

    assert is_sent(call("a"))
    assert not is_sent(call("a"))
    assert all([is_sent(call("b")), is_sent(call("a", take=2)), is_sent(call("a"), model="other")])


@pytest.mark.parametrize(
    "value",
    [b"", b"nonsense", b"{}", b"[]", b'{"text": 3}', b'{"text": "a", "finish": "never"}', b"\xff", b"null"],
)
def test_what_cannot_be_read_is_asked_anew_and_replaced(value):
    cache = MemoryCache()
    cache.put_many({call().key("scripted"): value})
    chat = ScriptedChat("fresh")
    for _ in range(2):
        assert asyncio.run(CachedChat(chat, cache, UsageCounter()).complete(call())).text == "fresh"
    assert len(chat.calls) == 1


def test_equal_calls_in_flight_are_one():
    async def work():
        return await asyncio.gather(
            *[cached.complete(call("a")) for _ in range(50)], cached.complete(call("b"))
        )

    chat, counter = ScriptedChat("x", pause=0.01), UsageCounter()
    cached = CachedChat(chat, MemoryCache(), counter)
    assert {completion.text for completion in asyncio.run(work())} == {"x"}
    assert len(chat.calls) == 2
    assert counter.usage.cached == 49


def test_an_error_is_told_to_all_who_wait_and_not_kept():
    async def work():
        return await asyncio.gather(*[cached.complete(call()) for _ in range(3)], return_exceptions=True)

    chat = ScriptedChat(lambda _, before: JudgeUnavailableError("gone") if before == 0 else "x", pause=0.01)
    cached = CachedChat(chat, MemoryCache(), UsageCounter())
    errors = asyncio.run(work())
    assert [str(error) for error in errors] == ["gone"] * 3
    assert len(set(map(id, errors))) == 3
    assert asyncio.run(cached.complete(call())).text == "x"


def test_a_bug_in_one_stops_nobody_else_from_asking():
    async def work():
        return await asyncio.gather(*[cached.complete(call()) for _ in range(3)], return_exceptions=True)

    chat = ScriptedChat(lambda _, before: ZeroDivisionError() if before == 0 else "x", pause=0.01)
    cached = CachedChat(chat, MemoryCache(), UsageCounter())
    first, *others = asyncio.run(work())
    assert isinstance(first, ZeroDivisionError)
    assert {other.text for other in others} == {"x"}


def test_when_the_one_who_asks_is_stopped_another_takes_over():
    async def work():
        first, *others = [asyncio.create_task(cached.complete(call())) for _ in range(4)]
        await asyncio.sleep(0.01)
        first.cancel()
        completions = await asyncio.gather(*others)
        assert first.cancelled()
        return completions

    chat = ScriptedChat("x", pause=0.05)
    cached = CachedChat(chat, MemoryCache(), UsageCounter())
    assert {completion.text for completion in asyncio.run(work())} == {"x"}
    assert len(chat.calls) == 2


def test_one_who_waits_can_be_stopped_alone():
    async def work():
        first, second = [asyncio.create_task(cached.complete(call())) for _ in range(2)]
        await asyncio.sleep(0.01)
        second.cancel()
        return await first

    cached = CachedChat(ScriptedChat("x", pause=0.05), MemoryCache(), UsageCounter())
    assert asyncio.run(work()).text == "x"


class Slow(MemoryCache):
    """Counts its writes."""

    writes = 0

    def put_many(self, items):
        self.writes += 1
        super().put_many(items)


def test_answers_of_one_moment_are_written_together_before_they_are_told():
    async def work():
        async def ask(n):
            await cached.complete(call(str(n)))
            assert call(str(n)).key("scripted") in cache._values

        await asyncio.gather(*[ask(n) for n in range(100)])

    cache = Slow()
    cached = CachedChat(ScriptedChat("x"), cache, UsageCounter())
    asyncio.run(work())
    assert len(cache._values) == 100
    assert cache.writes < 10


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path):
    class Full(MemoryCache):
        def put_many(self, items):
            raise StoreError("The disk is full.")

    async def work():
        cached = CachedChat(ScriptedChat("x"), Full(), UsageCounter())
        return await asyncio.gather(*[cached.complete(call(n)) for n in "ab"], return_exceptions=True)

    assert [str(error) for error in asyncio.run(work())] == ["The disk is full."] * 2


def test_a_bug_in_the_cache_leaves_nobody_waiting():
    class Broken(MemoryCache):
        def put_many(self, items):
            raise ZeroDivisionError("a bug")

    async def work():
        cached = CachedChat(ScriptedChat("x"), Broken(), UsageCounter())
        tasks = asyncio.gather(*[cached.complete(call(n)) for n in "aba"], return_exceptions=True)
        return await asyncio.wait_for(tasks, 5)

    assert [str(error) for error in asyncio.run(work())] == ["a bug"] * 3


_RUN = textwrap.dedent("""
    import asyncio, sys
    from sgi.llm.open_judge import open_judge
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.kernel.prompts import Verdicts
    from sgi.store.cache import SqliteCache
    from support.judge_server import PROMPT, Supported

    async def work(url, path):
        with SqliteCache(path) as cache:
            async with open_judge(JudgeSpec(model=f"openai:m@{url}", concurrency=4), cache) as judge:
                async def ask(n):
                    await judge.ask(PROMPT.about(claims=(str(n),)), Verdicts[Supported])
                    print(n, flush=True)
                await asyncio.gather(*[ask(n) for n in range(40)])
                print("usage", judge.usage.calls, judge.usage.cached, flush=True)

    asyncio.run(work(*sys.argv[1:]))
""")


@pytest.mark.usefixtures("no_remote_settings")
@pytest.mark.slow
def test_a_killed_process_pays_for_no_finished_answer_again(tmp_path):
    place = tmp_path / "cache.db"
    support = Path(__file__).parents[2]
    with JudgeServer(replies=ServerReply(verdicts_reply("y"), delay=0.15)) as server:
        command = [sys.executable, "-c", _RUN, server.url, str(place)]
        environment = {**os.environ, "PYTHONPATH": str(support)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            lines = [process.stdout.readline() for _ in range(11)]
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert len(lines) == 11
        time.sleep(0.2)
        before = {request.text for request in server.requests}
        with SqliteCache(place) as cache:
            stored_count = cache.stats().entries
        assert 11 <= stored_count <= len(server.requests) < 40
        server.requests.clear()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    texts = [request.text for request in server.requests]
    assert done.stdout.splitlines()[-1] == f"usage {40 - stored_count} {stored_count}"
    assert len(texts) == len(set(texts)) == 40 - stored_count
    # Asked twice are only those whose answers were on their way when the process was killed.
    assert len(before & set(texts)) <= 4


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
