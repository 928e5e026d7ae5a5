"""Calls of a judge to a server that replies with given bytes."""

import asyncio
from ssl import SSLContext
from typing import Any

from sgi.llm.calls import Call, Completion
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_chat
from support.judge_server import ServerReply, call, verdicts_reply
from support.wire import RawServer, serve

KEY = "sk-very-secret-0123456789"
BODY = ServerReply(verdicts_reply("y")).to_bytes("m")


def answer(body: bytes = BODY, head: str = "", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def complete(
    wire: RawServer,
    *calls: Call,
    url: str = "http://127.0.0.1:{port}/v1",
    kind: str = "openai",
    context: SSLContext | None = None,
    pause: float = 0.0,
    **settings: Any,
) -> Completion:
    """What the model at a server that says these bytes replies to calls one after the other, or the error."""

    async def work() -> Completion:
        async with serve(wire, context) as port:
            spec = JudgeSpec(model=f"{kind}:m@{url.format(port=port)}", **{"timeout": 20, **settings})
            async with open_chat(spec) as chat:
                for number, one_call in enumerate(calls or (call(),)):
                    await asyncio.sleep(pause if number else 0)
                    completion = await chat.complete(one_call)
            return completion

    return asyncio.run(work())
