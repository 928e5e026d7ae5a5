"""Models for tests: a server that speaks OpenAI's chat completions, with faults on demand, and a function."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import BudgetExceededError, JudgeError
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.llm.calls import Call, Completion, Message, Shape
from sgi.llm.load import open_judge
from sgi.llm.spec import JudgeSpec
from sgi.store.cache import MemoryCache
from support.loopback import Handler, LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sgi.kernel.protocols import Usage


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def system(self) -> str:
        return self._said("system")[0]

    @property
    def text(self) -> str:
        """The last thing the user said."""
        return self._said("user")[-1]

    def _said(self, role: str) -> list[str]:
        return [message["content"] for message in self.body["messages"] if message["role"] == role]


@dataclass(frozen=True)
class ServerReply:
    """What the model says, and how it comes."""

    content: str | None = ""
    finish: str | None = "stop"
    refusal: str | None = None
    status: int = 200
    body: bytes | None = None
    """Sent instead of a completion."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the answer."""
    trickle: float = 0.0
    """Seconds between two bytes of the body."""
    drop: bool = False
    """Break off in the middle of the body."""
    hang_up: bool = False
    """Break off before any answer."""
    usage: tuple[int, int] | None = (100, 10)
    """Tokens as the service counts them; None where it doesn't."""

    def sent(self, model: str) -> bytes:
        """The body of the answer."""
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        made: dict[str, Any] = {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "finish_reason": self.finish, "message": message}],
        }
        if self.usage is not None:
            sent, written = self.usage
            counts = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
            made["usage"] = counts
        return json.dumps(made).encode()


_NOTHING = ServerReply("{}")


def error_reply(status: int, message: str = "no", code: str | None = None, **headers: str) -> ServerReply:
    """An error as services send it."""
    error = {"error": {"message": message, "code": code, "type": None, "param": None}}
    return ServerReply(
        status=status,
        body=json.dumps(error).encode(),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


class JudgeServer(LoopbackServer):
    """Serves while it is open: ``with JudgeServer([fails(500)]) as server: … server.url … server.requests``.

    Args:
        plan: what the requests to come meet, in order.
        replies: what they meet after that: a reply, or what makes one of the request.
        key: the only key let in; None lets in any.
    """

    def __init__(
        self,
        plan: Iterable[ServerReply] = (),
        replies: Callable[[Request], ServerReply] | ServerReply = _NOTHING,
        *,
        key: str | None = None,
    ) -> None:
        super().__init__(_Handler, "/v1")
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._at_once = 0
        self._key = key
        self._plan = deque(plan)
        self._replies = replies

    def enter(self, request: Request) -> ServerReply:
        """Note a request; what it meets."""
        with self.lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            given = request.headers.get("api-key") or request.headers.get("authorization", "")
            if self._key is not None and given.removeprefix("Bearer ") != self._key:
                return error_reply(401, f"Incorrect API key provided: {given}", "invalid_api_key")
            if self._plan:
                return self._plan.popleft()
        return self._replies(request) if callable(self._replies) else self._replies

    def leave(self) -> None:
        with self.lock:
            self._at_once -= 1


class _Handler(Handler):
    def answer(self) -> None:
        owner = self.server.owner
        headers, body = self.received()
        says = owner.enter(Request(self.path, headers, body))
        owner.closing.wait(says.delay)
        owner.leave()
        if says.hang_up:
            self.close_connection = True
            return
        with suppress(ConnectionError):  # a client that has given up
            sent = says.sent(body.get("model", ""))
            self.send(says.status, sent, says.headers, drop=says.drop, trickle=says.trickle)


class ScriptedChat:
    """A model in this process: a function of the call gives the reply, or raises.

    Args:
        reply: a text, or what makes a completion, a text or an error of a call and how many came before.
        pause: seconds each reply takes.
    """

    fingerprint = "scripted"

    def __init__(self, reply: Any = "{}", *, pause: float = 0.0) -> None:
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._at_once = 0
        self._reply = reply
        self._pause = pause

    async def complete(self, call: Call, /) -> Completion:
        made = self._reply(call, len(self.calls)) if callable(self._reply) else self._reply
        self.calls.append(call)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(self._pause)
        finally:
            self._at_once -= 1
        if isinstance(made, Exception):
            raise made
        return made if isinstance(made, Completion) else Completion(made, input_tokens=100, output_tokens=10)


class Supported(Verdict):
    """A verdict as metrics want them: the reason first."""

    reason: str
    supported: bool


def verdicts_reply(supported: str, first: int = 1) -> str:
    """A reply with these verdicts, each y or n."""
    listed = [
        {"index": index, "reason": "so it says", "supported": letter == "y"}
        for index, letter in enumerate(supported, first)
    ]
    return json.dumps({"verdicts": listed})


EXAMPLE = Verdicts[Supported].model_validate_json(verdicts_reply("y"))
PROMPT = Prompt(
    "test.claims", "Judge each claim.", (Example({"claims": ("It rains.",)}, EXAMPLE),), items="claims"
)


def call(text: str = "who?", take: int = 1) -> Call:
    """A request."""
    return Call((Message("user", text),), Shape("Reply", '{"type": "object"}'), take)


def ask(
    server: Any, *claims: str, cache: Any = None, options: Any = None, **settings: Any
) -> tuple[Any, Usage]:
    """What the judge at the server makes of the claims, or the error; and its usage."""

    async def work() -> tuple[Any, Usage]:
        spec = JudgeSpec(model=f"openai:m@{server.url}", **{"timeout": 20.0, **settings})
        kept = MemoryCache() if cache is None else cache
        async with open_judge(spec, kept, **(options or {})) as judge:
            try:
                reply = await judge.ask(PROMPT.about(claims=claims or ("a", "b")), Verdicts[Supported])
            except (JudgeError, BudgetExceededError) as error:
                return error, judge.usage
            return [verdict.supported for verdict in reply.verdicts], judge.usage

    return asyncio.run(work())
