"""What a service can do wrong over real HTTP, and what is told of it."""

import asyncio
import json
import socket
from types import SimpleNamespace

import pytest

from sgi.kernel.errors import JudgeError, JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.prompts import Verdicts
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, JudgeServer, ServerReply, Supported, ask, error_reply, verdicts_reply

SCHEMA = Verdicts[Supported]
TWO = verdicts_reply("yn")
pytestmark = pytest.mark.usefixtures("no_remote_settings")

# Faults that may pass


def in_200(error, place="error", **headers):
    """An error that a gateway sends with the status 200."""
    body = {"error": error} if place == "error" else {"choices": [{"error": error, "message": None}]}
    return ServerReply(body=json.dumps(body).encode(), headers=headers)


EMPTY = [
    ServerReply(body=body) for body in (b"{}", b'{"choices": null}', b'{"choices": []}', b'{"choices": [{}]}')
]


@pytest.mark.parametrize(
    "fault",
    [
        error_reply(429, retry_after="0"),
        error_reply(429, retry_after_ms="1"),
        error_reply(500, retry_after="0"),
        ServerReply(TWO, drop=True),
        in_200({"code": 429, "message": "Too Many Requests", "metadata": {"headers": {"Retry-After": "0"}}}),
        in_200({"code": "502", "message": "overloaded", "retry_after": 0}, "choice"),
        in_200({"code": "rate_limit_exceeded", "message": "slow down"}, **{"Retry-After": "0"}),
        in_200("upstream connect error"),
        ServerReply(TWO, finish="error"),
        *EMPTY,
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
        (error_reply(429, retry_after="0"), "receives too many requests (429): no (after 3 tries)"),
        (error_reply(500, retry_after="0"), "server error (500): no (after 3 tries)"),
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


@pytest.mark.parametrize(
    ("empty", "in_body"),
    [
        (ServerReply(body=b'{"message": {"content": "x"}, "type": "a"}'), "a reply without choices (after 2"),
        (ServerReply(body=b'{"msg": "busy", "choices": []}'), "server error (502): busy (after 2 tries)"),
        (EMPTY[2], "a reply without choices (after 2 tries)"),
        (
            in_200({"code": 503, "message": "No instances"}),
            "server error (503): No instances (after 2 tries)",
        ),
    ],
)
def test_a_reply_without_a_choice_fails_after_the_tries(empty, in_body):
    with JudgeServer(replies=empty) as server:
        error, _ = ask(server, retries=1)
    assert isinstance(error, JudgeUnavailableError)
    assert in_body in str(error)


def test_the_wait_in_an_error_with_status_200_is_kept():
    with JudgeServer(
        replies=in_200({"code": 429, "message": "no", "metadata": {"retry_after_seconds": 900}})
    ) as server:
        error, _ = ask(server)
    assert isinstance(error, JudgeRejectedError)
    assert "requests a wait of 900 s" in str(error)
    assert len(server.requests) == 1


# Faults that do not pass


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            error_reply(401, "bad key", "invalid_api_key"),
            "refused the key (401): bad key invalid_api_key. Check OPENAI_API_KEY.",
        ),
        (error_reply(403), "refused the key (403)"),
        (
            error_reply(404, "no such model", "model_not_found"),
            "does not exist (404): no such model model_not_found. Check the model's name",
        ),
        (error_reply(402), "quota is used up (402)"),
        (error_reply(429, "You exceeded your quota", "insufficient_quota"), "quota is used up (429)"),
        (error_reply(400, "Your credit balance is too low"), "used up (400): Your credit balance is too low"),
        (in_200({"code": 402, "message": "Insufficient balance"}), "used up (402): Insufficient balance"),
        (in_200({"code": "1113", "message": "余额不足"}), "quota is used up (402): 余额不足"),
        (in_200({"code": 401, "message": "No key sk-or-***12"}), "refused the key (401): No key ***. Check"),
        (in_200({"code": 403, "message": "Not in your region"}, "choice"), "(403): Not in your region"),
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
        (in_200({"code": 400, "message": "bad field"}), "rejected the request (400): bad field"),
        (in_200({"code": 403, "message": "Your input was flagged"}), "content filter"),
        (
            in_200({"code": 400, "message": "Provider returned error", "metadata": {"raw": "odd"}}),
            "error odd",
        ),
        (error_reply(422, "x" * 5000), "rejected the request (422): xxx"),
        (ServerReply(body=b"<html>It works!</html>"), "other than a chat completion"),
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
