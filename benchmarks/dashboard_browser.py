"""Measure the dashboard in Chromium: first paint and interactions of large runs, 1,000 runs, 200 viewers.

python benchmarks/dashboard_browser.py [--quick]

An interaction is measured in the page, from the input until the new rows are in the document. The viewers
are one process with `asyncio` and `aiohttp`; each requests pages one after another, with a pause of five
seconds: 40 pages per second.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import aiohttp
import numpy as np
from playwright.sync_api import sync_playwright

from dashboard import download
from harness import Figure, benchmark_main
from serving import serving
from sgi.engine.accumulator import Accumulator
from sgi.engine.score import BatchScores
from sgi.engine.summarise import summarise
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch
from sgi.reporting.views.run_views import make_views
from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.run_inserts import RunStart, insert_batch, insert_rows, insert_run, now, sample_row
from sgi.store.run_queries import find_run
from sgi.store.search_index import build_search_index
from stored_run import TEN_NAMES, random_sample, random_scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Page

    from sgi.store.database import Database

BATCH = 10_000
REPEATS = 5
RUNS = 1_000
VIEWERS, VIEWS, PAUSE = 200, 4, 5.0
PAINT, INTERACTION, LIST, BUSY = 0.3, 0.1, 0.2, 0.5
_CONNECTIONS = ("--max-connections-per-address", "512")
_FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_SWAP = """(change) => new Promise((resolve) => {
  const start = performance.now();
  document.addEventListener("htmx:after:swap", () => resolve(performance.now() - start), { once: true });
  const link = change.link && document.querySelectorAll("#rows thead a.sort")[change.link];
  if (link) { link.click(); return; }
  const form = document.getElementById("filters");
  for (const [name, value] of Object.entries(change)) form.elements[name].value = value;
  form.requestSubmit();
})"""
_NEXT_PAGE = """() => new Promise((resolve) => {
  const start = performance.now();
  const body = document.querySelector("#rows tbody");
  new MutationObserver((_, observer) => { observer.disconnect(); resolve(performance.now() - start); })
    .observe(body, { childList: true });
  const box = document.querySelector("#rows .box");
  box.scrollTop = box.scrollHeight;
})"""
_CHANGES: dict[str, dict[str, object]] = {
    "sort": {"link": 1},
    "filter by value": {"low": "0.4", "high": "0.{n}6"},
    "search": {"q": "number {n}7"},
}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Fill databases, and measure the pages of each."""
    shapes = (
        ((2_000, TEN_NAMES), (3_000, TEN_NAMES[:2]))
        if quick
        else ((100_000, TEN_NAMES), (10**6, TEN_NAMES[:2]))
    )
    with tempfile.TemporaryDirectory() as folder:
        for rows, names in shapes:
            place = str(Path(folder) / f"{rows}.db")
            fill(place, rows, names)
            with serving(place, *_CONNECTIONS) as (url, _):
                yield from measure_run(url, f"{rows:,} rows × {len(names)} metrics")
                yield from measure_viewers(url, f"{rows:,} rows")
        place = str(Path(folder) / "runs.db")
        runs = 30 if quick else RUNS
        fill_runs(place, runs)
        with serving(place) as (url, _):
            yield from measure_list(url, f"{runs:,} runs")


def fill(place: str, rows: int, names: Sequence[str]) -> None:
    """Store a finished run called ``wide`` with its views and its search index."""
    with open_database(place) as database:
        store_run(database, rows, "wide", names)
        make_views(database, find_run(database, "wide").id)
        build_search_index(database, find_run(database, "wide"))


def fill_runs(place: str, runs: int) -> None:
    """Store many runs of few rows."""
    with open_database(place) as database:
        for number in range(runs):
            store_run(database, 5, f"run-{number}", TEN_NAMES)


def store_run(database: Database, rows: int, name: str, names: Sequence[str]) -> None:
    """Store a finished run of random scores in large transactions; its summary is that of its first rows."""
    metrics, generator = [metric(name) for name in names], np.random.default_rng(0)
    start = RunStart(name, name, rows, {}, name, "", {}, metrics, name=name)
    with database.writing() as connection:
        numbers = insert_run(connection, name, start, now())
    for first in range(0, rows, BATCH):
        samples = [random_sample(number) for number in range(first, min(first + BATCH, rows))]
        scores = {name: random_scores(name, len(samples), generator) for name in names}
        with database.writing() as connection:
            insert_batch(connection, name, first, len(samples))
            insert_rows(
                connection, schema.samples, (sample_row(name, n, s) for n, s in enumerate(samples, first))
            )
            for metric_name, column in scores.items():
                number = numbers[metric_name]
                values = zip(column.values.tolist(), column.status.tolist(), column.reasons, strict=True)
                lines = (
                    (number, n, None if reason else value, status, reason or None)
                    for n, (value, status, reason) in enumerate(values, first)
                )
                insert_rows(connection, schema.scores, lines)
        if first == 0:
            accumulator = Accumulator()
            accumulator.add(Batch.of(samples), BatchScores(scores))
    summary = summarise(accumulator, metrics, "drawn").to_dict()
    with database.writing() as connection:
        finished = schema.runs.update().where(schema.runs.c.id == name)
        connection.execute(finished.values(finished_at=now(), summary=summary))


