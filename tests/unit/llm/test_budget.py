"""What is counted, and where spending stops."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from sgi.kernel.errors import BudgetExceededError, JudgeUnavailableError, UsageError
from sgi.kernel.protocols import Usage
from sgi.llm import budget as metered
from sgi.llm.calls import Completion, Price, UsageCounter
from sgi.llm.retry import Limiter, RetryingChat
from support.clocked import run_with_fake_clock
from support.judge_server import ScriptedChat, call

CENT = Completion("x", input_tokens=5000, output_tokens=5000)
PRICE = Price(1.0, 1.0)
BudgetedChat = partial(metered.BudgetedChat, max_tokens=5000)


def ask_all(chat, calls):
    async def work():
        tasks = [chat.complete(call(str(number))) for number in range(calls)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    return run_with_fake_clock(work())


def test_calls_tokens_and_cost_are_counted():
    counter = UsageCounter()
    ask_all(BudgetedChat(ScriptedChat(CENT), counter, price=PRICE), 3)
    assert counter.usage == Usage(calls=3, input_tokens=15000, output_tokens=15000, cost=pytest.approx(0.03))


def test_a_call_without_an_answer_counts_nothing():
    counter = UsageCounter()
    ask_all(BudgetedChat(ScriptedChat(lambda *_: JudgeUnavailableError("gone")), counter, price=PRICE), 2)
    assert counter.usage == Usage()


@pytest.mark.parametrize(("limit", "most"), [(0.055, 5), (0.1, 10), (0.0301, 3), (5.0, 50)])
def test_no_more_is_spent_than_may_be_whatever_is_in_flight(limit, most):
    chat, counter = ScriptedChat(CENT, pause=1), UsageCounter()
    replies = ask_all(BudgetedChat(chat, counter, price=PRICE, max_cost=limit), 50)
    assert most - 1 <= len(chat.calls) == counter.usage.calls <= most
    errors = [reply for reply in replies if isinstance(reply, BudgetExceededError)]
    assert len(errors) == 50 - counter.usage.calls
    message = (
        f"The judge has cost ${counter.usage.cost:.4f}, and one more call could exceed the limit ${limit:g}."
    )
    assert all(str(error).startswith(message) for error in errors)


def test_far_from_the_limit_calls_are_made_at_once():
    async def work():
        tasks = [metered.complete(call(str(number))) for number in range(200)]
        await asyncio.gather(*tasks)
        return asyncio.get_running_loop().time()

    metered = BudgetedChat(ScriptedChat(CENT, pause=1), UsageCounter(), price=PRICE, max_cost=5.0)
    assert run_with_fake_clock(work()) == 2  # the first alone, then all


def test_nobody_hears_that_the_money_is_spent_while_a_call_is_in_flight():
    async def one(number):
        try:
            await metered.complete(call(str(number)))
        except BudgetExceededError:
            assert chat._at_once == 0

    async def work():
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(one(number))

    chat = ScriptedChat(CENT, pause=1)
    metered = BudgetedChat(chat, UsageCounter(), price=PRICE, max_cost=0.305)
    run_with_fake_clock(work())
    assert 29 <= len(chat.calls) <= 30
    assert chat.most_at_once > 10


@pytest.mark.parametrize("price", [Price(1.0, 0.0), Price(0.0, 1.0), Price(1.0, 1.0)])
def test_one_cheap_call_does_not_let_dear_ones_pass(price):
    long = "word " * 20_000

    def reply(request, before):
        del before
        return Completion("x", input_tokens=request.tokens, output_tokens=4000 if request.tokens > 100 else 1)

    async def work():
        tasks = [metered.complete(call(f"{number} {long if number else ''}")) for number in range(500)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    chat, counter = ScriptedChat(reply, pause=1), UsageCounter()
    metered = BudgetedChat(chat, counter, price=price, max_cost=0.2)
    run_with_fake_clock(work())
    dearest = price.of(call(f"499 {long}").tokens, 4000)
    assert counter.usage.calls == len(chat.calls)
    assert 0.2 - dearest <= counter.usage.cost <= 0.2 + dearest


def test_who_is_stopped_while_waiting_lets_the_next_one_in():
    async def work():
        first, second, third = [
            asyncio.create_task(metered.complete(call(str(number)))) for number in range(3)
        ]
        await asyncio.sleep(0.5)
        second.cancel()
        return await asyncio.gather(first, third)

    metered = BudgetedChat(ScriptedChat(CENT, pause=1), UsageCounter(), price=PRICE, max_cost=0.0301)
    assert run_with_fake_clock(work()) == [CENT, CENT]


def test_who_is_stopped_in_flight_sets_nothing_aside_any_more():
    async def work():
        tasks = [asyncio.create_task(metered.complete(call(str(number)))) for number in range(4)]
        await asyncio.sleep(1.5)
        for task in tasks[1:3]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return await metered.complete(call("last"))

    metered = BudgetedChat(ScriptedChat(CENT, pause=1), UsageCounter(), price=PRICE, max_cost=0.0401)
    assert run_with_fake_clock(work()) == CENT


def test_a_dead_service_is_found_dead_almost_as_soon_as_without_a_limit():
    async def seconds(limit):
        counter = UsageCounter()
        chat = ScriptedChat(lambda *_: JudgeUnavailableError("gone", retry_after=1), pause=1)
        tried = RetryingChat(chat, Limiter(concurrency=16), counter, retries=4, timeout=100)
        metered = BudgetedChat(tried, counter, price=PRICE, max_cost=limit)
        tasks = [metered.complete(call(str(number))) for number in range(256)]
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, JudgeUnavailableError) for end in ends)
        return asyncio.get_running_loop().time()

    without, within = run_with_fake_clock(seconds(None)), run_with_fake_clock(seconds(10.0))
    assert without < 100
    assert within <= without + 18  # the tries of one call take 9 s


def test_a_first_call_that_fails_lets_all_others_try():
    chat = ScriptedChat(lambda _, before: JudgeUnavailableError("gone") if not before else CENT, pause=1)
    replies = ask_all(BudgetedChat(chat, UsageCounter(), price=PRICE, max_cost=1.0), 5)
    assert len(chat.calls) == 5
    assert chat.most_at_once == 4
    assert sum(isinstance(reply, Completion) for reply in replies) == 4


def test_a_limit_without_a_price_is_no_limit():
    with pytest.raises(UsageError, match="the price of this judge is unknown"):
        BudgetedChat(ScriptedChat(), UsageCounter(), max_cost=1.0)


def test_after_the_money_is_spent_a_cheap_call_is_not_made_either():
    async def work():
        with pytest.raises(BudgetExceededError):
            await metered.complete(call("word " * 1_000_000))
        with pytest.raises(BudgetExceededError):
            await metered.complete(call("a"))

    chat = ScriptedChat(Completion("x"))
    metered = BudgetedChat(chat, UsageCounter(), price=PRICE, max_cost=1.0)
    run_with_fake_clock(work())
    assert not chat.calls


def test_the_limit_counts_earlier_attempts_and_requests_without_an_answer():
    def calls(earlier):
        chat, counter = ScriptedChat(CENT), UsageCounter()
        counter.store_with(lambda: None, earlier)
        ask_all(BudgetedChat(chat, counter, price=PRICE, max_cost=0.1), 50)
        return len(chat.calls)

    spent = Usage(calls=4, input_tokens=20_000, output_tokens=20_000, cost=0.04)
    assert calls(Usage()) == 10
    assert calls(spent) == 6
    assert calls(replace(spent, cost=None)) == 6
    assert calls(replace(spent, unanswered=2)) == 4
