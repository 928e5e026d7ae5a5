"""What a guard beside a system gets: latency and rate of POST /score; pages and the report of large runs.

python benchmarks/serving.py [--quick]
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Figure, benchmark_main
from material import triples
from stored_run import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RATE = 10
"""Requests a second of the open loop."""
CLIENTS = 16
"""Of the closed loop."""
PAGE_ROWS, REPORT_ROWS = 50_000, 10_000
SECONDS = 20.0
"""Of each loop."""
MEGABYTE = 1e6


@dataclass(frozen=True)
class Load:
    """What clients saw: milliseconds of each request, those that failed, and how long it went on."""

    milliseconds: list[float]
    errors: int
    seconds: float

    def percentile(self, share: int) -> float:
        """The time within which this share of a hundred requests was answered."""
        return statistics.quantiles(self.milliseconds, n=100)[share - 1]


def measure(*, quick: bool) -> Iterator[Figure]:
    """One server, one report."""
    pages, report, seconds = (2_000, 300, 2.0) if quick else (PAGE_ROWS, REPORT_ROWS, SECONDS)
    asked = read_triples(1_000 if quick else None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fill(folder / "sgi.db", pages, "pages")
        fill(folder / "sgi.db", report, "report")
        with serving(folder / "sgi.db") as (url, process):
            yield from steady(url, asked[: len(asked) // 2], seconds)
            yield from crowded(url, process, asked[len(asked) // 2 :], seconds)
            yield from measure_pages(url, pages)
        yield from measure_report(folder, report)


def steady(url: str, asked: Sequence[dict[str, Any]], seconds: float) -> Iterator[Figure]:
    """POST /score at a rate: how long an answer takes."""
    send(url, asked[:20], 20, None)  # warm
    load = send(url, asked[20:], int(RATE * seconds), RATE)
    for share, wanted in ((50, 25), (99, 60)):
        yield Figure(
            f"POST /score, a distinct triple, {RATE} a second: p{share}",
            "ms",
            load.percentile(share),
            wanted=wanted,
            higher_is_better=False,
            note=f"{load.errors} errors of {len(load.milliseconds)}",
        )


def crowded(url: str, process: int, asked: Sequence[dict[str, Any]], seconds: float) -> Iterator[Figure]:
    """POST /score from several clients: rate, work and memory of the server."""
    memory, busy, loads = [resident(process)], processor(process), []
    for part in np.array_split(np.arange(len(asked)), 2):
        loads.append(send(url, [asked[at] for at in part], None, None, seconds / 2))
        memory.append(resident(process))
    count = sum(len(load.milliseconds) for load in loads)
    late = statistics.median(load.percentile(99) for load in loads)
    failed = sum(load.errors for load in loads)
    spent = (processor(process) - busy) / count * 1000
    work = f"POST /score, {CLIENTS} clients at once"
    yield Figure(
        work,
        "requests/s",
        count / sum(load.seconds for load in loads),
        wanted=60,
        note=f"p99 {late:.0f} ms, {failed} errors of {count}; {spent:.0f} ms of processor time a request",
    )
    yield Figure(
        f"{work}: memory after",
        "MB",
        memory[-1],
        memory[0],
        "before",
        is_bound=True,
        wanted=1.1,
        higher_is_better=False,
    )


def measure_pages(url: str, rows: int) -> Iterator[Figure]:
    """Server time of the pages of a large run, each asked for several times."""
    import urllib.request

    for name, path in {
        "run page": "/runs/pages",
        "run page, rows sorted by a metric": "/runs/pages?metric=sgi&sort=lowest",
        "API, head and headline": "/api/v1/runs/pages",
        "API, rows sorted by a metric": "/api/v1/runs/pages/samples?metric=sgi&sort=lowest",
    }.items():
        took = []
        for _ in range(6):
            began = time.perf_counter()
            with urllib.request.urlopen(f"{url}{path}", timeout=60) as response:  # noqa: S310 - our own server
                response.read()
            took.append((time.perf_counter() - began) * 1000)
        yield Figure(
            f"{name}, of {rows:,} rows",
            "ms",
            statistics.median(took[1:]),
            wanted=300,
            higher_is_better=False,
            note=f"the first {took[0]:.0f} ms",
            repeats={"ours": took[1:]},
        )


def measure_report(folder: Path, rows: int) -> Iterator[Figure]:
    """Seconds of ``sgi report``, and the size of the file."""
    out = folder / "report.html"
    began = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "sgi",
        "report",
        "report",
        "-o",
        str(out),
        "--db",
        str(folder / "sgi.db"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    took = time.perf_counter() - began
    size = out.stat().st_size / MEGABYTE
    yield Figure(f"sgi report, {rows:,} rows", "s", took, wanted=10, higher_is_better=False)
    yield Figure(f"sgi report, {rows:,} rows: the file", "MB", size, wanted=10, higher_is_better=False)


def read_triples(count: int | None) -> list[dict[str, Any]]:
    """Rows to post; no text comes twice."""
    return [
        {"question": row["question"], "contexts": [row["context"]], "response": row["response"]}
        for row in triples(count)
    ]


@contextmanager
def serving(database: str | Path) -> Iterator[tuple[str, int]]:
    """``sgi serve`` on a free port, with its address and its process; ready when this begins."""
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", str(database)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        url = process.stdout.readline().strip().rstrip("/")
        wait_until_ready(url)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until_ready(url: str) -> None:
    import urllib.request

    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):  # noqa: S310 - our own server
                break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
    time.sleep(8)  # the scripts of the charts are made ready meanwhile


def resident(process: int) -> float:
    """What the process holds in memory, in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def processor(process: int) -> float:
    """Seconds of the processors that the process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(
    url: str, triples: Sequence[dict[str, Any]], count: int | None, rate: float | None, seconds: float = 0.0
) -> Load:
    """Send single rows from a process of its own, so that client and measuring share no interpreter."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_sent, (url, list(triples), count, rate, seconds))


def _sent(
    url: str, triples: list[dict[str, Any]], count: int | None, rate: float | None, seconds: float
) -> Load:
    return asyncio.run(_sending(url, triples, count, rate, seconds))


async def _sending(
    url: str, triples: list[dict[str, Any]], count: int | None, rate: float | None, seconds: float
) -> Load:
    """An open loop at a rate, or a closed loop for some time or so many requests."""
    import aiohttp

    took: list[float] = []
    errors = 0
    rows = itertools.cycle(triples)

    async with aiohttp.ClientSession() as session:

        async def ask(due: float) -> None:
            nonlocal errors
            body = {"rows": [next(rows)], "metrics": ["sgi"]}
            async with session.post(f"{url}/api/v1/score", json=body) as response:
                told = await response.json()
            took.append((time.perf_counter() - due) * 1000)
            errors += response.status != 200 or told["scores"][0]["sgi"]["status"] == "failed"  # noqa: PLR2004 - HTTP's own

        began = time.perf_counter()
        if rate is not None:
            async with asyncio.TaskGroup() as tasks:
                for number in range(count or 0):
                    due = began + number / rate  # counted from here, also where the client is late
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    tasks.create_task(ask(due))
        else:
            left = itertools.count() if count is None else iter(range(count))

            async def client() -> None:
                while (not seconds or time.perf_counter() - began < seconds) and next(left, None) is not None:
                    await ask(time.perf_counter())

            async with asyncio.TaskGroup() as tasks:
                for _ in range(CLIENTS):
                    tasks.create_task(client())
        return Load(took, errors, time.perf_counter() - began)


if __name__ == "__main__":
    benchmark_main(measure)
