"""What a service can do wrong over real HTTP, and what is told of it."""

from __future__ import annotations

import asyncio
import json
import socket
from types import SimpleNamespace

import pytest

from sgi.kernel.errors import JudgeError, JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.prompts import Verdicts
from sgi.llm.load import open_judge
from sgi.llm.spec import JudgeSpec
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, JudgeServer, ServerReply, Supported, ask, error_reply, verdicts_reply

SCHEMA = Verdicts[Supported]
TWO = verdicts_reply("yn")
pytestmark = pytest.mark.usefixtures("no_remote_settings")

# Faults that may pass


@pytest.mark.parametrize(
    "fault",
    [
        error_reply(429, retry_after="0"),
        error_reply(429, retry_after_ms="1"),
        error_reply(500, retry_after="0"),
        ServerReply(TWO, drop=True),
    ],
)
def test_a_fault_that_passes_costs_a_retry(fault):
    with JudgeServer([fault], ServerReply(TWO)) as server:
        judgement, usage = ask(server)
    assert judgement == [True, False]
    assert (usage.calls, usage.retries, len(server.requests)) == (1, 1, 2)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (error_reply(429, retry_after="0"), "receives too many requests (429) (after 3 tries)"),
        (error_reply(500, retry_after="0"), "server error (500) (after 3 tries)"),
        (ServerReply(TWO, hang_up=True), "cannot be reached, or the connection was closed (after 3 tries)"),
    ],
)
def test_a_fault_that_stays_is_told_with_the_number_of_tries(fault, reason):
    with JudgeServer(replies=fault) as server:
        error, usage = ask(server, retries=2)
    assert isinstance(error, JudgeUnavailableError)
    assert reason in str(error)
    assert (usage.calls, usage.retries, len(server.requests)) == (0, 2, 3)


@pytest.mark.parametrize("slow", [ServerReply(TWO, delay=30), ServerReply(TWO, trickle=0.05)])
def test_a_slow_service_is_given_up_at_the_deadline(slow):
    with JudgeServer(replies=slow) as server:
        error, _ = ask(server, timeout=0.3)
    assert isinstance(error, JudgeUnavailableError)
    assert "within 0.3 s" in str(error) or "in time" in str(error)


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    error, _ = ask(SimpleNamespace(url=url), retries=0)
    assert isinstance(error, JudgeUnavailableError)
    assert "cannot be reached" in str(error)


# Faults that do not pass


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (error_reply(401, "bad key", "invalid_api_key"), "refused the key (401). Check OPENAI_API_KEY."),
        (error_reply(403), "refused the key (403)"),
        (
            error_reply(404, "no such model", "model_not_found"),
            "does not exist (404). Check the model's name",
        ),
        (error_reply(402), "quota is used up (402)"),
        (error_reply(429, "You exceeded your quota", "insufficient_quota"), "quota is used up (429)"),
    ],
)
def test_a_service_that_takes_no_request_is_asked_once_for_all_inquiries(fault, reason):
    async def work():
        async with open_judge(
            JudgeSpec(model=f"openai:m@{server.url}", concurrency=1), MemoryCache()
        ) as judge:
            tasks = [judge.ask(PROMPT.about(claims=(str(n),)), SCHEMA) for n in range(5)]
            return await asyncio.gather(*tasks, return_exceptions=True)

    with JudgeServer(replies=fault) as server:
        errors = asyncio.run(work())
    assert all(isinstance(error, JudgeRejectedError) for error in errors)
    assert {str(error) for error in errors} == {str(errors[0])}
    assert reason in str(errors[0])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            error_reply(
                400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"
            ),
            "too long for the model",
        ),
        (error_reply(400, "something\x1b[31m else"), "rejected the request (400): something [31m else"),
        (error_reply(422, "x" * 5000), "rejected the request (422): xxx"),
        (ServerReply(body=b"<html>It works!</html>"), "other than a chat completion"),
        (ServerReply(body=b'{"choices": []}'), "other than a chat completion"),
        (ServerReply(body=b"\xff\xfe"), "other than a chat completion"),
    ],
)
def test_a_request_that_is_not_taken_fails_alone(fault, reason):
    with JudgeServer(replies=fault) as server:
        error, usage = ask(server)
    assert isinstance(error, JudgeError)
    assert not isinstance(error, JudgeUnavailableError | JudgeRejectedError)
    assert reason in str(error)
    assert len(str(error)) < 600
    assert usage.calls == 0
    assert len(server.requests) == 1


def test_a_service_that_has_no_schemas_is_told_of_them_from_then_on():
    def replies(request):
        if request.body.get("response_format", {}).get("type") == "json_schema":
            return error_reply(400, "response_format of type json_schema is not supported")
        return ServerReply(verdicts_reply("y"))

    async def work():
        async with open_judge(JudgeSpec(model=f"openai:m@{server.url}"), MemoryCache()) as judge:
            for claim in "abc":
                await judge.ask(PROMPT.about(claims=(claim,)), SCHEMA)

    with JudgeServer(replies=replies) as server:
        asyncio.run(work())
    formats = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", "json_object", "json_object"]
    assert '"supported"' in json.dumps(server.requests[1].body["messages"]).replace("\\", "")
