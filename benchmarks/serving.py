"""Measure the pages and the report of large runs. `one_row.py` measures POST /score with the same clients.

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

from harness import Figure, benchmark_main
from material import triples
from stored_run import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RATE = 10
"""Requests per second of the open loop."""
CLIENTS = 16
"""Clients of the closed loop."""
PAGE_ROWS, REPORT_ROWS = 50_000, 10_000
MEGABYTE = 1e6


@dataclass(frozen=True)
class Load:
    """Measurements of the clients: milliseconds of each request, failed requests, total seconds."""

    milliseconds: list[float]
    errors: int
    seconds: float

    def percentile(self, share: int) -> float:
        """Return a percentile of the milliseconds."""
        return statistics.quantiles(self.milliseconds, n=100)[share - 1]


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the server and the report."""
    pages, report = (2_000, 300) if quick else (PAGE_ROWS, REPORT_ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "sgi.db", pages, "pages")
        fill(folder / "sgi.db", report, "report")
        with serving(folder / "sgi.db") as (url, _):
            yield from measure_pages(url, pages)
        yield from measure_report(folder, report)


def measure_pages(url: str, rows: int) -> Iterator[Figure]:
    """Measure the pages of a large run, each with several requests."""
    import urllib.request

    for name, path in {
        "run page": "/runs/pages",
        "run page, rows sorted by a metric": "/runs/pages?metric=sgi&sort=lowest",
        "API, head and headline": "/api/v1/runs/pages",
        "API, rows sorted by a metric": "/api/v1/runs/pages/samples?metric=sgi&sort=lowest",
    }.items():
        times = []
        for _ in range(6):
            start = time.perf_counter()
            with urllib.request.urlopen(f"{url}{path}", timeout=60) as response:  # noqa: S310 - our own server
                response.read()
            times.append((time.perf_counter() - start) * 1000)
        yield Figure(
            f"{name}, {rows:,} rows",
            "ms",
            statistics.median(times[1:]),
            wanted=300,
            higher_is_better=False,
            note=f"first request {times[0]:.0f} ms",
            repeats={"ours": times[1:]},
        )


def measure_report(folder: Path, rows: int) -> Iterator[Figure]:
    """Measure the seconds of ``sgi report``, and the size of the file."""
    out = folder / "report.html"
    start = time.perf_counter()
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
    seconds = time.perf_counter() - start
    size = out.stat().st_size / MEGABYTE
    yield Figure(f"sgi report, {rows:,} rows", "s", seconds, wanted=10, higher_is_better=False)
    yield Figure(f"sgi report, {rows:,} rows: file size", "MB", size, wanted=10, higher_is_better=False)


def read_triples(count: int | None) -> list[dict[str, Any]]:
    """Return rows to post; every answer is different."""
    return [
        {"question": row["question"], "contexts": [row["context"]], "response": row["response"]}
        for row in triples(count)
    ]


@contextmanager
def serving(database: str | Path, *options: str) -> Iterator[tuple[str, int]]:
    """Run ``sgi serve`` on a free port; yield its URL and its process id when it is ready."""
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", "--db", str(database), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
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
    time.sleep(8)  # the server prepares the scripts of the charts


def resident(process: int | str) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def processor(process: int) -> float:
    """Return the processor time of a process in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(
    url: str,
    triples: Sequence[dict[str, Any]],
    count: int | None,
    rate: float | None,
    seconds: float = 0.0,
    *,
    metrics: Sequence[str] = ("sgi",),
) -> Load:
    """Send single rows from another process, so that the clients do not share this interpreter."""
    bodies = [{"rows": [row], "metrics": list(metrics)} for row in triples]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_send_in_process, (url, bodies, count, rate, seconds))


def _send_in_process(
    url: str, bodies: list[dict[str, Any]], count: int | None, rate: float | None, seconds: float
) -> Load:
    return asyncio.run(_send(url, bodies, count, rate, seconds))


async def _send(
    url: str, bodies: list[dict[str, Any]], count: int | None, rate: float | None, seconds: float
) -> Load:
    """Run an open loop at a rate, or a closed loop for some seconds or requests."""
    import aiohttp

    milliseconds: list[float] = []
    errors = 0
    texts = itertools.cycle(bodies)

    async with aiohttp.ClientSession() as session:

        async def ask(due: float) -> None:
            nonlocal errors
            async with session.post(f"{url}/api/v1/score", json=next(texts)) as response:
                reply = await response.json()
            milliseconds.append((time.perf_counter() - due) * 1000)
            errors += response.status != 200 or "failed" in str(reply)  # noqa: PLR2004 - HTTP status

        start = time.perf_counter()
        if rate is not None:
            async with asyncio.TaskGroup() as tasks:
                for number in range(count or 0):
                    due = start + number / rate  # latency counts from here, also if the client is late
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                    tasks.create_task(ask(due))
        else:
            remaining = itertools.count() if count is None else iter(range(count))

            async def client() -> None:
                while (not seconds or time.perf_counter() - start < seconds) and next(
                    remaining, None
                ) is not None:
                    await ask(time.perf_counter())

            async with asyncio.TaskGroup() as tasks:
                for _ in range(CLIENTS):
                    tasks.create_task(client())
        return Load(milliseconds, errors, time.perf_counter() - start)


if __name__ == "__main__":
    benchmark_main(measure)
