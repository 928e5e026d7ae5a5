"""The notebooks run as they are, on a small part of the data, and hold no outputs in the repository."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.browser import chromium, watched_page

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
ANSWERS = "300"


def test_there_are_the_three_that_the_documents_name():
    assert [path.stem for path in NOTEBOOKS] == [
        "01_sgi_semantic_laziness",
        "02_cross_model_validation",
        "03_displacement_consistency",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_stored(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


# A process of its own: a kernel's client leaves its own answer to Ctrl-C behind.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


EVALUATE = """
import sgi
rows = [{"question": f"q{i}", "context": f"c{i}", "response": f"r{i}"} for i in range(300)]
made = sgi.evaluate(rows, ["sgi(sentences=false)"], cache=False)
"""


@pytest.mark.slow
def test_evaluate_shows_its_progress_and_clears_it(tmp_path):
    """In the kernel of a notebook, without a listener: one output, updated and empty at the end."""
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None, "outputs": []}
    notebook = {"cells": [cell | {"source": EVALUATE}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "in.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    command = [sys.executable, "-c", RUN, "in.ipynb", "out.ipynb"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (ran,) = json.loads((tmp_path / "out.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [output["data"] for output in ran["outputs"]] == [{"text/html": [], "text/plain": []}]


SHOW = """
import sgi
from sgi.analysis.compare import compare
from sgi_lab.card import detector_card
passages = ["The tower is 330 m tall."]
rows = [{"id": str(k), "question": f"q{k}", "contexts": passages, "label": 1 - k % 2,
         "response": f"It is {330 + k % 2} m tall.", "reference": "It is 330 m tall."} for k in range(40)]
result = sgi.evaluate(rows, ["rouge_l", "content_f1"], cache=False)
worse = sgi.evaluate([row | {"response": "No."} for row in rows], ["rouge_l"], cache=False)
compared = compare(result.named("monday"), worse.named("friday"))
card = detector_card("length", [k % 7 for k in range(40)], [row["label"] for row in rows], draws=20)
display(result, compared, sgi.check(contexts=passages, response="It is 312 m tall."), card)
"""
# What JupyterLab and exported pages, VS Code, and Colab set on the page of a light and of a dark theme.
THEMES = {
    "lab-light": ('<html><body data-jp-theme-light="true">', "#ffffff"),
    "lab-dark": ('<html><body data-jp-theme-light="false">', "#111111"),
    "code-light": ('<html><body class="vscode-light">', "#ffffff"),
    "code-dark": ('<html><body class="vscode-dark">', "#1e1e1e"),
    "colab-light": ('<html theme="light"><body>', "#ffffff"),
    "colab-dark": ('<html theme="dark"><body>', "#383838"),
}
CONTRAST = """ground => [...document.querySelectorAll(".sgi-result *")].flatMap(element => {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const luminance = text => {
    const parts = text.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  if (!own || element.tagName === "STYLE") return [];
  const [low, high] = [getComputedStyle(element).color, ground].map(luminance).sort((one, two) => one - two);
  return [(high + 0.05) / (low + 0.05)];
})"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The HTML of a result, a comparison, an evidence map and a card, as a kernel sends it."""
    folder = tmp_path_factory.mktemp("shown")
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None, "outputs": []}
    notebook = {"cells": [cell | {"source": SHOW}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "in.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    command = [sys.executable, "-c", RUN, "in.ipynb", "out.ipynb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (ran,) = json.loads((folder / "out.ipynb").read_text(encoding="utf-8"))["cells"]
    pages = [
        "".join(out["data"]["text/html"]) for out in ran["outputs"] if out.get("data", {}).get("text/html")
    ]
    assert len(pages) == 4
    return "".join(pages)


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
def test_a_static_page_shows_results_legibly_in_every_theme(shown, theme, tmp_path):
    opening, ground = THEMES[theme]
    ink = "#ffffff" if "dark" in theme else "#111111"
    page = opening + f"<style>body {{ background: {ground}; color: {ink}; }}</style>{shown}"
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{page}", encoding="utf-8")
    with chromium() as browser, watched_page(browser) as watched:
        watched.page.goto((tmp_path / "page.html").as_uri())
        rgb = ",".join(str(int(ground[place : place + 2], 16)) for place in (1, 3, 5))
        contrasts = watched.page.evaluate(CONTRAST, f"rgb({rgb})")
        assert len(contrasts) > 100
        assert min(contrasts) >= 4.5
        assert watched.page.locator(".sgi-result").count() == 4
        assert watched.page.locator(".verdict.worse").count() == 1
        assert watched.page.locator("mark.contradicted").count() == 1
    assert "<script" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path, data_folder, tmp_path):
    settings = {"SGI_DATA_DIR": str(data_folder), "SGI_NOTEBOOK_LIMIT": ANSWERS}
    command = [sys.executable, "-c", RUN, str(path), "done.ipynb"]
    result = subprocess.run(
        command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    notebook = json.loads((tmp_path / "done.ipynb").read_text(encoding="utf-8"))
    written = {entry.suffix for entry in (tmp_path / "results").rglob("*") if entry.is_file()}
    assert written == {".md", ".json", ".png", ".svg"}
    shown = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert any("text/markdown" in output.get("data", {}) for output in shown)
    assert any("image/svg+xml" in output.get("data", {}) for output in shown)
