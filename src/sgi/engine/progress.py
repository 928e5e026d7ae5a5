"""Progress events of a run, and a progress bar for notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgi.io.column_use import ColumnUse


@dataclass(frozen=True)
class Began:
    """Event: the run was stored under this id, so it can be resumed from now on."""

    run: str


@dataclass(frozen=True)
class ColumnsRead:
    """Event: the data was read once, and these columns are used as fields."""

    columns: ColumnUse


@dataclass(frozen=True)
class Started:
    """Event: a stage begins. ``total`` is its number of rows, None if unknown."""

    stage: str
    total: int | None


@dataclass(frozen=True)
class Advanced:
    """Event: more rows of the stage are done."""

    rows: int


@dataclass(frozen=True)
class Embedded:
    """Event: progress inside a batch, ``done`` of ``total`` texts and pairs are computed.

    Attributes:
        done: number of computed texts and pairs.
        total: number of texts and pairs that are known to be needed.
        rows: number of rows of the batch; ``Advanced`` follows once they are scored.
    """

    done: int
    total: int
    rows: int

    @property
    def row_share(self) -> float:
        """The progress inside the batch, converted to a number of rows."""
        return self.rows * self.done / self.total


@dataclass(frozen=True)
class Judged:
    """Event: number of finished judgements, one per row and metric, and their maximum ``total``."""

    done: int
    total: int


@dataclass(frozen=True)
class Finished:
    """Event: the stage has ended."""

    stage: str


Event = Began | ColumnsRead | Started | Advanced | Embedded | Judged | Finished


Listener = Callable[[Event], None]


def silent(_: Event) -> None:
    """Ignore all events."""


def default_listener() -> Listener:
    """Return a progress bar if this process is a notebook kernel, otherwise a listener that ignores events.

    >>> default_listener() is silent
    True
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return silent
    from IPython.display import display

    return NotebookProgress(display)


class NotebookProgress:
    """Shows the progress of each stage in the output of the cell, and removes it at the end.

    Args:
        display: IPython's function ``display``.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None
        self._stage = ""
        self._total: int | None = None
        self._scored = 0

    def __call__(self, event: Event) -> None:
        """Update the bar after this event."""
        match event:
            case Started(stage, total):
                self._stage, self._total, self._scored = stage, total, 0
                self._handle = self._display(self._drawn(0), raw=True, display_id=True)
            case Advanced(rows):
                self._scored += rows
                self._draw(self._drawn(self._scored))
            case Embedded(done, total):
                texts = f", {done:,} of {total:,} texts of this batch"
                self._draw(self._drawn(int(self._scored + event.row_share), texts))
            case Finished():
                self._draw({"text/html": "", "text/plain": ""})

    def _draw(self, data: dict[str, str]) -> None:
        if self._handle is not None:
            self._handle.update(data, raw=True)

    def _drawn(self, rows: int, texts: str = "") -> dict[str, str]:
        of_all = "" if self._total is None else f" of {self._total:,}"
        line = f"{self._stage}: {rows:,}{of_all} rows{texts}"
        bar = "" if self._total is None else f'<progress max="{self._total}" value="{rows}"></progress> '
        return {"text/plain": line, "text/html": f"<div>{bar}{escape(line)}</div>"}
