"""What is counted, and where spending stops."""

from __future__ import annotations

import asyncio

import pytest

from sgi.judge.calls import Completion
from sgi.judge.metered import Metered
from sgi.judge.prices import Price
from sgi.judge.tally import Tally
from sgi.kernel.errors import BudgetSpent, JudgeUnavailable, UsageError
from sgi.kernel.ports import Usage
from support.judge_server import ScriptedChat, call

CENT = Completion("x", input_tokens=5000, output_tokens=5000)
PRICE = Price(1.0, 1.0)


def ask_all(metered, calls):
    async def work():
        asked = [metered.complete(call(str(number))) for number in range(calls)]
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(work())


def test_calls_tokens_and_cost_are_counted():
    tally = Tally()
    ask_all(Metered(ScriptedChat(CENT), tally, price=PRICE), 3)
    assert tally.usage == Usage(calls=3, input_tokens=15000, output_tokens=15000, cost=pytest.approx(0.03))


def test_without_a_price_the_cost_is_not_known():
    tally = Tally()
    ask_all(Metered(ScriptedChat(CENT), tally), 2)
    assert tally.usage.cost is None
    assert tally.usage.calls == 2


def test_a_call_without_an_answer_counts_nothing():
    tally = Tally()
    ask_all(Metered(ScriptedChat(lambda *_: JudgeUnavailable("gone")), tally, price=PRICE), 2)
    assert tally.usage == Usage()


def test_no_more_is_spent_than_may_be_whatever_is_in_flight():
    chat, tally = ScriptedChat(CENT, pause=0.001), Tally()
    replies = ask_all(Metered(chat, tally, price=PRICE, max_cost=0.055), 50)
    assert len(chat.calls) == 5
    assert tally.usage.cost == pytest.approx(0.05)
    errors = [reply for reply in replies if isinstance(reply, BudgetSpent)]
    assert len(errors) == 45
    # The others stop while five are in flight, so they name what had been paid by then.
    assert "one more call could pass $0.055" in str(errors[-1])
    assert "max_cost" in str(errors[-1])


def test_nothing_is_known_before_the_first_answer_so_it_is_awaited():
    chat = ScriptedChat(CENT, pause=0.01)
    ask_all(Metered(chat, Tally(), price=PRICE, max_cost=0.015), 9)
    assert len(chat.calls) == 1


def test_a_first_call_that_fails_lets_the_next_try():
    chat = ScriptedChat(lambda _, before: JudgeUnavailable("gone") if not before else CENT, pause=0.01)
    replies = ask_all(Metered(chat, Tally(), price=PRICE, max_cost=1.0), 5)
    assert len(chat.calls) == 5
    assert sum(isinstance(reply, Completion) for reply in replies) == 4


def test_what_is_sent_first_must_be_affordable():
    chat = ScriptedChat(CENT)
    (error,) = ask_all(Metered(chat, Tally(), price=Price(1e6, 0.0), max_cost=0.5), 1)
    assert isinstance(error, BudgetSpent)
    assert not chat.calls


def test_a_limit_without_a_price_is_no_limit():
    with pytest.raises(UsageError, match="what this judge costs is not known"):
        Metered(ScriptedChat(), Tally(), max_cost=1.0)
