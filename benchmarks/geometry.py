"""Compare the time of SGI for many triples with one pass over the same memory.

python benchmarks/geometry.py [--quick]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness import Figure, benchmark_main, seconds_of, time_alternately
from sgi.geometry import angles_to, grounding_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ROWS = 1_000_000
DIMENSION = 384
REPEATS = 7
TARGET = 2.0


def unit_rows(n: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((n, DIMENSION), dtype=np.float32)
    rows /= np.sqrt(np.vecdot(rows, rows))[:, None]
    return rows


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure both alternately."""
    n = 20_000 if quick else ROWS
    question, context, response = (unit_rows(n, seed) for seed in range(3))

    def one_pass() -> list[np.float32]:
        return [rows.sum() for rows in (question, context, response)]

    def grounding() -> NDArray[np.float64]:
        theta_rq, theta_rc = angles_to(response, question, context)
        return grounding_index(theta_rq, theta_rc)

    times = time_alternately({"ours": grounding, "bound": one_pass}, 1 if quick else REPEATS)
    yield Figure(
        f"SGI of {n:,} triples of {DIMENSION} float32",
        "s",
        ours=times["ours"].median,
        peer=times["bound"].median,
        beside="one pass over the memory",
        is_bound=True,
        wanted=TARGET,
        higher_is_better=False,
        note=f"{n / times['ours'].median:,.0f} triples/s",
        repeats=seconds_of(times),
    )


if __name__ == "__main__":
    benchmark_main(measure)
