"""Judges that are asked in batches: each request is in one batch, whatever fails around it."""

import asyncio
from functools import partial
from typing import Any

import pytest
from openai import AsyncOpenAI

import sgi.llm.batch
from sgi.kernel.errors import BudgetExceededError, JudgeError, UsageError
from sgi.kernel.prompts import Verdicts
from sgi.llm.batch_ledger import BatchLedger, BatchRecord
from sgi.llm.batch_service import BatchService, BatchTimes
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache
from support.batch_server import BatchServer, Creation
from support.judge_server import PROMPT, Request, ServerReply, Supported, error_reply, verdicts_reply
from support.loopback import Delivery

pytestmark = pytest.mark.usefixtures("no_remote_settings", "no_proxies")

FAST = BatchTimes(quiet=0.05, first_poll=0.02, longest_poll=0.05, confirm=0.3, patience=2.0)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """Wait for fractions of a second."""
    monkeypatch.setattr(sgi.llm.batch, "batch_client", partial(sgi.llm.batch.batch_client, times=FAST))


def both(request: Request) -> ServerReply:
    return ServerReply(verdicts_reply("yn"))


def ask(server: BatchServer, *questions: str, cache: Any = None, **settings: Any) -> tuple[list[Any], Any]:
    """Ask about two claims for each question at once; return the verdicts or errors, and the usage."""

    async def work() -> tuple[list[Any], Any]:
        spec = JudgeSpec(model=f"openai:m@{server.url}", batch=True, **settings)
        async with open_judge(spec, MemoryCache() if cache is None else cache) as judge:

            async def one(question: str) -> Any:
                try:
                    inquiry = PROMPT.about(claims=(question, "b"))
                    reply = await judge.ask(inquiry, Verdicts[Supported])
                except (JudgeError, BudgetExceededError) as error:
                    return error
                return [verdict.supported for verdict in reply.verdicts]

            return await asyncio.gather(*map(one, questions)), judge.usage

    return asyncio.run(work())


def questions(count: int) -> list[str]:
    return [f"question {number}" for number in range(count)]


def test_all_requests_are_in_one_batch_and_each_gets_its_own_reply():
    def by_number(request: Request) -> ServerReply:
        return ServerReply(verdicts_reply("yn" if "question 7" in request.text else "ny"))

    with BatchServer(by_number) as server:
        verdicts, usage = ask(server, *questions(20))
    assert verdicts == [[number == 7, number != 7] for number in range(20)]
    assert (len(server.batches), len(server.billed), server.direct) == (1, 20, 0)
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (20, 2000, 200)
    (line, *_) = server.lines(server.batches[0].file)
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["response_format"]["type"] == "json_schema"


def test_cached_replies_are_in_no_batch():
    cache = MemoryCache()
    with BatchServer(both) as server:
        ask(server, *questions(3), cache=cache)
        verdicts, usage = ask(server, *questions(4), cache=cache)
    assert verdicts == [[True, False]] * 4
    assert (usage.calls, usage.cached) == (1, 3)
    assert [len(server.lines(batch.file)) for batch in server.batches] == [3, 1]


def test_an_invalid_reply_is_repaired_in_the_next_batch():
    def first_invalid(request: Request) -> ServerReply:
        return both(request) if len(request.body["messages"]) == 4 else ServerReply("nonsense")

    with BatchServer(first_invalid) as server:
        verdicts, usage = ask(server, *questions(3))
    assert verdicts == [[True, False]] * 3
    assert (len(server.batches), usage.calls) == (2, 6)


@pytest.mark.parametrize(
    "creation",
    [
        pytest.param(Creation(hang_up=True), id="created, and no answer"),
        pytest.param(Creation(status=500), id="created, and an error"),
        pytest.param(Creation(created=False, status=503), id="not created"),
    ],
)
def test_a_creation_without_confirmation_is_looked_up_in_the_list(creation):
    with BatchServer(both, plan=[creation]) as server:
        verdicts, _ = ask(server, *questions(3))
    assert verdicts == [[True, False]] * 3
    assert set(server.billed.values()) == {1}
    assert len(server.batches) == 1


def test_without_a_list_nothing_is_sent_again():
    cache = MemoryCache()
    with BatchServer(both, plan=[Creation(hang_up=True)], lists=False) as server:
        errors, _ = ask(server, *questions(2), cache=cache)
        again, _ = ask(server, *questions(2), cache=cache)
    assert all("does not list its batches" in str(error) for error in errors + again)
    assert [*server.billed.values()] == [1, 1]


