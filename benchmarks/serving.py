"""Measure one row (a Scorer beside the embedder alone), POST /score under load, and the pages of a large run.

    python benchmarks/serving.py [--quick]

The metric is `sgi`. Each row is new: none of its texts has a cached vector.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sgi
from harness import Figure, benchmark_main, seconds_of, time_alternately
from material import triples, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TARGETS = {"sgi": {50: 25, 99: 60}, "grounding": {50: 5}}
"""The longest milliseconds of each percentile by metric."""
RATE = 10
"""Requests per second of the open loop."""
CLIENTS = 16
"""Clients of the closed loop."""
ROWS = 150
PAGE_ROWS = 50_000
PAGES = {
    "run page": "/runs/pages",
    "run page, rows sorted by a metric": "/runs/pages?metric=rouge_l&sort=lowest",
    "API, head and headline": "/api/v1/runs/pages",
    "API, rows sorted by a metric": "/api/v1/runs/pages/samples?metric=rouge_l&sort=lowest",
}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the Scorer, then a server."""
    count = 20 if quick else ROWS
    rows = [
        {"question": row["question"], "contexts": [row["context"]], "response": row["response"]}
        for row in triples(4 * count)
    ]
    yield measure_scorer(rows[:count])
    stored = 1_000 if quick else PAGE_ROWS
    with tempfile.TemporaryDirectory() as name, serving(Path(name), stored) as url:
        yield from measure_load(url, rows[count:])
        yield from measure_pages(url, stored, repeats=2 if quick else 5)


def measure_scorer(rows: Sequence[dict[str, Any]]) -> Figure:
    """Compare `Scorer.score` of a row with the embedder alone, given the same texts."""
    model = sgi.load_embedder("minilm")
    for_scorer, for_model = iter(rows), iter(rows)

    def embed() -> None:
        row = next(for_model)
        model.embed([row["question"], *row["contexts"], row["response"]])

    with sgi.Scorer("sgi") as scorer:
        work = {"ours": lambda: scorer.score(next(for_scorer)), "bound": embed}
        times = time_alternately(work, len(rows) - len(rows) // 4, warm=len(rows) // 4)
    ours, bound = (1000 * times[name].median for name in work)
    return Figure(
        "Scorer, one row, sgi",
        "ms",
        ours,
        bound,
        "the embedder alone",
        is_bound=True,
        higher_is_better=False,
        repeats=seconds_of(times),
    )


@contextmanager
def serving(folder: Path, rows: int) -> Iterator[str]:
    """Run ``sgi serve`` with a stored run of many rows; yield its URL when it is ready."""
    write_rows(folder / "rows.jsonl", rows)
    sgi_command = [sys.executable, "-m", "sgi"]
    run = ["run", "rows.jsonl", "-m", "rouge_l,content_f1", "--name", "pages", "--db", "sgi.db", "-q"]
    subprocess.run([*sgi_command, *run], cwd=folder, check=True, capture_output=True)
    command = [*sgi_command, "serve", "--port", "0", "--db", "sgi.db"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip().rstrip("/")
        end = time.monotonic() + 60
        while not _is_ready(url) and time.monotonic() < end:
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _is_ready(url: str) -> bool:
    try:
        _get(f"{url}/readyz")
    except OSError:
        return False
    return True


def _get(url: str) -> float:
    """Return the milliseconds of a request."""
    start = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as response:
        response.read()
    return (time.perf_counter() - start) * 1000


def measure_load(url: str, rows: Sequence[dict[str, Any]]) -> Iterator[Figure]:
    """Measure POST /score: latency at a constant rate, then the rate with concurrent clients."""
    half = len(rows) // 2
    for metric, targets in TARGETS.items():
        asyncio.run(send(url, metric, rows[:CLIENTS]))  # warm-up
        milliseconds, _ = asyncio.run(send(url, metric, rows[CLIENTS:half], RATE))
        for share, target in targets.items():
            yield Figure(
                f"POST /score, {metric}: p{share} at {RATE} per second",
                "ms",
                statistics.quantiles(milliseconds, n=100)[share - 1],
                wanted=target,
                higher_is_better=False,
                repeats={"ours": milliseconds},
            )
    milliseconds, seconds = asyncio.run(send(url, "sgi", rows[half:]))
    rate = len(milliseconds) / seconds
    yield Figure(f"POST /score, sgi: rate of {CLIENTS} concurrent clients", "requests/s", rate, wanted=60)


async def send(
    url: str, metric: str, rows: Sequence[dict[str, Any]], rate: float | None = None
) -> tuple[list[float], float]:
    """Send single rows in an open loop at a rate, or in a closed loop.

    Returns:
        The milliseconds of each request, from when it was due, and the seconds of all.
    """
    import aiohttp

    milliseconds: list[float] = []
    remaining = iter(rows)
    start = time.perf_counter()
    async with aiohttp.ClientSession(raise_for_status=True) as session, asyncio.TaskGroup() as tasks:

        async def ask(row: dict[str, Any], due: float) -> None:
            body = {"rows": [row], "metrics": [metric]}
            async with session.post(f"{url}/api/v1/score", json=body) as response:
                await response.read()
            milliseconds.append((time.perf_counter() - due) * 1000)

        async def client() -> None:
            for row in remaining:
                await ask(row, time.perf_counter())

        if rate is None:
            for _ in range(CLIENTS):
                tasks.create_task(client())
        else:
            for number, row in enumerate(rows):
                due = start + number / rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                tasks.create_task(ask(row, due))
    return milliseconds, time.perf_counter() - start


def measure_pages(url: str, rows: int, repeats: int) -> Iterator[Figure]:
    """Measure pages of the stored run."""
    for name, path in PAGES.items():
        first, *times = [_get(f"{url}{path}") for _ in range(repeats + 1)]
        yield Figure(
            f"{name}, {rows:,} rows",
            "ms",
            statistics.median(times),
            wanted=300,
            higher_is_better=False,
            note=f"first request {first:.0f} ms",
            repeats={"ours": times},
        )


if __name__ == "__main__":
    benchmark_main(measure)
