import subprocess
import sys

import anyio
import pytest

from sgi.kernel.errors import TargetError
from sgi.kernel.protocols import Reply, Target
from sgi.kernel.sample_parts import NO_COSTS
from sgi.target import TargetSpec, open_target
from support.target_server import TargetReply, TargetServer


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def ask(question, **settings):
    async def run():
        async with open_target(TargetSpec(**settings)) as target:
            assert isinstance(target, Target)
            reply = await target.answer(question)
            assert reply.costs.latency_ms >= 0
            return target.fingerprint, reply._replace(costs=NO_COSTS)

    return anyio.run(run)


def test_a_function_is_opened_by_its_name():
    assert ask(" a ", where="textwrap:dedent") == ("python:textwrap:dedent", Reply("a "))


def test_a_service_is_opened_by_its_url_and_asked_again_where_that_helps():
    plan = [TargetReply(500), TargetReply(hang_up=True), TargetReply.of({}, 429, Retry_After="0")]
    with TargetServer(plan) as server:
        fingerprint, reply = ask("Who?", where=server.url, retries=3)
    assert (fingerprint, reply) == (f"http:{server.url}", Reply("Who?", ("a passage",)))
    assert [request.body for request in server.requests] == [{"question": "Who?"}] * 4


def test_no_secret_is_in_the_last_error_nor_in_its_causes(monkeypatch):
    monkeypatch.setenv("RAG_TEST_KEY", "s3cr3t")
    with TargetServer([TargetReply(503, b"s3cr3t")] * 2) as server, pytest.raises(TargetError) as caught:
        ask(
            "Who?",
            where=f"{server.url}?key=${{RAG_TEST_KEY}}",
            headers={"X-Key": "${RAG_TEST_KEY}"},
            retries=1,
        )
    error = caught.value
    while error is not None:
        assert "s3cr3t" not in str(error) + repr(error)
        error = error.__cause__ or error.__context__


def test_naming_a_target_loads_no_client():
    code = "import sys, sgi.target; sgi.target.TargetSpec(where='http://h/'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"anyio", "httpx2", "tenacity", "asyncio"}.isdisjoint(done.stdout.split())
