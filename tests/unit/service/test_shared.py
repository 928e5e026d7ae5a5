import anyio
import pytest

from sgi.service.shared_resources import SharedResource


class Maker:
    """Opens numbered things; notes what is closed; fails when told to."""

    def __init__(self):
        self.opened, self.closed, self.fails = 0, [], False

    async def __call__(self, stack):
        self.opened += 1
        stack.callback(self.closed.append, self.opened)
        if self.fails:
            raise OSError("not now")
        return self.opened


def test_tasks_of_one_loop_share_one_thing():
    make = Maker()

    async def use():
        shared, found = SharedResource(make), []

        async def take():
            found.append(await shared.get())

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(take)
        await shared.aclose()
        await shared.aclose()
        return found

    assert anyio.run(use) == [1] * 5
    assert make.closed == [1]


def test_another_loop_gets_a_thing_of_its_own():
    shared = SharedResource(Maker())
    assert [anyio.run(shared.get) for _ in range(2)] == [1, 2]


def test_what_cannot_be_opened_is_closed_again_and_never_stands_for_another():
    make = Maker()
    shared = SharedResource(make)
    assert anyio.run(shared.get) == 1
    make.fails = True
    for _ in range(2):  # in loops of their own: the thing of the first is none of theirs
        with pytest.raises(OSError, match="not now"):
            anyio.run(shared.get)
    assert make.closed == [2, 3]
    make.fails = False
    assert anyio.run(shared.get) == 4


def test_it_can_be_opened_again_after_it_was_closed():
    make = Maker()

    async def use():
        shared = SharedResource(make)
        first = await shared.get()
        await shared.aclose()
        return first, await shared.get()

    assert anyio.run(use) == (1, 2)
