"""A page of the rows of several runs, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.parallel_rows import NO_ROW
from sgi.kernel.signature import TEXT_NOT_KEPT, display_text
from sgi.text.overlap import word_diff

if TYPE_CHECKING:
    from sgi.analysis.parallel_rows import ParallelRows
    from sgi.kernel.sample import Sample
    from sgi.text.overlap import Part

_LONGEST_ANSWER = 3000
"""Characters of an answer that a table shows."""


@dataclass(frozen=True)
class ParallelCell:
    """The row of one run in a line of the page.

    Attributes:
        id: id of the row in this run.
        value: the value of the metric; None without one.
        response: the answer, at most 3,000 characters.
        parts: its differences from the answer of the first run; None if it is the first, the same, or the
            two cannot be compared (see `word_diff`).
        is_same: whether it is the answer of the first run.
    """

    id: str
    value: float | None
    response: str
    parts: tuple[Part, ...] | None = None
    is_same: bool = False


@dataclass(frozen=True)
class ParallelLine:
    """A question and its row in each run; None for a run without it."""

    question: str
    cells: tuple[ParallelCell | None, ...]


@dataclass(frozen=True)
class ParallelPage:
    """A page of lines, most changed first; the first page is 1.

    ``total`` is the number of all lines; ``metrics`` are the metrics of at least one run.
    """

    metric: str
    metrics: tuple[str, ...]
    lines: tuple[ParallelLine, ...]
    total: int
    page: int
    pages: int
    left_out: int
    notes: tuple[str, ...]


def parallel_page(rows: ParallelRows, metric: str, page: int, size: int = 20) -> ParallelPage:
    """Return a page of lines, sorted by the change of a metric, most changed first.

    A page number beyond the end gives the last page; an unknown metric, the first metric.
    """
    metrics = tuple(rows.values)
    chosen = metric if metric in metrics else metrics[0]
    order = rows.by_change(chosen)
    pages = max(1, -(-len(order) // size))
    shown = min(page, pages)
    places = order[(shown - 1) * size : shown * size]
    samples = [_samples(rows, run, places) for run in range(rows.rows.shape[1])]
    values = rows.values[chosen][places]
    lines = tuple(_line(row, values[n]) for n, row in enumerate(zip(*samples, strict=True)))
    return ParallelPage(chosen, metrics, lines, len(order), shown, pages, rows.left_out, rows.notes)


def _samples(rows: ParallelRows, run: int, places: np.ndarray) -> list[Sample | None]:
    """Return the samples of a run for these lines; None for a line that the run lacks."""
    numbers, read = rows.rows[places, run], rows.samples[run]
    known = numbers[numbers != NO_ROW].tolist()
    found = iter([] if read is None else read(known))
    return [None if number == NO_ROW else next(found, None) for number in numbers]


def _line(samples: tuple[Sample | None, ...], values: np.ndarray) -> ParallelLine:
    first = samples[0]
    cells = [
        None if sample is None else _cell(sample, float(value), None if place == 0 else first)
        for place, (sample, value) in enumerate(zip(samples, values, strict=True))
    ]
    return ParallelLine("" if first is None else display_text(first.question), tuple(cells))


def _cell(sample: Sample, value: float, first: Sample | None) -> ParallelCell:
    known = value if np.isfinite(value) else None
    shown = display_text(sample.response)
    if first is None:
        return ParallelCell(sample.id, known, shown[:_LONGEST_ANSWER])
    same = sample.response == first.response
    before = display_text(first.response)
    parts = None if same or TEXT_NOT_KEPT in {shown, before} else word_diff(before, shown)
    return ParallelCell(sample.id, known, shown[:_LONGEST_ANSWER], parts, same)
