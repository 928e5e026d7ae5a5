"""The whole judge over real HTTP: what it reads, repairs, refuses, keeps, counts and records."""

import asyncio
import logging
import traceback
from contextlib import suppress

import pytest

from sgi.kernel.errors import (
    JudgeError,
    JudgeMalformedError,
    UsageError,
)
from sgi.kernel.prompts import Verdicts
from sgi.kernel.protocols import Usage
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, JudgeServer, ServerReply, Supported, ask, error_reply, verdicts_reply

KEY = "sk-very-secret-0123456789"
SCHEMA = Verdicts[Supported]
TWO = verdicts_reply("yn")
pytestmark = pytest.mark.usefixtures("no_remote_settings")


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


# What goes well


def test_a_reply_is_held_to_a_schema_with_one_verdict_for_each_item(key):
    with JudgeServer(replies=ServerReply(TWO), key=KEY) as server:
        judgement, usage = ask(server)
    assert judgement == [True, False]
    assert usage == Usage(calls=1, input_tokens=100, output_tokens=10, cost=None)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    expected = request.body["response_format"]["json_schema"]
    assert expected["strict"] is True
    items = expected["schema"]["properties"]["verdicts"]
    assert (items["minItems"], items["maxItems"]) == (2, 2)
    assert list(expected["schema"]["$defs"]["Supported"]["properties"]) == ["index", "reason", "supported"]
    facts = {name: request.body[name] for name in ("model", "temperature", "seed", "max_tokens")}
    assert facts == {"model": "m", "temperature": 0.0, "seed": 0, "max_tokens": 4096}
    assert request.system == PROMPT.system
    assert "[2 " in request.text


# What is repaired, once


UNFIT = {
    "no JSON": ("All of them are supported.", "has no JSON object"),
    "empty": ("", "is empty"),
    "NaN": (TWO.replace("true", "NaN"), "NaN, which is not a number"),
    "too few verdicts": (verdicts_reply("y"), "entries without a verdict: 2"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_is_unfit_is_shown_once_with_what_is_wrong(name):
    reply, problem = UNFIT[name]
    with JudgeServer([ServerReply(reply)], ServerReply(TWO)) as server:
        judgement, usage = ask(server)
    assert judgement == [True, False]
    assert usage.calls == 2
    last = server.requests[1].body["messages"]
    assert problem in last[-1]["content"]
    replies = [message["content"] for message in last if message["role"] == "assistant"]
    assert replies == ([reply] if reply and reply.strip() else [])


@pytest.mark.parametrize("name", UNFIT)
def test_what_stays_unfit_has_no_value_but_a_reason(name):
    reply, problem = UNFIT[name]
    with JudgeServer(replies=ServerReply(reply)) as server:
        error, usage = ask(server)
    assert isinstance(error, JudgeMalformedError)
    assert problem in str(error)
    assert error.text == (reply or "")
    assert usage.calls == len(server.requests) == 2


# What is told apart, and not repaired


# Secrets


def test_the_key_is_told_nowhere(key, caplog, capfd, tmp_path):
    caplog.set_level(logging.DEBUG)
    cassette = tmp_path / "cassette.jsonl"
    cache = MemoryCache()
    for says in (
        error_reply(400, f"bad request with {KEY}"),
        error_reply(401, KEY),
        ServerReply(body=KEY.encode()),
        ServerReply("no"),
    ):
        with JudgeServer(replies=says) as server:
            error, _ = ask(server, cache=cache, options={"record": cassette})
        cassette_text = cassette.read_text()
        cassette.unlink()
        trace = "".join(traceback.format_exception(error))
        texts = [str(error), repr(error), repr(vars(error)), trace, cassette_text, repr(cache._values)]
        assert KEY not in "\n".join(texts)
    assert KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())


# What it costs


COST = 0.0023


@pytest.mark.parametrize("limit", [0.1, 0.02, 0.3])
def test_spending_stops_before_the_limit_loses_nothing_and_goes_on_from_the_cache(limit):
    cache = MemoryCache()

    async def work(max_cost):
        spec = JudgeSpec(
            model=f"openai:m@{server.url}",
            input_price=1.0,
            output_price=10.0,
            max_cost=max_cost,
            concurrency=16,
        )
        async with open_judge(spec, cache) as judge:
            # As an evaluation asks: the first exception stops all the others.
            with suppress(BaseExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    for n in range(200):
                        group.create_task(judge.ask(PROMPT.about(claims=(str(n),)), SCHEMA))
            return judge.usage

    with JudgeServer(replies=ServerReply(verdicts_reply("y"), usage=(300, 200), delay=0.005)) as server:
        usage = asyncio.run(work(limit))
        assert usage.calls == len(server.requests) == len(cache._values)
        assert limit - 2 * COST <= usage.cost <= limit
        later = asyncio.run(work(1.0))
        assert (later.calls, later.cached) == (200 - usage.calls, usage.calls)
        assert len(server.requests) == 200


# Cassettes


def test_a_recorded_run_is_replayed_without_a_server(tmp_path):
    file = tmp_path / "cassette.jsonl"
    with JudgeServer([ServerReply("nonsense")], ServerReply(TWO)) as server:
        cache = MemoryCache()
        ask(server, cache=cache)
        judgement, _ = ask(server, cache=cache, options={"record": file})  # from the cache, and recorded
        assert len(server.requests) == 2
    replayed, usage = ask(server, options={"replay": file})
    assert replayed == judgement == [True, False]
    assert usage == Usage(cached=2)
    error, _ = ask(server, "another", options={"replay": file})
    assert isinstance(error, JudgeError)
    assert f"The cassette {file} does not contain this call" in str(error)


@pytest.mark.parametrize("takes", [1, 2, 3])
@pytest.mark.parametrize("last", [TWO, "nonsense", "I am sorry, no.", None])
def test_what_was_asked_anew_is_replayed_as_often_and_ends_the_same(tmp_path, takes, last):
    file, cache = tmp_path / "cassette.jsonl", MemoryCache()
    with JudgeServer(replies=ServerReply("rubbish")) as server:
        for _ in range(takes - 1):
            ask(server, cache=cache, options={"again": True})
        server._replies = error_reply(400, "The request is too odd") if last is None else ServerReply(last)
        judgement, _ = ask(server, cache=cache, options={"again": True, "record": file})
    replayed, usage = ask(server, options={"replay": file})
    assert str(replayed) == str(judgement)
    assert type(replayed) is type(judgement)
    assert usage.calls == 0


def test_a_cassette_is_not_recorded_and_replayed_at_once(tmp_path):
    with JudgeServer() as server, pytest.raises(UsageError, match="cannot be used together"):
        ask(server, options={"record": tmp_path / "a", "replay": tmp_path / "b"})
