from __future__ import annotations

import threading
import time

import pytest

from sgi_web.throttle import ServerBusyError, Throttle
from support.web_server import wait_until


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
