"""Models for tests: a local server with OpenAI's chat completions that injects faults, and a function."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sgi.kernel.errors import BudgetExceededError, JudgeError
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.kernel.protocols import Usage
from sgi.llm.calls import Call, Completion, Message, Shape
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache
from support import loopback
from support.loopback import Delivery, Handler, LoopbackServer


class Request(loopback.Request):
    """A received request for a completion."""

    @property
    def system(self) -> str:
        return self._contents("system")[0]

    @property
    def text(self) -> str:
        """The last message of the user."""
        return self._contents("user")[-1]

    def _contents(self, role: str) -> list[str]:
        return [message["content"] for message in self.body["messages"] if message["role"] == role]


@dataclass(frozen=True)
class ServerReply(Delivery):
    """A reply of the server, and the fault with which it is sent."""

    content: str | None = ""
    finish: str | None = "stop"
    refusal: str | None = None
    status: int = 200
    body: bytes | None = None
    """Sent instead of a completion."""
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = (100, 10)
    """Input and output tokens in the reply; None if the service sends none."""

    def to_bytes(self, model: str) -> bytes:
        """The body of the answer."""
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        completion: dict[str, Any] = {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "finish_reason": self.finish, "message": message}],
        }
        if self.usage is not None:
            read, written = self.usage
            counts = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
            completion["usage"] = counts
        return json.dumps(completion).encode()


_NOTHING = ServerReply("{}")


def error_reply(status: int, message: str = "no", code: str | None = None, **headers: str) -> ServerReply:
    """An error in the form of OpenAI's API."""
    error = {"error": {"message": message, "code": code, "type": None, "param": None}}
    return ServerReply(
        status=status,
        body=json.dumps(error).encode(),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


class JudgeServer(LoopbackServer):
    """Serves inside its block: ``with JudgeServer([fails(500)]) as server: … server.url … server.requests``.

    Args:
        plan: replies to the first requests, in order.
        replies: the reply to later requests, or a function that makes it from the request.
        key: the only accepted key; None accepts any.
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
        self._key = key
        self._plan = deque(plan)
        self._replies = replies

    def enter(self, request: Request) -> ServerReply:
        """Record a request, and return its reply."""
        with self.lock:
            self.requests.append(request)
            header = request.headers.get("api-key") or request.headers.get("authorization", "")
            if self._key is not None and header.removeprefix("Bearer ") != self._key:
                return error_reply(401, f"Incorrect API key provided: {header}", "invalid_api_key")
            if self._plan:
                return self._plan.popleft()
        return self._replies(request) if callable(self._replies) else self._replies


class _Handler(Handler):
    def answer(self) -> None:
        request = Request(**vars(self.read_request()))
        reply = self.server.owner.enter(request)
        self.send(reply.status, reply.to_bytes(request.body.get("model", "")), reply.headers, reply)


class ScriptedChat:
    """A model in this process that replies with a fixed text or the result of a function.

    Args:
        reply: a text, or a function of the call and the number of earlier calls. It returns a completion,
            a text or an exception to raise.
        pause: seconds that each reply takes.
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
    """A verdict in the form of judged metrics: the reason comes first."""

    reason: str
    supported: bool


def verdicts_reply(supported: str, first: int = 1) -> str:
    """A reply with these verdicts, such as ``"yyn"``."""
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
    """Ask the judge at the server about claims; return its verdicts or the error, and the usage."""

    async def work() -> tuple[Any, Usage]:
        spec = JudgeSpec(**{"model": f"openai:m@{server.url}", "timeout": 20.0, **settings})
        reply_cache = MemoryCache() if cache is None else cache
        async with open_judge(spec, reply_cache, **(options or {})) as judge:
            try:
                reply = await judge.ask(PROMPT.about(claims=claims or ("a", "b")), Verdicts[Supported])
            except (JudgeError, BudgetExceededError) as error:
                return error, judge.usage
            return [verdict.supported for verdict in reply.verdicts], judge.usage

    return asyncio.run(work())
