from __future__ import annotations

from threading import Thread

from sgi.models.batching import WorkCount, counting_work, current_work


def test_done_never_exceeds_what_is_known_to_be_needed():
    work = WorkCount()
    work.add(3)
    assert (work.done, work.total) == (0, 0)
    work.expect(2)
    assert work.done == 2


def test_reach_only_raises():
    work = WorkCount()
    work.expect(10)
    work.add(6)
    work.reach(4)
    assert work.done == 6
    work.reach(8)
    assert work.done == 8


def test_outside_a_count_nothing_is_kept():
    current_work().expect(5)
    assert current_work().total == 0
    with counting_work() as outer, counting_work() as inner:
        current_work().expect(5)
    assert (outer.total, inner.total) == (0, 5)


def test_threads_share_a_count():
    work = WorkCount()
    work.expect(8000)
    threads = [Thread(target=lambda: [work.add(1) for _ in range(1000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert work.done == 8000
