"""The notebooks run as they are, on a small part of the data, and hold no outputs in the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
