import random
import threading
from collections import deque
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from sgi.kernel.errors import TargetError
from sgi.kernel.protocols import Reply
from sgi.target.http import open_http
from sgi.target.python import PythonTarget
from sgi.target.target_limits import MAX_WAIT, LimitedTarget, TransientError
from sgi.target.target_spec import TargetSpec
from support.target_server import TargetReply, TargetServer


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Clock:
    """Time that passes only while something sleeps."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


class Planned:
    """Meets its plan, in order, and then answers; notes when it was asked."""

    fingerprint = "python:rag:planned"

    def __init__(self, *plan, clock=None):
        self.plan = deque(plan)
        self.clock = clock or (lambda: 0.0)
        self.times = []
        self.now = self.most = 0

    async def answer(self, question, /):
        self.times.append(self.clock())
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(0.001)
        self.now -= 1
        if self.plan:
            raise self.plan.popleft()
        return Reply(question)


def ask_all(target, questions):
    async def run():
        async with anyio.create_task_group() as group:
            for question in questions:
                group.start_soon(target.answer, question)

    anyio.run(run)


def busy(seconds=None):
    return TransientError("busy.", hint="Wait.", retry_after=seconds)


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_no_more_are_asked_at_once_than_allowed_and_so_many_are(concurrency):
    target = Planned()
    ask_all(LimitedTarget(target, concurrency=concurrency), "0123456789" * 3)
    assert target.most == concurrency
    assert len(target.times) == 30


def test_a_service_sees_no_more_at_once_than_allowed():
    async def run(server):
        async with open_http(TargetSpec(where=server.url)) as target, anyio.create_task_group() as group:
            limited = LimitedTarget(target, concurrency=4)
            for number in range(12):
                group.start_soon(limited.answer, str(number))
            for _ in range(4):
                await to_thread.run_sync(server.arrivals.acquire)
            fifth = partial(server.arrivals.acquire, timeout=0.1)
            assert not await to_thread.run_sync(fifth)
            server.released.set()

    with TargetServer(hold=True) as server:
        anyio.run(run, server)
        assert (server.most_at_once, len(server.requests)) == (4, 12)


def test_what_may_be_gone_is_asked_again_after_growing_pauses():
    clock = Clock()
    target = Planned(busy(), busy(), busy())
    assert anyio.run(LimitedTarget(target, retries=3, sleep=clock.sleep).answer, "a").response == "a"
    for slept, least in zip(clock.slept, (0.5, 1.0, 2.0), strict=True):
        assert least <= slept <= 1.5 * least


def test_the_last_error_says_how_many_tries_there_were():
    target = Planned(*[busy() for _ in range(9)])
    with pytest.raises(TargetError) as caught:
        anyio.run(LimitedTarget(target, retries=2, sleep=Clock().sleep).answer, "a")
    assert str(caught.value) == "busy (after 3 tries). Wait."
    assert len(target.times) == 3


def test_other_faults_are_not_asked_again():
    target = Planned(TargetError("no such model."))
    with pytest.raises(TargetError, match=r"^no such model\.$"):
        anyio.run(LimitedTarget(target, retries=5).answer, "a")
    assert len(target.times) == 1


def test_a_bug_passes_through_as_it_is():
    bug = ZeroDivisionError("ours")
    with pytest.raises(ZeroDivisionError) as caught:
        anyio.run(LimitedTarget(Planned(bug), retries=5).answer, "a")
    assert caught.value is bug


@pytest.mark.parametrize(("wait", "least"), [(0.0, 0.0), (7.0, 7.0), (MAX_WAIT, MAX_WAIT), (1e9, MAX_WAIT)])
def test_the_time_a_target_asks_for_is_kept_within_bounds(wait, least):
    clock = Clock()
    anyio.run(LimitedTarget(Planned(busy(wait)), sleep=clock.sleep).answer, "a")
    assert least <= clock.slept[0] <= 1.5 * max(least, 0.5)


def test_pauses_touch_no_seed():
    random.seed(3)
    before = random.getstate()
    anyio.run(LimitedTarget(Planned(busy(), busy()), sleep=Clock().sleep).answer, "a")
    assert random.getstate() == before


def test_a_rate_spaces_questions_evenly():
    clock = Clock()
    target = Planned(clock=clock)
    ask_all(LimitedTarget(target, concurrency=1, rate=30, clock=clock, sleep=clock.sleep), "abcde")
    assert target.times == [1000.0, 1002.0, 1004.0, 1006.0, 1008.0]


def test_time_that_was_not_used_is_not_saved_up():
    clock = Clock()
    target = Planned(clock=clock)

    async def run():
        limited = LimitedTarget(target, rate=60, clock=clock, sleep=clock.sleep)
        await limited.answer("a")
        clock.now += 100
        for question in "bc":
            await limited.answer(question)

    anyio.run(run)
    assert target.times == [1000.0, 1100.0, 1101.0]


def test_further_tries_keep_the_rate():
    clock = Clock()
    target = Planned(busy(0.0), busy(0.0), clock=clock)
    anyio.run(LimitedTarget(target, rate=6, clock=clock, sleep=clock.sleep).answer, "a")
    assert target.times == pytest.approx([1000.0, 1010.0, 1020.0])


def test_a_try_that_takes_too_long_is_told_and_asked_again():
    hang = threading.Event()
    questions = []

    def slow(question):
        questions.append(question)
        if len(questions) == 1:
            hang.wait(60)
        return question

    limited = LimitedTarget(PythonTarget("rag:slow", slow), timeout=0.2, sleep=Clock().sleep)
    assert anyio.run(limited.answer, "a").response == "a"
    assert questions == ["a", "a"]
    hang.set()


def test_one_that_always_hangs_is_given_up_and_others_go_on():
    hang = threading.Event()

    def answer(question):
        if question == "hang":
            hang.wait(60)
        return question

    async def run():
        limited = LimitedTarget(
            PythonTarget("rag:answer", answer), timeout=0.2, retries=1, concurrency=1, sleep=Clock().sleep
        )
        with pytest.raises(TargetError):
            await limited.answer("hang")
        return await limited.answer("a")

    assert anyio.run(run).response == "a"
    hang.set()


@pytest.mark.parametrize("sent", [TargetReply(delay=30), TargetReply(trickle=0.05)])
def test_a_service_that_is_slow_is_given_up(sent):
    async def run(url):
        async with open_http(TargetSpec(where=url)) as target:
            await LimitedTarget(target, timeout=0.2, retries=0).answer("a")

    with TargetServer([sent]) as server, pytest.raises(TargetError):
        anyio.run(run, server.url)


def test_a_cancelled_question_gives_its_place_back():
    async def run():
        limited = LimitedTarget(PythonTarget("rag:wait", anyio.sleep), concurrency=1)
        with anyio.move_on_after(0.02) as scope:
            await limited.answer(60)
        assert scope.cancelled_caught
        with anyio.fail_after(20), pytest.raises(TargetError, match="returned None"):
            await limited.answer(0)

    anyio.run(run)
