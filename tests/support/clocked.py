"""An event loop with a simulated clock, so that timers take no time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class FakeClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0].when())
        super()._run_once()


def run_with_fake_clock(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in such a loop, and return its result."""
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        return runner.run(work)
