"""Measure how long a streamed answer waits for the verdicts of a guard, on RAGTruth QA.

    python benchmarks/guard.py [--quick]

The wait for a sentence is the time from the piece of text that finishes it until its verdict; answers come in
pieces of four characters. The wait for the passages is that before the first piece is read, and the wait for
the whole answer that from its end until the last verdict. The guard blocks nothing, so all is measured.
"""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np

import sgi
from harness import Figure, benchmark_main
from material import long_rows
from sgi.service.guard_file import GuardFile, fit_guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

ROWS = 306
PIECE = 4
WANTED = {"a sentence": 5.0}
"""Targets for the 99th percentile, in milliseconds."""


class Waits:
    """The waits of streamed answers: pairs of elapsed time and processor time, in milliseconds."""

    def __init__(self) -> None:
        self.of: dict[str, list[tuple[float, float]]] = {
            "the passages": [],
            "a sentence": [],
            "the whole answer": [],
        }
        self._since = 0.0, 0.0

    def start(self) -> None:
        """Begin to wait."""
        self._since = perf_counter(), process_time()

    def note(self, what: str) -> None:
        """Record the time since the wait began."""
        elapsed, used = perf_counter() - self._since[0], process_time() - self._since[1]
        self.of[what].append((1000 * elapsed, 1000 * used))

    async def pieces(self, text: str) -> AsyncIterator[str]:
        """Yield the pieces of an answer."""
        self.note("the passages")
        for start in range(0, len(text), PIECE):
            self.start()
            yield text[start : start + PIECE]
        self.start()

    async def stream(self, guard: sgi.Guard, row: Mapping[str, str | Sequence[str]]) -> None:
        """Stream an answer through a guard."""
        contexts, response = row.get("context", row.get("contexts", ())), str(row["response"])
        self.start()
        async for verdict in guard.stream(str(row["question"]), contexts, self.pieces(response)):
            self.note("the whole answer" if verdict.sentence is None else "a sentence")
            self.start()


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the waits of all answers, after a few to warm up."""
    rows = long_rows(12 if quick else ROWS)
    file = fit_guard([{**row, "question": str(number), "label": 1} for number, row in enumerate(rows)]).file
    guard = sgi.Guard(GuardFile(**file.model_dump(exclude={"digest", "limit"}), limit=1e-9))
    waits = Waits()

    async def stream_all() -> None:
        for row in rows[:10]:
            await Waits().stream(guard, row)
        for row in rows:
            await waits.stream(guard, row)

    asyncio.run(stream_all())
    for what, found in waits.of.items():
        (low, used_low), (high, used) = np.percentile(found, [50, 99], axis=0)
        yield Figure(
            f"guard, wait for {what}, p99",
            "ms",
            float(high),
            wanted=WANTED.get(what),
            higher_is_better=False,
            note=f"p50 {low:.2f} ms; processor time p50 {used_low:.2f}, p99 {used:.2f} ms; {len(found):,} "
            f"waits, {len(rows):,} answers of RAGTruth QA",
        )


if __name__ == "__main__":
    benchmark_main(measure)
