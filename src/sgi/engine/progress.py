"""What a long job tells the person waiting: events, which the command line turns into a bar or lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgi.io.column_use import ColumnUse


@dataclass(frozen=True)
class RunBegan:
    """A run is in the store under this id, and can be gone on with from now on."""

    run: str


@dataclass(frozen=True)
class ColumnsRead:
    """The data was read once; these are the columns that became fields."""

    columns: ColumnUse


@dataclass(frozen=True)
class Started:
    """A stage begins; ``total`` is None where it isn't known."""

    stage: str
    total: int | None


@dataclass(frozen=True)
class Advanced:
    """So many more rows are done."""

    rows: int


@dataclass(frozen=True)
class Embedded:
    """Inside the current batch: ``done`` of ``total`` texts are embedded, or pairs of texts read.

    Attributes:
        done: texts and pairs.
        total: those known to be needed.
        rows: the rows of the batch; ``Advanced`` follows when they are scored.
    """

    done: int
    total: int
    rows: int

    @property
    def row_share(self) -> float:
        """The rows of the batch that this amounts to."""
        return self.rows * self.done / self.total


@dataclass(frozen=True)
class Judged:
    """The judge has done with so many rows, each metric counted for itself, of at most ``total``."""

    done: int
    total: int


@dataclass(frozen=True)
class Finished:
    """The stage is over."""

    stage: str


Event = RunBegan | ColumnsRead | Started | Advanced | Embedded | Judged | Finished
Listener = Callable[[Event], None]


def silent(_: Event) -> None:
    """Listen to nothing."""
