"""Write docs/images: screenshots of reports, the dashboard, an evidence map and the terminal.

The script scores the bundled HaluEval sample and one answer for the map, and opens the pages in a browser. It
needs the extra `web`, Playwright and Debian's Chromium. Run
`python scripts/make_screenshots.py [FOLDER]`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MAX_BYTES = 250_000
"""Limit per image, so that the repository stays small."""
WIDTH, TALL, SHORT = 1280, 1300, 640
COLUMNS, LINES = 130, 27
"""Size of the terminal."""
RUNS = {
    "halueval-qa": "grounding,sgi,semantic_similarity,lexical_aggregate",
    "halueval-lexical": "rouge_l,content_f1,squad_token_f1",
    "halueval-angles": "sgi,theta_rq,theta_rc",
}
LONG = 18
"""Questions with more words than this are long."""
NIGHTS, GOOD_NIGHTS = 8, 5
ANSWER = {
    "id": "tower",
    "question": "How tall is the tower, and who built it?",
    "contexts": [
        "The Eiffel Tower is 330 m tall. It stands on the Champ de Mars.",
        "The company of Gustave Eiffel built the tower from 1887 to 1889.",
        "Bees sleep between five and eight hours a day.",
    ],
    "response": "The tower is 312 m tall. The company of Gustave Eiffel built the tower in two years. "
    "It was sold to Spanish investors.",
}


def sgi(*arguments: str, folder: Path) -> None:
    """Run an `sgi` command in a folder."""
    subprocess.run([sys.executable, "-m", "sgi", *arguments], cwd=folder, check=True)  # noqa: S603 - our own command


def score(folder: Path) -> None:
    """Score the bundled sample in three runs, and write the report of the first."""
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        for name, metrics in RUNS.items():
            sgi("run", str(sample), "-m", metrics, "--name", name, "-q", folder=folder)
            sgi("tag", name, "halueval", metrics.partition(",")[0], folder=folder)
    sgi("report", next(iter(RUNS)), "-o", "report.html", folder=folder)


def rank(folder: Path) -> None:
    """Write the report of a leaderboard: the answers of the sample, and two shorter versions of each."""
    rows = []
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        items = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    for number, item in enumerate(items):
        words = item["hallucinated_answer"].split()
        answers = {
            "right answer": item["right_answer"],
            "hallucinated answer": item["hallucinated_answer"],
            "its first half": " ".join(words[: (len(words) + 1) // 2]),
        }
        rows += [
            {
                "id": f"{number} {system}",
                "question": item["question"],
                "contexts": [item["knowledge"]],
                "response": answer,
                "reference": item["right_answer"],
                "system": system,
                "length": "long question" if len(item["question"].split()) > LONG else "short question",
            }
            for system, answer in answers.items()
        ]
    (folder / "systems.json").write_text(json.dumps(rows), encoding="utf-8")
    sgi("run", "systems.json", "-m", "grounding,rouge_l_recall", "--name", "answers", "-q", folder=folder)
    parts = ["--by", "system", "--within", "length", "--pareto", "grounding,rouge_l_recall"]
    sgi("report", "answers", *parts, "-o", "leaderboard.html", folder=folder)


def ground(folder: Path) -> str:
    """Score one answer with its evidence; return the path of its page."""
    (folder / "tower.json").write_text(json.dumps([ANSWER]), encoding="utf-8")
    sgi("run", "tower.json", "-m", "grounding", "--name", "grounded", "-q", folder=folder)
    return f"runs/grounded/samples/{ANSWER['id']}"


def decline(folder: Path) -> str:
    """Score the same questions in eight runs, the last three worse; return the path of their trend."""
    with as_file(files("sgi") / "data" / "halueval_qa_sample.jsonl") as sample:
        items = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()][:80]
    for night in range(1, NIGHTS + 1):
        every = 20 if night <= GOOD_NIGHTS else 4
        rows = [
            {
                "id": number,
                "question": item["question"],
                "contexts": [item["knowledge"]],
                "response": item["hallucinated_answer" if number % every == night % 3 else "right_answer"],
            }
            for number, item in enumerate(items)
        ]
        (folder / "nightly.json").write_text(json.dumps(rows), encoding="utf-8")
        sgi("run", "nightly.json", "-m", "grounding", "--name", f"night-{night}", "-q", folder=folder)
    return "trends?data=nightly.json&metric=grounding&x=run"


def design(folder: Path) -> str:
    """Write the page with one example of each component, and return its URL."""
    for package, name in (("sgi.reporting", "assets/sgi.css"), ("sgi_web", "static/dashboard.css")):
        text = (files(package) / name).read_text(encoding="utf-8")
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    page = folder / "design_examples.html"
    shutil.copy(Path(__file__).with_name(page.name), page)
    return page.as_uri()


@contextmanager
def dashboard(folder: Path) -> Iterator[str]:
    """Serve the dashboard of the runs, and yield its URL."""
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(timeout=30)


def screenshot(
    browser: Browser,
    address: str,
    target: Path,
    *,
    height: int = TALL,
    scheme: str = "light",
    link: str = "",
    selector: str = "",
    full: bool = False,
) -> None:
    """Save the first screen of a page with its charts, the full page, or the element of a selector."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address)
    if link:
        page.click(f"a:has-text('{link}')")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2000)  # charts are drawn after the page has loaded
    if selector:
        page.locator(selector).screenshot(path=target)
    else:
        page.screenshot(path=target, full_page=full)
    context.close()
    size = target.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{target.name} has {size:,} bytes; the limit is {MAX_BYTES:,}.")
    print(f"{target}: {size:,} bytes")


