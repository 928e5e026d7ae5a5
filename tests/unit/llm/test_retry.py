"""Asked again where the fault may pass, within a deadline, and never after a final no."""

import asyncio
from functools import partial

import pytest

from sgi.kernel.errors import JudgeError, JudgeRejectedError, JudgeUnavailableError
from sgi.llm.calls import UsageCounter
from sgi.llm.retry import Limiter, RetryingChat
from support.clocked import run_with_fake_clock
from support.judge_server import ScriptedChat, call


def busy(after=0.0):
    return JudgeUnavailableError("It is busy.", retry_after=after, throttled=True, hint="Wait.")


def retrying(chat, *, retries=4, timeout=5.0, concurrency=8, rpm=None):
    counter = UsageCounter()
    limiter = Limiter(concurrency=concurrency, rpm=rpm)
    return RetryingChat(chat, limiter, counter, retries=retries, timeout=timeout), counter


def test_a_fault_that_passes():
    chat = ScriptedChat(lambda _, before: busy() if before < 3 else "x")
    wrapped, counter = retrying(chat)
    assert asyncio.run(wrapped.complete(call())).text == "x"
    assert (len(chat.calls), counter.usage.retries) == (4, 3)


def test_a_fault_that_stays_is_told_with_its_hint_and_number_of_tries():
    chat = ScriptedChat(lambda *_: busy())
    wrapped, counter = retrying(chat, retries=2)
    with pytest.raises(JudgeUnavailableError) as caught:
        asyncio.run(wrapped.complete(call()))
    assert str(caught.value) == "It is busy (after 3 tries). Wait."
    assert caught.value.throttled
    assert (len(chat.calls), counter.usage.retries) == (3, 2)


