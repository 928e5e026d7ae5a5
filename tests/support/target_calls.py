"""Questions to a target over HTTP."""

from typing import Any

import anyio
import pytest

from sgi.kernel.errors import TargetError
from sgi.kernel.protocols import Reply, Target
from sgi.target import TargetSpec
from sgi.target.http import open_http
from support.target_server import TargetReply, TargetServer

PRIVATE = 's3cr3t/va lue+"x"'
HEADERS = {"Authorization": "Bearer ${RAG_TEST_KEY}"}


def ask(url: str, *questions: str, **settings: Any) -> list[Reply]:
    async def answers() -> list[Reply]:
        async with open_http(TargetSpec(where=url, **settings)) as target:
            assert isinstance(target, Target)
            return [await target.answer(question) for question in questions or ("Who?",)]

    return anyio.run(answers)


def failure(sent: TargetReply, **settings: Any) -> TargetError:
    """The error that a reply leads to."""
    with TargetServer([sent]) as server, pytest.raises(TargetError) as caught:
        ask(server.url, **settings)
    assert len(server.requests) == 1
    return caught.value
