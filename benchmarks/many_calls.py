"""Measure memory, descriptors and threads over 20,000 calls of a Scorer, and 20,000 requests to a server.

python benchmarks/many_calls.py [--quick]

Each call has a new response, so the model runs. The requests repeat some rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sgi
from harness import Figure, benchmark_main
from serving import read_triples, resident, send, serving
from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import BoundedCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CALLS = 20_000
PARTS = 8
"""The state of the process is read after each of these parts of the calls; the first one warms up."""
CACHE = 4 << 20
"""Bytes of the cache of vectors: 2,300 texts."""
METRICS = ["grounding", "sgi"]
GROWTH = 1.05


class State(NamedTuple):
    """Memory in MB, number of open descriptors, number of threads."""

    memory: float
    descriptors: int
    threads: int


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the Scorer in this process, then a server."""
    calls = 400 if quick else CALLS
    yield from figures(f"Scorer, {calls:,} calls", list(call(calls)))
    yield from figures(f"POST /score, {calls:,} requests", list(request(calls)))


def call(calls: int) -> Iterator[State]:
    """Score rows in this process, with a small cache of vectors that is soon full; yield its state."""
    rows = read_triples(200)
    model = CachedEmbedder(sgi.load_embedder("minilm"), BoundedCache(CACHE))
    with sgi.Scorer(METRICS, model) as scorer:
        for number in range(calls):
            row = rows[number % len(rows)]
            scorer.score(row | {"response": f"{row['response']} {number}"})
            if (number + 1) % (calls // PARTS) == 0:
                yield state_of("self")


def request(calls: int) -> Iterator[State]:
    """Send requests to a server; yield the state of the server."""
    rows = read_triples(200)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "sgi.db") as (url, process):
        for _ in range(PARTS):
            load = send(url, rows, calls // PARTS, None, metrics=METRICS)
            if load.errors:
                raise SystemExit(f"{load.errors} requests failed")
            yield state_of(process)


def state_of(process: int | str) -> State:
    """Read the state of a process."""
    folder = Path(f"/proc/{process}")
    return State(
        resident(process), len(list((folder / "fd").iterdir())), len(list((folder / "task").iterdir()))
    )


def figures(work: str, states: Sequence[State]) -> Iterator[Figure]:
    """Compare the last state with the first one."""
    columns = dict(zip(State._fields, zip(*states, strict=True), strict=True))
    for name, unit in {"memory": "MB", "descriptors": "", "threads": ""}.items():
        values = columns[name]
        yield Figure(
            f"{work}: {name} at the end",
            unit,
            values[-1],
            values[0],
            f"after the first {100 // PARTS} %",
            is_bound=True,
            wanted=GROWTH if name == "memory" else 1.0,
            higher_is_better=False,
            note=", ".join(f"{value:.0f}" for value in values),
            repeats={name: values},
        )


if __name__ == "__main__":
    benchmark_main(measure)
