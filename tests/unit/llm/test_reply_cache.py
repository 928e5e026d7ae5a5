"""No answer is paid twice: kept, joined, taken over, and there after a kill."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sgi.kernel.errors import JudgeUnavailableError, StoreError
from sgi.llm.calls import Completion, Finish, UsageCounter
from sgi.llm.reply_cache import CachedChat
from sgi.store.cache import MemoryCache, SqliteCache
from support.judge_server import JudgeServer, ScriptedChat, ServerReply, call, verdicts_reply


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
