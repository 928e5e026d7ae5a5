from __future__ import annotations

import threading
import time

import pytest

from sgi.web.throttle import ServerBusyError, Turns
from support.web_server import until


def test_one_works_at_a_time():
    turns, at_once, most = Turns(most_waiting=8, seconds=30), [], []

    def work():
        with turns.taken():
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
    turns, done = Turns(most_waiting=1, seconds=30), []

    def work():
        with turns.taken():
            done.append(1)

    with turns.taken():
        thread = threading.Thread(target=work)
        thread.start()
        until(lambda: turns._places._value == 0)
        began = time.monotonic()
        with pytest.raises(ServerBusyError), turns.taken():
            pass
        assert time.monotonic() - began < 10
        assert done == []
    thread.join(30)
    assert done == [1]


def test_nobody_waits_for_ever_and_a_failure_gives_the_turn_back():
    turns = Turns(seconds=0.05)
    with turns.taken(), pytest.raises(ServerBusyError), turns.taken():
        pass
    for _ in range(9):
        with pytest.raises(ZeroDivisionError), turns.taken():
            1 / 0  # noqa: B018 - it raises
    with turns.taken():
        assert turns._places._value == 4
