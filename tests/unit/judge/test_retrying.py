"""Asked again where the fault may pass, within a deadline, and never after a final no."""

from __future__ import annotations

import asyncio

import pytest

from sgi.judge.limits import Limiter
from sgi.judge.retrying import Retrying
from sgi.judge.tally import Tally
from sgi.kernel.errors import JudgeError, JudgeRejected, JudgeUnavailable
from support.judge_server import ScriptedChat, call


def busy(after=0.0):
    return JudgeUnavailable("It is busy.", retry_after=after, throttled=True, hint="Wait.")


def retrying(chat, *, retries=4, timeout=5.0, concurrency=8):
    tally = Tally()
    limiter = Limiter(concurrency=concurrency)
    return Retrying(chat, limiter, tally, retries=retries, timeout=timeout), tally


def test_a_fault_that_passes():
    chat = ScriptedChat(lambda _, before: busy() if before < 3 else "x")
    wrapped, tally = retrying(chat)
    assert asyncio.run(wrapped.complete(call())).text == "x"
    assert (len(chat.calls), tally.usage.retries) == (4, 3)


def test_a_fault_that_stays_is_told_with_its_hint_and_number_of_tries():
    chat = ScriptedChat(lambda *_: busy())
    wrapped, tally = retrying(chat, retries=2)
    with pytest.raises(JudgeUnavailable) as caught:
        asyncio.run(wrapped.complete(call()))
    assert str(caught.value) == "It is busy (after 3 tries). Wait."
    assert caught.value.throttled
    assert (len(chat.calls), tally.usage.retries) == (3, 2)


def test_without_a_time_to_wait_the_waits_are_random_and_bounded(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr("sgi.judge.retrying.asyncio.sleep", sleep)
    chat = ScriptedChat(lambda *_: JudgeUnavailable("gone"))
    chat.complete = _raising
    wrapped, _ = retrying(chat, retries=10, timeout=1e9)
    with pytest.raises(JudgeUnavailable):
        asyncio.run(wrapped.complete(call()))
    bounds = [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert len(waits) == 10
    assert all(0 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert len(set(waits)) == 10


async def _raising(_):
    raise JudgeUnavailable("gone")


def test_a_wait_the_service_asks_for_is_kept(monkeypatch):
    chat = ScriptedChat(lambda _, before: JudgeUnavailable("x", retry_after=0.2) if not before else "x")
    wrapped, _ = retrying(chat)

    async def timed():
        began = asyncio.get_running_loop().time()
        await wrapped.complete(call())
        return asyncio.get_running_loop().time() - began

    assert 0.2 <= asyncio.run(timed()) < 2


def test_the_deadline_holds_for_all_tries_together():
    chat = ScriptedChat(lambda *_: busy(0.05), pause=0.1)
    wrapped, _ = retrying(chat, retries=20, timeout=0.4)
    with pytest.raises(JudgeUnavailable):
        asyncio.run(wrapped.complete(call()))
    assert 2 <= len(chat.calls) <= 3

    slow = ScriptedChat("x", pause=5)
    wrapped, _ = retrying(slow, timeout=0.05)
    with pytest.raises(JudgeUnavailable, match=r"no answer within 0\.05 s"):
        asyncio.run(wrapped.complete(call()))
    assert len(slow.calls) == 1


def test_waiting_for_a_turn_is_not_counted():
    async def work():
        return await asyncio.gather(*[wrapped.complete(call(str(n))) for n in range(8)])

    chat = ScriptedChat("x", pause=0.1)
    wrapped, _ = retrying(chat, timeout=0.3, concurrency=1)
    assert len(asyncio.run(work())) == 8


@pytest.mark.parametrize("error", [JudgeError("too long"), ValueError("a bug")])
def test_other_errors_are_not_tried_again(error):
    chat = ScriptedChat(lambda *_: error)
    wrapped, _ = retrying(chat)
    with pytest.raises(type(error), match=str(error)):
        asyncio.run(wrapped.complete(call()))
    assert len(chat.calls) == 1


def test_after_a_final_no_nothing_more_is_sent():
    async def work():
        return await asyncio.gather(
            *[wrapped.complete(call(str(n))) for n in range(20)], return_exceptions=True
        )

    chat = ScriptedChat(lambda *_: JudgeRejected("It refused the key.", hint="Check it."), pause=0.01)
    wrapped, _ = retrying(chat, concurrency=2)
    errors = asyncio.run(work())
    assert {str(error) for error in errors} == {"It refused the key. Check it."}
    assert len(chat.calls) == 2  # those that were in flight
