"""The judge of the pages: a server on this machine that takes the place of OpenAI, Ollama or a provider."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from support.batch_server import BatchServer
from support.judge_server import Request, ServerReply
from support.provider_server import PROVIDERS, ProviderServer

KEY = "sk-not-a-key-0123456789"


@contextmanager
def page_judge() -> Iterator[str]:
    """Serve inside the block; commands in this process use the server for OpenAI, with OpenAI's prices.

    OPENAI_BASE_URL would make the price unknown, and commands with ``--max-cost`` would stop.
    """
    with (
        BatchServer(example_reply) as server,
        patch.dict("sgi.kernel.environment._URLS", openai=server.url),
    ):
        yield server.url


@contextmanager
def page_provider(kind: str) -> Iterator[dict[str, str]]:
    """Serve as a provider inside the block; yields the environment variables of its user.

    As above, the usual address is replaced where there is one, so that the prices stay known.
    """
    provider = PROVIDERS[kind]

    def reply(request: Request) -> ServerReply:
        return provider.good(_example(request.body))

    with ProviderServer(provider, replies=reply) as server:
        variables = server.variables
        usual = {} if kind == "azure" else {kind: variables.pop(provider.address)}
        with patch.dict("sgi.kernel.environment._URLS", usual):
            yield variables


def example_reply(request: Request) -> ServerReply:
    """Return the reply of the first example in the request's instructions, with a verdict for each entry."""
    return ServerReply(_example(request.body))


def _example(body: Any) -> str:
    (found,) = filter(None, (re.search(r"^Reply:\n(.*)$", text, re.MULTILINE) for text in _texts(body)))
    reply = json.loads(found[1])
    if "verdicts" in reply:
        count = max(map(int, re.findall(r"minItems\W+(\d+)", json.dumps(body))))
        reply["verdicts"] = [reply["verdicts"][0] | {"index": index} for index in range(1, count + 1)]
    return json.dumps(reply)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in JSON: providers have the instructions in different places."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
