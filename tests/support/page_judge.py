"""The judge of the pages: a server on this machine that takes the place of OpenAI and Ollama."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from support.batch_server import BatchServer
from support.judge_server import Request, ServerReply

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def example_reply(request: Request) -> ServerReply:
    """Return the reply of the first example in the request's instructions, with a verdict for each entry."""
    found = re.search(r"^Reply:\n(.*)$", request.system, re.MULTILINE)
    assert found, request.system
    reply = json.loads(found[1])
    if "verdicts" in reply:
        count = request.body["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["minItems"]
        reply["verdicts"] = [reply["verdicts"][0] | {"index": index} for index in range(1, count + 1)]
    return ServerReply(json.dumps(reply))