def measure_run(url: str, setup: str) -> Iterator[Figure]:
    """Measure the page of the run in a browser."""
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        yield figure(
            f"{setup}: first contentful paint",
            [paint(page, f"{url}/runs/wide") for _ in range(REPEATS)],
            PAINT,
        )
        for name, change in _CHANGES.items():
            times = []
            for turn in range(REPEATS):
                page.goto(f"{url}/runs/wide")
                one = {
                    key: value.format(n=turn + 5) if isinstance(value, str) else value
                    for key, value in change.items()
                }
                times.append(page.evaluate(_SWAP, one) / 1000)
            yield figure(f"{setup}: {name}", times, INTERACTION)
        times = []
        for _ in range(REPEATS):
            page.goto(f"{url}/runs/wide?metric=sgi&sort=lowest")
            times.append(page.evaluate(_NEXT_PAGE) / 1000)
        yield figure(f"{setup}: next page by scrolling", times, INTERACTION)
        for name, path in {
            "last page": "/runs/wide?page=999999999",
            "page of a row": "/runs/wide/samples/row-1500",
        }.items():
            times = [paint(page, url + path) for _ in range(REPEATS)]
            yield figure(f"{setup}: {name}, first contentful paint", times, PAINT)
        browser.close()


def measure_list(url: str, setup: str) -> Iterator[Figure]:
    """Measure the list of runs."""
    paths = {"list": "/", "list, last page": "/?page=999", "search in the list": "/?search=run-77"}
    for name, path in paths.items():
        yield figure(f"{setup}: {name}", [download(url + path).total for _ in range(REPEATS)], LIST)


def measure_viewers(url: str, setup: str) -> Iterator[Figure]:
    """Measure many viewers at once, in a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        times, errors = pool.apply(view_in_process, (url,))
    p95 = statistics.quantiles(times, n=20)[-1]
    note = f"median {statistics.median(times):.3f} s, {errors} of {len(times)} refused"
    work = f"{setup}: {VIEWERS} viewers, p95"
    yield Figure(work, "s", p95, wanted=BUSY, higher_is_better=False, note=note)


def view_in_process(url: str) -> tuple[list[float], int]:
    """Request pages as all viewers; return the seconds of each request, and the number of errors."""
    return asyncio.run(_view(url))


async def _view(url: str) -> tuple[list[float], int]:
    times: list[float] = []
    errors = 0
    paths = ["/", "/runs/wide", "/runs/wide?metric=sgi&sort=lowest", "/runs/wide?metric=sgi&low=0.4&page=7"]
    paths.append(f"/runs/wide?q={quote('number 57')}")
    connector = aiohttp.TCPConnector(limit=VIEWERS)
    async with aiohttp.ClientSession(url, connector=connector) as session:

        async def viewer(number: int) -> None:
            nonlocal errors
            await asyncio.sleep(PAUSE * number / VIEWERS)
            for view in range(VIEWS):
                start = time.perf_counter()
                async with session.get(paths[(number + view) % len(paths)]) as response:
                    await response.read()
                times.append(time.perf_counter() - start)
                errors += not response.ok
                await asyncio.sleep(PAUSE)

        await asyncio.gather(*map(viewer, range(VIEWERS)))
    return times, errors


def paint(page: Page, address: str) -> float:
    """Open a page, and return the seconds until its first contentful paint."""
    page.goto(address)
    page.wait_for_timeout(100)
    return float(page.evaluate(_FIRST_PAINT)) / 1000


def figure(work: str, times: Sequence[float], target: float) -> Figure:
    """Return the median of times with a target."""
    note = f"first {times[0]:.3f} s"
    repeats = {"ours": times}
    median = statistics.median(times)
    return Figure(work, "s", median, wanted=target, higher_is_better=False, note=note, repeats=repeats)


if __name__ == "__main__":
    benchmark_main(measure)
