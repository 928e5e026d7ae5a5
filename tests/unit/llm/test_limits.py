"""Turns: how many at once, in which order, how many a minute, and less when the service says so."""

import asyncio

import pytest

from sgi.kernel.errors import JudgeRejectedError, JudgeUnavailableError
from sgi.llm.retry import Limiter
from support.clocked import run_with_fake_clock


async def starts(limiter, sizes, *, seconds=0.0):
    """When each turn began."""
    began = {}

    async def one(number, tokens):
        async with limiter.slot(tokens):
            began[number] = asyncio.get_running_loop().time()
            await asyncio.sleep(seconds)

    await asyncio.gather(*[one(number, tokens) for number, tokens in enumerate(sizes)])
    assert list(began) == sorted(began)
    return list(began.values())


def test_as_many_at_once_as_allowed_in_order():
    began = run_with_fake_clock(starts(Limiter(concurrency=3), [1] * 7, seconds=10))
    assert began == [*[0] * 3, *[10] * 3, 20]


def test_requests_a_minute_are_spaced_evenly():
    assert run_with_fake_clock(starts(Limiter(concurrency=9, rpm=30), [1] * 5)) == [0, 2, 4, 6, 8]


def test_tokens_a_minute_count_what_is_sent_and_what_is_written():
    limiter = Limiter(concurrency=9, tpm=600)
    assert run_with_fake_clock(starts(limiter, [100, 50, 10, 1])) == pytest.approx([0, 10, 15, 16])

    async def work():
        async with limiter.slot(10):
            limiter.count_output(90)
        async with limiter.slot(1):
            return asyncio.get_running_loop().time()

    limiter = Limiter(concurrency=9, tpm=600)
    assert run_with_fake_clock(work()) == pytest.approx(10)


def test_no_token_limit_is_passed_over_a_long_run():
    limiter = Limiter(concurrency=50, tpm=6000)
    began = run_with_fake_clock(starts(limiter, [37] * 400, seconds=3))
    for start in range(0, 140, 7):
        assert sum(37 for time in began if start <= time < start + 60) <= 6000 + 37


async def throttled(limiter, retry_after=None):
    async with limiter.slot(1):
        await asyncio.sleep(0)
        raise JudgeUnavailableError("busy", retry_after=retry_after, throttled=True)


def test_a_busy_service_is_asked_half_as_much_and_not_before_its_time():
    async def work():
        limiter = Limiter(concurrency=16)
        await asyncio.gather(*[throttled(limiter, 5) for _ in range(16)], return_exceptions=True)
        halved = limiter.allowed
        began = await starts(limiter, [1] * 8, seconds=1)
        after = limiter.allowed
        await starts(limiter, [1] * 500)
        return halved, began, after, limiter.allowed

    halved, began, after, recovered = run_with_fake_clock(work())
    assert halved == 8  # once, though sixteen were told
    assert began == [5] * 8
    assert 8.9 < after < 9.1
    assert recovered == 16


def test_one_turn_is_always_allowed():
    async def work():
        limiter = Limiter(concurrency=4)
        for _ in range(9):
            with pytest.raises(JudgeUnavailableError):
                await throttled(limiter)
        return limiter.allowed, asyncio.get_running_loop().time()

    assert run_with_fake_clock(work()) == (1.0, 8.0)


def test_a_service_out_of_order_is_not_asked_less():
    async def work():
        limiter = Limiter(concurrency=4)
        with pytest.raises(JudgeUnavailableError):
            async with limiter.slot(1):
                raise JudgeUnavailableError("out of order", retry_after=9)
        return limiter.allowed, await starts(limiter, [1])

    assert run_with_fake_clock(work()) == (4.0, [0])


def test_who_had_a_turn_goes_first():
    async def work():
        limiter, order = Limiter(concurrency=1), []

        async def one(name, *, retry=False):
            async with limiter.slot(1, retry=retry):
                order.append(name)
                await asyncio.sleep(1)

        retry = [one(name, retry=True) for name in ("r1", "r2", "r3")]
        await asyncio.gather(one("a"), one("b"), one("c"), *retry)
        return order

    assert run_with_fake_clock(work()) == ["a", "r1", "r2", "r3", "b", "c"]


def test_who_is_stopped_gives_the_turn_back():
    async def work():
        limiter = Limiter(concurrency=1)
        running, waiting = [asyncio.create_task(starts(limiter, [1], seconds=5)) for _ in range(2)]
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        return await starts(limiter, [1, 1], seconds=1)

    assert run_with_fake_clock(work()) == [2, 3]


def test_who_is_stopped_in_the_moment_of_the_turn_gives_it_back():
    async def work():
        limiter = Limiter(concurrency=1)
        async with limiter.slot(1):
            waiting = asyncio.create_task(starts(limiter, [1]))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        waiting.cancel()  # it has been given the turn, and has not run yet
        await asyncio.gather(waiting, return_exceptions=True)
        return await starts(limiter, [1])

    assert run_with_fake_clock(work()) == [0]


def test_who_waits_can_be_sent_away_at_once():
    async def work():
        limiter = Limiter(concurrency=9, rpm=1)
        waiting = [asyncio.create_task(starts(limiter, [1])) for _ in range(5)]
        await asyncio.sleep(1)
        limiter.reject_waiting(JudgeRejectedError("No.", hint="Pay."))
        waiting[4].cancel()  # it has been told, and has not run yet
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        return ends, asyncio.get_running_loop().time(), await starts(limiter, [1])

    (first, *others, stopped), ended, later = run_with_fake_clock(work())
    assert (first, ended, later) == ([0], 1, [60])
    assert [str(other) for other in others] == ["No. Pay."] * 3
    assert len(set(map(id, others))) == 3
    assert isinstance(stopped, asyncio.CancelledError)


def test_who_is_stopped_when_sent_away_takes_no_turn_from_anyone():
    async def work():
        limiter = Limiter(concurrency=1)
        async with limiter.slot(1):
            waiting = asyncio.create_task(starts(limiter, [1]))
            await asyncio.sleep(1)
            limiter.reject_waiting(JudgeRejectedError("No."))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            second = asyncio.create_task(starts(limiter, [1]))
            await asyncio.sleep(1)
            assert not second.done()  # there is one turn, and it is held
        return await second

    assert run_with_fake_clock(work()) == [2]
