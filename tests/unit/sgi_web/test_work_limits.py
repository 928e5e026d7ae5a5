from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import anyio
import numpy as np
import pytest

from sgi.reporting.views.headline import scored_rows
from sgi.store.run_queries import find_run
from sgi_web.work_limits import AsyncThrottle, ServerBusyError, SingleFlightCache, Throttle, size_of
from support.web_server import wait_until


def test_what_was_used_longest_ago_goes():
    cache = SingleFlightCache(2)
    made = []

    def value(key):
        return cache.get(key, lambda: made.append(key) or key)

    for key in "abacab":
        assert value(key) == key
    assert made == ["a", "b", "c", "b"]


def test_several_threads_make_a_value_once():
    kept, made = SingleFlightCache(), []
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: kept.get("key", lambda: made.append(1) or 7), range(50)))
    assert (found, made) == ([7] * 50, [1])


def test_a_failure_is_not_kept():
    cache = SingleFlightCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 / 0)
    assert cache.get("key", lambda: 2) == 2
    assert cache.get("key", lambda: 3) == 2


def test_failures_leave_nothing_behind():
    cache = SingleFlightCache()
    for key in range(50):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert (len(cache._futures), len(cache._sizes), cache._busy) == (0, 0, 0)


def test_who_waits_for_what_fails_is_told():
    kept, free, raised = SingleFlightCache(), threading.Event(), []

    def fails():
        free.wait(30)
        raise ZeroDivisionError

    def want():
        try:
            kept.get("key", fails)
        except ZeroDivisionError as error:
            raised.append(error)

    threads = [threading.Thread(target=want) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: kept._busy == 5)
    free.set()
    for thread in threads:
        thread.join(30)
    assert len(raised) == 5


def test_only_a_few_wait_for_what_is_slow_and_what_is_there_stays_quick():
    kept, free = SingleFlightCache(max_threads=3), threading.Event()
    assert kept.get("quick", lambda: 1) == 1
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(kept.get, key, lambda: free.wait(30)) for key in ("slow", "slow", "other")]
        wait_until(lambda: kept._busy == 3)
        with pytest.raises(ServerBusyError, match="busy"):
            kept.get("slow", lambda: 2)
        with pytest.raises(ServerBusyError):
            kept.get("third", lambda: 2)
        assert kept.get("quick", lambda: 2) == 1
        free.set()
        assert [one.result(30) for one in waiting] == [True] * 3
    assert kept.get("third", lambda: 2) == 2


def test_what_is_kept_holds_no_more_than_its_bytes():
    cache = SingleFlightCache(max_bytes=3000)
    for key in "ab":
        cache.get(key, lambda: bytes(1200))
    cache.get("c", lambda: bytes(1200))
    assert list(cache._sizes) == ["b", "c"]
    assert len(cache.get("huge", lambda: bytes(4000))) == 4000
    assert sum(cache._sizes.values()) <= 3000


def test_a_size_counts_what_is_inside(site):
    assert size_of(np.zeros(1000)) >= 8000
    assert size_of(np.array(["x" * 500], dtype=object)) > 500
    assert size_of(MappingProxyType({"a": ["x" * 500]})) > 500
    columns = scored_rows(site.database, find_run(site.database, "before"))
    values = sum(column.values.nbytes for column in columns.run.metrics.values())
    assert size_of(columns) > values + sum(map(size_of, columns.metadata))


def test_what_makes_a_value_can_need_another_one_though_all_others_are_refused():
    cache = SingleFlightCache(max_threads=1)
    assert cache.get("report", lambda: cache.get("columns", lambda: 1) + 1) == 2
    assert cache.get("next", lambda: 3) == 3, "nobody is counted twice, or still"


def test_one_works_at_a_time():
    throttle, at_once, most = Throttle(max_waiting=8, seconds=30), [], []

    def work():
        with throttle.acquire():
            at_once.append(1)
            most.append(len(at_once))
            time.sleep(0.005)
            at_once.pop()

    threads = [threading.Thread(target=work) for _ in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 9


def test_a_few_wait_and_the_others_are_sent_away_at_once():
    throttle, done = Throttle(max_waiting=1, seconds=30), []

    def work():
        with throttle.acquire():
            done.append(1)

    with throttle.acquire():
        thread = threading.Thread(target=work)
        thread.start()
        wait_until(lambda: throttle._queue._value == 0)
        began = time.monotonic()
        with pytest.raises(ServerBusyError), throttle.acquire():
            pass
        assert time.monotonic() - began < 10
        assert done == []
    thread.join(30)
    assert done == [1]


def test_nobody_waits_for_ever_and_a_failure_gives_the_turn_back():
    throttle = Throttle(seconds=0.05)
    with throttle.acquire(), pytest.raises(ServerBusyError), throttle.acquire():
        pass
    for _ in range(9):
        with pytest.raises(ZeroDivisionError), throttle.acquire():
            1 / 0  # noqa: B018 - it raises
    with throttle.acquire():
        assert throttle._queue._value == 4


def test_coroutines_over_the_limits_are_refused_and_the_others_run_in_turn():
    throttle, done, refused = AsyncThrottle(at_once=2, max_waiting=3), [], []
    running, most = 0, 0

    async def work(number):
        nonlocal running, most
        try:
            async with throttle.acquire():
                running += 1
                most = max(most, running)
                await anyio.sleep(0.01)
                running -= 1
                done.append(number)
        except ServerBusyError:
            refused.append(number)

    async def all_at_once():
        async with anyio.create_task_group() as group:
            for number in range(7):
                group.start_soon(work, number)
        await work(7)

    anyio.run(all_at_once)
    assert (sorted(done), refused, most) == ([0, 1, 2, 3, 4, 7], [5, 6], 2)