def test_a_refused_batch_fails_with_the_reason_and_is_asked_again_later():
    refused = Creation(created=False, status=403, message="batches are not in your plan")
    cache = MemoryCache()
    with BatchServer(both, plan=[refused]) as server:
        errors, usage = ask(server, *questions(2), cache=cache)
        assert all("batches are not in your plan" in str(error) for error in errors)
        assert usage.calls == 0
        assert ask(server, *questions(2), cache=cache)[0] == [[True, False]] * 2


def test_requests_beyond_the_queue_of_the_service_are_sent_in_parts():
    with BatchServer(both, most=3) as server:
        verdicts, _ = ask(server, *questions(10))
    assert verdicts == [[True, False]] * 10
    assert set(server.billed.values()) == {1}
    sizes = [len(server.lines(batch.file)) for batch in server.batches if batch.status != "failed"]
    assert sum(sizes) == 10
    assert max(sizes) <= 3


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_replies_of_a_batch_that_ended_early_are_used_and_the_rest_fails(end):
    def half(lines: list[Any]) -> list[Any]:
        expired = {"response": None, "error": {"code": "batch_expired", "message": "late"}}
        return [lines[0], lines[1] | expired]

    cache = MemoryCache()
    with BatchServer(both, plan=[Creation(end=end)], change=half) as server:
        outcomes, usage = ask(server, *questions(3), cache=cache)
        assert [outcome for outcome in outcomes if isinstance(outcome, list)] == [[True, False]]
        errors = [outcome for outcome in outcomes if isinstance(outcome, JudgeError)]
        assert len(errors) == 2
        assert all(
            f"batch_1 {'was' if end == 'cancelled' else 'has'} {end}" in str(error) for error in errors
        )
        assert usage.calls == 1
        server.change = list
        assert ask(server, *questions(3), cache=cache)[0] == [[True, False]] * 3
    assert sorted(server.billed.values()) == [1, 2, 2]


def test_a_line_with_an_error_fails_only_its_request():
    def limited(request: Request) -> ServerReply:
        return error_reply(400, "the prompt is bad") if "question 1" in request.text else both(request)

    with BatchServer(limited) as server:
        first, second, third = ask(server, *questions(3))[0]
    assert first == third == [True, False]
    assert "the prompt is bad" in str(second)


def test_a_line_of_a_busy_service_joins_a_later_batch():
    seen: list[str] = []

    def busy_once(request: Request) -> ServerReply:
        seen.append(request.text)
        return error_reply(429, "slow down") if len(seen) == 1 else both(request)

    with BatchServer(busy_once) as server:
        verdicts, usage = ask(server, *questions(2))
    assert verdicts == [[True, False]] * 2
    assert (usage.calls, usage.retries, len(server.batches)) == (2, 1, 2)


def test_a_refused_parameter_is_left_out_of_the_next_batch():
    def no_temperature(request: Request) -> ServerReply:
        if "temperature" in request.body:
            return error_reply(400, "Unsupported parameter: 'temperature' is not supported")
        return both(request)

    with BatchServer(no_temperature) as server:
        verdicts, usage = ask(server, *questions(3))
    assert verdicts == [[True, False]] * 3
    assert (usage.calls, len(server.batches)) == (3, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda lines: lines[1:], "has no reply to this request", id="no line"),
        pytest.param(lambda lines: [*lines, lines[0]], "has two replies to this request", id="two lines"),
        pytest.param(lambda lines: [lines[0] | {"response": {"status_code": 200}}], "other", id="no body"),
        pytest.param(lambda lines: [lines[0] | {"response": "yes"}], "without a reply", id="no response"),
        pytest.param(
            lambda lines: [{**lines[0], "response": {"body": {"text": 1}}}],
            "without a status",
            id="no status",
        ),
        pytest.param(lambda _: [7, "x", None], "does not send all replies", id="other lines"),
    ],
)
def test_an_output_that_does_not_fit_fails_the_row_and_can_be_asked_again(change, reason):
    cache = MemoryCache()
    with BatchServer(both, change=change) as server:
        (error,), usage = ask(server, "q", cache=cache, retries=0)
        assert reason in str(error)
        assert usage.calls == 0
        server.change = list
        assert ask(server, "q", cache=cache)[0] == [[True, False]]


