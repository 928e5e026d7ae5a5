"""Which row a person labels next."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from sgi.store.human_labels import RunLabels

_SECONDS = 120.0
"""How long a row is kept for the person who has it on the screen."""


class LabelQueue:
    """The rows that people have on the screen now, so that two people do not get the same row."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, str, float]] = {}
        self._lock = Lock()

    def reserve(self, author: str, run: str, row: str) -> bool:
        """Reserve a row of a run for a person; False if somebody else has it on the screen."""
        now = time.monotonic()
        with self._lock:
            self._rows = {name: held for name, held in self._rows.items() if now - held[-1] < _SECONDS}
            if any(name != author and held[:2] == (run, row) for name, held in self._rows.items()):
                return False
            self._rows[author] = run, row, now
            return True

    def release(self, author: str) -> None:
        """Release the row of a person."""
        with self._lock:
            self._rows.pop(author, None)


def next_row(
    labels: RunLabels, order: NDArray[np.int64], author: str, each: int, reserve: Callable[[str], bool]
) -> str:
    """Return the id of the next row of a person; empty if there is none.

    A row leaves the queue when the person has seen it, when ``each`` people have given it a label, or when
    an editor has decided. A row that needs only one more label is shown to the person who can ``reserve`` it.
    """
    for position in order:
        name: str = labels.ids[position]
        given = labels.current.get(name, ())
        missing = each - sum(label.value is not None for label in given)
        if missing < 1 or any(label.author == author or label.decides for label in given):
            continue
        if missing > 1 or reserve(name):
            return name
    return ""