def test_without_a_time_to_wait_the_waits_are_random_and_bounded(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr("sgi.llm.retry.asyncio.sleep", sleep)
    chat = ScriptedChat(lambda *_: JudgeUnavailableError("gone"))
    chat.complete = _raising
    wrapped, _ = retrying(chat, retries=10, timeout=1e9)
    with pytest.raises(JudgeUnavailableError):
        asyncio.run(wrapped.complete(call()))
    bounds = [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert len(waits) == 10
    assert all(0 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert len(set(waits)) == 10


async def _raising(_):
    raise JudgeUnavailableError("gone")


def test_a_wait_the_service_asks_for_is_kept():
    chat = ScriptedChat(lambda _, before: JudgeUnavailableError("x", retry_after=3.5) if not before else "x")
    wrapped, _ = retrying(chat)

    async def timed():
        await wrapped.complete(call())
        return asyncio.get_running_loop().time()

    assert run_with_fake_clock(timed()) == 3.5


def test_the_deadline_holds_for_all_tries_together():
    async def ended():
        with pytest.raises(JudgeUnavailableError) as caught:
            await wrapped.complete(call())
        return str(caught.value), asyncio.get_running_loop().time()

    # A try takes 4 s and a wait 3 s: of the third try there is 1 s left.
    chat = ScriptedChat(lambda *_: busy(3), pause=4)
    wrapped, _ = retrying(chat, retries=20, timeout=15)
    message, seconds = run_with_fake_clock(ended())
    assert "did not answer within 15 s (after 3 tries)" in message
    assert (seconds, len(chat.calls)) == (15, 3)

    # No wait is begun that would not leave time for a try.
    chat = ScriptedChat(lambda *_: busy(3), pause=4)
    wrapped, _ = retrying(chat, retries=20, timeout=14)
    assert run_with_fake_clock(ended()) == ("It is busy (after 2 tries). Wait.", 11)

    slow = ScriptedChat("x", pause=500)
    wrapped, _ = retrying(slow, timeout=5, retries=0)
    message, seconds = run_with_fake_clock(ended())
    assert "did not answer within 5 s." in message
    assert (seconds, len(slow.calls)) == (5, 1)


def test_waiting_for_a_turn_is_not_counted():
    async def work():
        tasks = [wrapped.complete(call(str(n))) for n in range(8)]
        return await asyncio.gather(*tasks), asyncio.get_running_loop().time()

    wrapped, _ = retrying(ScriptedChat("x", pause=1), timeout=3, concurrency=1)
    replies, seconds = run_with_fake_clock(work())
    assert (len(replies), seconds) == (8, 8)


@pytest.mark.parametrize("error", [JudgeError("too long"), ValueError("a bug")])
def test_other_errors_are_not_tried_again(error):
    chat = ScriptedChat(lambda *_: error)
    wrapped, _ = retrying(chat)
    with pytest.raises(type(error), match=str(error)):
        asyncio.run(wrapped.complete(call()))
    assert len(chat.calls) == 1


REJECTED = partial(JudgeRejectedError, "It refused the key.", hint="Check it.")


def test_a_final_no_reaches_all_who_wait_for_a_turn_at_once():
    async def work():
        tasks = [wrapped.complete(call(str(n))) for n in range(256)]
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(JudgeRejectedError):
            await wrapped.complete(call("later"))
        return errors, asyncio.get_running_loop().time()

    chat = ScriptedChat(lambda *_: REJECTED(), pause=1)
    wrapped, _ = retrying(chat, rpm=10)
    errors, seconds = run_with_fake_clock(work())
    assert {str(error) for error in errors} == {"It refused the key. Check it."}
    assert (len(chat.calls), seconds) == (1, 1)


def test_a_final_no_is_tried_again_after_a_while_by_one():
    async def together():
        tasks = [wrapped.complete(call(str(n))) for n in range(5)]
        return [isinstance(end, Exception) for end in await asyncio.gather(*tasks, return_exceptions=True)]

    async def work():
        ends, calls = [], []
        for wait in (0, 29, 2, 29, 2, 0):
            await asyncio.sleep(wait)
            ends.append(sum(await together()))
            calls.append(len(chat.calls))
        return ends, calls

    chat = ScriptedChat(lambda _, before: REJECTED() if before < 2 else "x")
    wrapped, _ = retrying(chat, concurrency=1)
    ends, calls = run_with_fake_clock(work())
    # Seconds 0, 29, 31, 60, 62, 62: the third try is answered, and then all are sent.
    assert ends == [5, 5, 5, 5, 4, 0]
    assert calls == [1, 1, 2, 2, 3, 8]


def test_a_service_that_has_answered_may_turn_down_single_requests():
    chat = ScriptedChat(lambda _, before: JudgeRejectedError("flagged") if before in {1, 3} else "x")
    wrapped, _ = retrying(chat)

    async def ask():
        ends = []
        for number in range(6):
            try:
                ends.append((await wrapped.complete(call(str(number)))).text)
            except JudgeRejectedError:
                ends.append("no")
        return ends

    assert run_with_fake_clock(ask()) == ["x", "no", "x", "no", "x", "x"]
    assert len(chat.calls) == 6


def test_a_service_that_has_answered_is_believed_when_it_says_no_three_times_in_a_row():
    chat = ScriptedChat(lambda _, before: JudgeRejectedError("no more") if before else "x")
    wrapped, _ = retrying(chat)

    async def ask():
        await wrapped.complete(call("first"))
        for number in range(10):
            with pytest.raises(JudgeRejectedError, match="no more"):
                await wrapped.complete(call(str(number)))

    run_with_fake_clock(ask())
    assert len(chat.calls) == 4


def test_a_wait_longer_than_a_call_may_take_is_a_no_for_now_and_holds_nobody_up():
    chat = ScriptedChat(lambda *_: busy(86400))
    wrapped, _ = retrying(chat, timeout=5.0, concurrency=2)

    async def ask():
        ends = await asyncio.gather(
            *(wrapped.complete(call(str(number))) for number in range(50)), return_exceptions=True
        )
        return ends, asyncio.get_running_loop().time()

    ends, seconds = run_with_fake_clock(ask())
    assert {type(end) for end in ends} == {JudgeRejectedError}
    assert "requests a wait of 86400 s, longer than the timeout of 5 s" in str(ends[-1])
    assert seconds < 1
    assert len(chat.calls) <= 2
