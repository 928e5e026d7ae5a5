from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import numpy as np
import pytest

from sgi.reporting.views.columns import run_columns
from sgi.store.run_queries import find_run
from sgi_web.single_flight_cache import SingleFlightCache, size_of
from sgi_web.throttle import ServerBusyError
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
    assert (cache.get("key", lambda: 3), len(cache._pending)) == (2, 0)


def test_failures_leave_nothing_behind():
    cache = SingleFlightCache()
    for key in range(50):
        with pytest.raises(ZeroDivisionError):
            cache.get(key, lambda: 1 / 0)
    assert (len(cache._pending), len(cache._values), cache._busy) == (0, 0, 0)


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
    assert list(cache._values) == ["b", "c"]
    assert len(cache.get("huge", lambda: bytes(4000))) == 4000
    assert cache._total_bytes() <= 3000


def test_a_size_counts_what_is_inside(site):
    assert size_of(np.zeros(1000)) >= 8000
    assert size_of(np.array(["x" * 500], dtype=object)) > 500
    assert size_of(MappingProxyType({"a": ["x" * 500]})) > 500
    columns = run_columns(site.database, find_run(site.database, "before"))
    values = sum(column.values.nbytes for column in columns.run.metrics.values())
    assert size_of(columns) > values + sum(map(size_of, columns.metadata))


def test_what_makes_a_value_can_need_another_one_though_all_others_are_refused():
    cache = SingleFlightCache(max_threads=1)
    assert cache.get("report", lambda: cache.get("columns", lambda: 1) + 1) == 2
    assert cache.get("next", lambda: 3) == 3, "nobody is counted twice, or still"
