"""Time of SGI over many triples, as a ratio to one pass over the same memory.

Run: python benchmarks/geometry.py [number of triples]
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from sgi.geometry import angle, grounding_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DIMENSION = 384
REPEATS = 7
TARGET = 4.0


def unit_rows(n: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((n, DIMENSION), dtype=np.float32)
    rows /= np.sqrt(np.vecdot(rows, rows))[:, None]
    return rows


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    question, context, response = (unit_rows(n, seed) for seed in range(3))

    def one_pass() -> list[np.float32]:
        return [rows.sum() for rows in (question, context, response)]

    def grounding() -> NDArray[np.float64]:
        return grounding_index(angle(response, question), angle(response, context))

    # Taken in turn, so that a busy moment of the machine meets both.
    pairs = [(seconds(one_pass), seconds(grounding)) for _ in range(REPEATS)]
    base, taken = (median(column) for column in zip(*pairs, strict=True))
    print(f"{n:,} triples of {DIMENSION} float32, medians of {REPEATS}")
    print(f"one pass over the memory  {base:8.3f} s")
    print(f"SGI                       {taken:8.3f} s  ({n / taken:,.0f} triples/s)")
    print(f"ratio                     {taken / base:8.2f}    (target: at most {TARGET:.0f})")


if __name__ == "__main__":
    main()
