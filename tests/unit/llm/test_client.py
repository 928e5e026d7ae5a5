"""The client on the wire: what it sends where, what it takes of an answer, and how it lets go."""

import asyncio
import gzip
import json
import time
import warnings
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import JudgeMalformedError, JudgeRejectedError, JudgeUnavailableError
from sgi.kernel.prompts import Verdicts
from sgi.llm.calls import Call, Message, Shape
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_chat, open_judge
from sgi.store.cache import MemoryCache
from support.judge_server import PROMPT, JudgeServer, Supported, call, verdicts_reply
from support.judge_wire import BODY, KEY, answer, complete
from support.wire import RawServer, serve

pytestmark = pytest.mark.usefixtures("no_remote_settings", "no_proxies")


# What is sent


def test_a_request_is_one_post_with_the_key_and_json():
    wire = RawServer(answer())
    complete(wire)
    (head,) = wire.heads
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    headers = dict(line.split(": ", 1) for line in head.lower().splitlines()[1:-1])
    assert headers["authorization"] == f"bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert "transfer-encoding" not in headers


def test_nothing_is_opened_before_the_first_request():
    async def work():
        async with serve(wire) as port, open_chat(JudgeSpec(model=f"openai:m@http://127.0.0.1:{port}/v1")):
            await asyncio.sleep(0.05)

    wire = RawServer(answer())
    asyncio.run(work())
    assert wire.connections == 0


def test_a_long_request_goes_whole_and_without_a_warning():
    text = "ä" * 2**20
    with JudgeServer() as server:

        async def work():
            async with open_chat(JudgeSpec(model=f"openai:m@{server.url}")) as chat:
                await chat.complete(Call((Message("user", text),), Shape("Reply", '{"type": "object"}'), 1))

        asyncio.run(work())
    assert server.requests[0].body["messages"][-1]["content"].endswith(text)


@pytest.mark.parametrize("name", ["org/my gpt?x#y", "ein-größeres", "a%2Fb"])
def test_a_deployment_stays_one_part_of_the_path(monkeypatch, name):
    with JudgeServer(key="k-1") as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k-1")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))

        async def work():
            async with open_chat(JudgeSpec(model=f"azure:{name.replace(' ', '+')}")) as chat:
                await chat.complete(call())

        asyncio.run(work())
    path, _, query = server.requests[0].path.partition("?")
    assert path.startswith("/openai/deployments/")
    assert path.count("/") == 5
    assert query == "api-version=2024-10-21"


# Connections


def test_one_connection_serves_calls_in_turn_and_is_closed_with_the_judge():
    wire = RawServer(answer())
    complete(wire, *[call(str(number)) for number in range(5)])
    assert (len(wire.heads), wire.connections) == (5, 1)


def test_connections_are_as_many_as_calls_at_once_and_none_stays():
    async def slowly(writer):
        await asyncio.sleep(0.05)
        writer.write(answer())

    async def work():
        async with serve(wire) as port:
            async with open_chat(
                JudgeSpec(model=f"openai:m@http://127.0.0.1:{port}/v1", concurrency=3)
            ) as chat:
                # Nothing but the client limits these.
                await asyncio.gather(*[chat.complete(call(str(number))) for number in range(12)])
            await asyncio.sleep(0.05)
            return wire.open

    wire = RawServer(then=slowly)
    assert asyncio.run(work()) == 0
    assert (len(wire.heads), wire.connections) == (12, 3)


def test_a_connection_the_server_closed_while_idle_is_replaced():
    async def once(writer):
        writer.write(answer())
        await writer.drain()
        writer.close()

    wire = RawServer(then=once)
    complete(wire, call("a"), call("b"), pause=0.1)
    assert (len(wire.heads), wire.connections) == (2, 2)


def test_a_connection_closed_under_a_request_costs_a_try_and_no_reply():
    replies = [answer(), None, answer()]

    async def next_of(writer):
        reply = replies.pop(0)
        if reply is None:
            writer.close()
        else:
            writer.write(reply)

    async def work():
        async with serve(wire) as port:
            spec = JudgeSpec(model=f"openai:m@http://127.0.0.1:{port}/v1", concurrency=1)
            async with open_judge(spec, MemoryCache()) as judge:
                for claim in "ab":
                    await judge.ask(PROMPT.about(claims=(claim,)), Verdicts[Supported])
                return judge.usage

    wire = RawServer(then=next_of)
    usage = asyncio.run(work())
    assert (usage.calls, usage.retries, len(wire.heads), wire.connections) == (2, 1, 3, 2)