def test_what_a_service_does_not_show_at_once_is_waited_for():
    broken = [Delivery(drop=True), Delivery(drop=True)]
    with BatchServer(both, unknown=3, downloads=broken, plan=[Creation(end="COMPLETED")]) as server:
        verdicts, _ = ask(server, *questions(3))
    assert verdicts == [[True, False]] * 3
    assert set(server.billed.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param({"unknown": 10**6}, "does not have the batch batch_1", id="unknown batch"),
        pytest.param({"going": "COMPLETE?", "takes": 60}, "a state that SGI does not know", id="state"),
        pytest.param({"change": lambda _: ["text"]}, "does not send all replies", id="not JSON Lines"),
    ],
)
def test_requests_stay_in_a_batch_that_cannot_be_read_now(fault, reason):
    cache = MemoryCache()
    with BatchServer(both, **fault) as server:
        (error,), _ = ask(server, "q", cache=cache)
        assert reason in str(error)
        server.unknown, server.takes, server.change = 0, 0.0, list
        assert ask(server, "q", cache=cache)[0] == [[True, False]]
    assert [*server.billed.values()] == [1]


def test_the_ledger_has_the_time_of_each_creation_before_it_is_tried():
    """A process that is killed during a second creation must look for that one, too."""
    noted = []
    ledger = BatchLedger(MemoryCache())
    record = BatchRecord("file-1", 0.0)

    async def create(server: BatchServer) -> str:
        async with AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
            server.files["file-1"] = b'{"custom_id": "00"}'

            def note(found: BatchRecord) -> None:
                ledger.put(found, [b"\0"])
                noted.append((found.started, len(server.batches)))

            return await BatchService(client, "openai:m", FAST).create(record, note, sure=False)

    with BatchServer(both, plan=[Creation(created=False, status=503)]) as server:
        assert asyncio.run(create(server)) == "batch_1"
    (first, before), (second, later) = noted
    assert 0.0 < first < second
    assert (before, later) == (0, 0)


def test_an_asker_that_was_cancelled_and_asks_again_waits_for_the_same_request():
    async def work(server: BatchServer) -> list[bool]:
        spec = JudgeSpec(model=f"openai:m@{server.url}", batch=True)
        async with open_judge(spec, MemoryCache()) as judge:
            inquiry = PROMPT.about(claims=("q", "b"))
            first = asyncio.ensure_future(judge.ask(inquiry, Verdicts[Supported]))
            await asyncio.sleep(0.02)
            first.cancel()
            return [verdict.supported for verdict in (await judge.ask(inquiry, Verdicts[Supported])).verdicts]

    with BatchServer(both, takes=0.3) as server:
        assert asyncio.run(work(server)) == [True, False]
    assert [*server.billed.values()] == [1]


def test_an_id_that_could_change_the_terminal_is_refused():
    with BatchServer(both, plan=[Creation(id="batch\x1b[2J")]) as server:
        (error,), _ = ask(server, "q")
    assert "something other than the id" in str(error)


def test_the_cost_of_a_published_model_is_half(monkeypatch):
    from sgi.llm.calls import price_of

    normal, halved = (price_of(JudgeSpec(model="openai:gpt-4o-mini", batch=batch)) for batch in (False, True))
    assert halved.of(1000, 1000) == pytest.approx(normal.of(1000, 1000) / 2)


def test_a_cost_limit_stops_before_the_next_batch():
    with BatchServer(both) as server:
        outcomes, usage = ask(server, *questions(40), input_price=10, output_price=10, max_cost=0.02)
    assert any(isinstance(outcome, BudgetExceededError) for outcome in outcomes)
    assert usage.cost <= 0.02 + 0.0011


@pytest.mark.parametrize("kind", ["azure", "anthropic", "google", "ollama"])
def test_other_services_are_refused(kind):
    with pytest.raises(UsageError, match="does not support batches"):
        JudgeSpec(model=f"{kind}:m", batch=True)


def test_a_batch_of_a_process_that_stopped_is_read_and_not_sent_again():
    cache = MemoryCache()

    async def stop(server: BatchServer) -> None:
        spec = JudgeSpec(model=f"openai:m@{server.url}", batch=True)
        async with open_judge(spec, cache) as judge:
            inquiry = PROMPT.about(claims=("question 0", "b"))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(judge.ask(inquiry, Verdicts[Supported]), 0.4)

    with BatchServer(both, takes=1.0) as server:
        asyncio.run(stop(server))
        assert len(server.billed) == 1
        verdicts, usage = ask(server, *questions(2), cache=cache)
    assert verdicts == [[True, False]] * 2
    assert (set(server.billed.values()), usage.calls) == ({1}, 2)
