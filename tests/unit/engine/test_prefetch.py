from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from sgi.engine.pipeline import prefetch


async def same(item):
    return item


def test_takes_in_order_whatever_is_ready_first():
    taken = []

    async def prepare(n):
        await anyio.sleep(0.02 if n % 2 else 0)
        return n

    async def take(n):
        taken.append(n)

    anyio.run(lambda: prefetch(range(9), prepare, take, depth=3))
    assert taken == list(range(9))


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_no_more_than_depth_are_under_way(depth):
    under_way, most = 0, 0

    async def prepare(n):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        return n

    async def take(_):
        nonlocal under_way
        await anyio.sleep(0.005)  # the others have all the time to get ahead
        under_way -= 1

    anyio.run(lambda: prefetch(range(20), prepare, take, depth=depth))
    assert most == depth


@pytest.mark.parametrize("where", ["items", "prepare", "take"])
def test_an_error_comes_out_as_it_is(where):
    def items():
        yield 1
        if where == "items":
            raise KeyError("items")

    def station(name):
        async def stop(item):
            if where == name:
                raise KeyError(name)
            return item

        return stop

    with pytest.raises(KeyError, match=where):
        anyio.run(lambda: prefetch(items(), *map(station, ("prepare", "take")), depth=3))


def test_what_was_taken_before_an_error_stays_taken():
    taken = []

    async def take(n):
        if n == 3:
            raise ValueError("three")
        taken.append(n)

    with pytest.raises(ValueError, match="three"):
        anyio.run(lambda: prefetch([1, 2, 3, 4], same, take, depth=2))
    assert taken == [1, 2]


def test_nothing_is_nothing():
    async def never(_):
        raise AssertionError

    anyio.run(lambda: prefetch([], never, never, depth=3))