def terminal_page(folder: Path) -> Path:
    """Write a page with the output of `sgi show`, in the width of the other images."""
    run = next(iter(RUNS))
    command = [sys.executable, "-m", "sgi", "show", run]
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    output = subprocess.run(command, cwd=folder, env=os.environ | colours, check=True, capture_output=True)  # noqa: S603 - our own command
    paper = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in output.stdout.decode().splitlines()[:LINES]:
        paper.print(Text.from_ansi(line))
    paper.save_svg(str(folder / "terminal-show.svg"), title=f"sgi show {run}")
    page = folder / "terminal-show.html"
    page.write_text(f'<img src="terminal-show.svg" width="{WIDTH}">', encoding="utf-8")
    return page


def main() -> None:
    """Score the data, serve the dashboard, and save the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    images = parser.parse_args().folder
    images.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or sys.exit("needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        score(folder)
        rank(folder)
        terminal = terminal_page(folder).as_uri()
        with dashboard(folder) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            report = (folder / "report.html").as_uri()
            screenshot(browser, report, images / "report.png")
            screenshot(browser, report, images / "report-dark.png", scheme="dark")
            board = (folder / "leaderboard.html").as_uri()
            screenshot(browser, board, images / "leaderboard.png")
            screenshot(browser, address, images / "dashboard.png", height=SHORT)
            screenshot(browser, address, images / "run-page.png", link=next(iter(RUNS)))
            row = f"{address.rstrip('/')}/{ground(folder)}"
            screenshot(browser, row, images / "evidence-map.png", selector=".support")
            for scheme in ("light", "dark"):
                screenshot(browser, design(folder), images / f"design-{scheme}.png", scheme=scheme, full=True)
            trend = f"{address.rstrip('/')}/{decline(folder)}"
            screenshot(browser, trend, images / "trend.png", height=SHORT)
            label = f"{address.rstrip('/')}/runs/{next(iter(RUNS))}/label"
            screenshot(browser, label, images / "label.png", height=SHORT)
            screenshot(browser, terminal, images / "terminal-show.png", selector="img")
            browser.close()


if __name__ == "__main__":
    main()