def test_a_call_given_up_leaves_nothing_open():
    async def never(_):
        await asyncio.sleep(30)

    async def work():
        async with serve(wire) as port:
            async with open_chat(JudgeSpec(model=f"openai:m@http://127.0.0.1:{port}/v1")) as chat:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await chat.complete(call())
            await asyncio.sleep(0.05)

    wire = RawServer(then=never)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(work())
    assert len(wire.heads) == 1


def test_a_silent_server_is_told_as_silent():
    async def never(_):
        await asyncio.sleep(30)

    began = time.monotonic()
    with pytest.raises(JudgeUnavailableError, match="did not answer in time"):
        complete(RawServer(then=never), timeout=0.2)
    assert time.monotonic() - began < 25


# What comes back


def test_a_packed_reply_is_unpacked():
    packed = answer(gzip.compress(BODY), "Content-Encoding: gzip\r\n")
    assert json.loads(complete(RawServer(packed)).text) == json.loads(verdicts_reply("y"))


def test_a_packed_error_is_read():
    body = gzip.compress(b'{"error": {"message": "no such thing", "code": "x"}}')
    with pytest.raises(Exception, match=r"rejected the request \(400\): no such thing x"):
        complete(RawServer(answer(body, "Content-Encoding: gzip\r\nX-Odd: \xe9\r\n", "400 Bad Request")))


def test_a_reply_without_end_is_left():
    part = b" " * 2**20
    chunks = []

    async def endlessly(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(64):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            chunks.append(len(part))

    with pytest.raises(JudgeMalformedError, match="sent more than 16,777,216 bytes"):
        complete(RawServer(then=endlessly))
    assert len(chunks) < 40


@pytest.mark.parametrize("packed", [False, True])
def test_an_error_with_an_endless_body_is_told_by_its_status(packed):
    body = b'{"error": "' + b"x" * (17 * 2**20)
    content = gzip.compress(body) if packed else body
    head = "Content-Encoding: gzip\r\n" if packed else ""
    with pytest.raises(JudgeUnavailableError, match=r"server error \(500\)"):
        complete(RawServer(answer(content, head, "500 Internal Server Error")))


@pytest.mark.parametrize("closes", [True, False])
def test_an_error_whose_body_does_not_end_is_reported_by_its_status(closes):
    async def write_half(writer):
        writer.write(b'HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\n{"error"')
        if closes:
            writer.close()

    with pytest.raises(JudgeRejectedError, match=r"refused the key \(401\)"):
        complete(RawServer(then=write_half), timeout=1)


@pytest.mark.parametrize("packed", [False, True])
def test_what_counts_of_a_long_reply_is_its_length_unpacked(packed, monkeypatch):
    monkeypatch.setattr("sgi.llm.client._MAX_REPLY", 5000)

    def padded(length):
        body = BODY.ljust(length)
        return answer(gzip.compress(body), "Content-Encoding: gzip\r\n") if packed else answer(body)

    assert complete(RawServer(padded(5000))).text
    with pytest.raises(JudgeMalformedError, match="sent more than 5,000 bytes"):
        complete(RawServer(padded(5001)))


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10**6 + b"\r\n\r\n",
        answer(b"this is not gzip", "Content-Encoding: gzip\r\n"),
    ],
)
def test_what_is_no_http_is_a_broken_connection(reply):
    async def and_close(writer):
        writer.write(reply)
        writer.close()

    with pytest.raises(
        JudgeUnavailableError, match="cannot be reached, or the connection was closed"
    ) as caught:
        complete(RawServer(then=and_close))
    assert caught.value.__cause__ is None
    assert KEY not in str(caught.value)


@given(reply=st.binary(max_size=60), status=st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", answer(b"{")]))
def test_any_bytes_end_in_an_error_of_ours(reply, status):
    async def and_close(writer):
        writer.write(status + reply)
        writer.close()

    with pytest.raises((JudgeUnavailableError, JudgeMalformedError)):
        complete(RawServer(then=and_close), url="http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("a date", 3000.0),
        ("soon", None),
    ],
)
def test_the_time_to_wait_is_read_in_both_forms(header, seconds):
    if header == "a date":  # of now, not of when the tests were collected
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=3000), usegmt=True)
    wire = RawServer(answer(b"{}", f"Retry-After: {header}\r\n", "429 Too Many Requests"))
    with pytest.raises(JudgeUnavailableError) as caught:
        complete(wire)
    assert caught.value.throttled
    assert caught.value.retry_after == (None if seconds is None else pytest.approx(seconds, abs=100))


def test_no_cookie_is_sent_back():
    wire = RawServer(answer(head="Set-Cookie: a=1\r\n"))
    complete(wire, call("a"), call("b"), url="http://localhost:{port}/v1")  # jars keep none of an IP address
    assert len(wire.heads) == 2
    assert not any("cookie" in head.lower() for head in wire.heads)
