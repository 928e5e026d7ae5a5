"""Measure the HTML report of 10,000 rows: writing it, its size, and opening it in Chromium.

python benchmarks/report.py [--quick]

The rows are those of the bundled HaluEval sample, repeated under new ids, with `grounding` and its evidence.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from harness import Figure, benchmark_main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 10_000
METRICS = "grounding,sgi,rouge_l,content_f1,semantic_similarity"
REPEATS = 5
_MOMENTS = {
    "paint": "first contentful paint",
    "usable": "the table of rows works",
    "drawn": "all charts are drawn, also in closed sections",
}
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
_WATCH = """new MutationObserver((_, observer) => {
  if (!document.querySelector("#pages:not([hidden])")) return;
  window.usableAt = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true });"""


def measure(*, quick: bool) -> Iterator[Figure]:
    """Score the rows once, and measure the report."""
    rows = 200 if quick else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.jsonl", rows)
        sgi("run", "rows.jsonl", "-m", METRICS, "--name", "rows", "-q", folder=folder)
        seconds = [sgi("report", "rows", "-o", "report.html", folder=folder) for _ in range(REPEATS)]
        size = (folder / "report.html").stat().st_size / 1e6
        setup = f"report of {rows:,} rows × {METRICS.count(',') + 1} metrics"
        yield Figure(
            f"{setup}: sgi report", "s", statistics.median(seconds), wanted=5, higher_is_better=False
        )
        yield Figure(f"{setup}: size", "MB", size, wanted=4, higher_is_better=False)
        times = [opening((folder / "report.html").as_uri()) for _ in range(REPEATS)]
        for key, what in _MOMENTS.items():
            median = statistics.median(one[key] for one in times) / 1000
            wanted = None if key == "drawn" else 1
            yield Figure(f"{setup}: {what}", "s", median, wanted=wanted, higher_is_better=False)


def write_rows(path: Path, rows: int) -> None:
    """Write rows with passages, response, reference and label."""
    sample = files("sgi") / "data" / "halueval_qa_sample.jsonl"
    items = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            item = items[number // 2 % len(items)]
            is_right = number % 2 == 0
            row = {
                "id": f"row-{number}",
                "question": item["question"],
                "contexts": [item["knowledge"]],
                "response": item["right_answer" if is_right else "hallucinated_answer"],
                "reference": item["right_answer"],
                "label": is_right,
            }
            stream.write(json.dumps(row) + "\n")


def sgi(*arguments: str, folder: Path) -> float:
    """Run an `sgi` command in a folder, and return its seconds."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sgi", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def opening(address: str) -> dict[str, float]:
    """Open a page in a new browser, and return its times in milliseconds."""
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.add_init_script(_WATCH)
        page.goto(address)
        page.wait_for_selector("html[data-charts=drawn]")
        times = {"paint": page.evaluate(_PAINT), "usable": page.evaluate("() => window.usableAt")}
        times["drawn"] = page.evaluate("() => performance.now()")
        browser.close()
    return times


if __name__ == "__main__":
    benchmark_main(measure)
