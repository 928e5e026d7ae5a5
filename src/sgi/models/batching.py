"""Groups texts of equal length into batches without padding, and runs them on the cores of this process."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

_CGROUP = Path("/sys/fs/cgroup")

TOKENS_PER_BATCH = 512
"""With this size the activations of the widest layer fit into the processor's cache; larger is not faster."""


def distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts in order of appearance, and for each text its position among them."""
    index: dict[str, int] = {}
    positions = [index.setdefault(text, len(index)) for text in texts]
    return list(index), np.asarray(positions, dtype=np.int64)


def equal_length_batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.int64]]:
    """Return batches of texts with the same number of tokens, longest first.

    Nothing is padded, so the vector of a text has the same bits in every batch. The longest texts come first
    so that threads finish at about the same time.

    Args:
        lengths: the number of tokens of each text.
        budget: the maximum number of tokens in a batch; a longer text is a batch of its own.

    Returns:
        For each batch the positions of its texts in ``lengths``.

    >>> [batch.tolist() for batch in equal_length_batches([2, 5, 2, 2, 9], budget=4)]
    [[4], [1], [0, 2], [3]]
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches = []
    for group in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        if group.size:
            step = max(1, budget // max(1, int(sizes[group[0]])))
            batches += [group[start : start + step] for start in range(0, group.size, step)]
    return batches


def run_batches(
    batches: Sequence[NDArray[np.int64]], compute: Callable[[NDArray[np.int64]], None], threads: int
) -> None:
    """Call ``compute`` for each batch in parallel threads, and raise the first error.

    If there is only one batch or one thread, the calling thread does the work.
    """
    workers = min(threads, len(batches))
    if workers <= 1:
        for batch in batches:
            compute(batch)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(compute, batches):
            pass  # reading a result raises its error


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Return the number of usable cores, at least one.

    ``cgroup`` is the folder with the container's limits (version 2: ``cpu.max``; version 1:
    ``cpu/cpu.cfs_quota_us``).
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _quota(cgroup)))


def _quota(cgroup: Path) -> int:
    """Return the container's CPU quota in cores, rounded up; a large number if there is no quota."""
    unlimited = 1 << 30
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota, period = ((cgroup / f"cpu/cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else unlimited
    except (OSError, ValueError, ZeroDivisionError):
        return unlimited  # "max", or a system without cgroups


class WorkCount:
    """Counter of the finished and of all texts and pairs that models must compute; it is thread-safe.

    ``report`` passes both numbers to the listener.
    """

    def __init__(self, listener: Callable[[int, int], None] | None = None) -> None:
        self._listener = listener
        self._lock = Lock()
        self._done = 0
        self._total = 0

    @property
    def done(self) -> int:
        """The number of finished texts and pairs, at most ``total``."""
        return min(self._done, self._total)

    @property
    def total(self) -> int:
        """The number of texts and pairs to compute."""
        return self._total

    @property
    def report(self) -> Callable[[], None] | None:
        """A function that reports progress to the listener; None without a listener."""
        listener = self._listener
        return None if listener is None else lambda: listener(self.done, self.total)

    def expect(self, units: int) -> None:
        """Increase ``total`` by ``units``."""
        with self._lock:
            self._total += units

    def add(self, units: int) -> None:
        """Increase ``done`` by ``units``."""
        with self._lock:
            self._done += units

    def reach(self, done: int) -> None:
        """Increase ``done`` to this number if it is less, for work that does not call `add`."""
        with self._lock:
            self._done = max(self._done, done)


_CURRENT: ContextVar[WorkCount | None] = ContextVar("sgi_work", default=None)


def current_work() -> WorkCount:
    """Return the counter of the current `counting_work` block, or an unused one outside of such a block."""
    return _CURRENT.get() or WorkCount()


@contextmanager
def counting_work(listener: Callable[[int, int], None] | None = None) -> Iterator[WorkCount]:
    """Context manager that counts the work in its block, including the work of awaited tasks and threads.

    >>> with counting_work() as work:
    ...     current_work().expect(3)
    >>> work.total
    3
    """
    work = WorkCount(listener)
    token = _CURRENT.set(work)
    try:
        yield work
    finally:
        _CURRENT.reset(token)
