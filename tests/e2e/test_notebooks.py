"""The notebooks run as they are, on a small part of the data, and hold no outputs in the repository."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

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
def test_no_output_is_kept(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.fixture
def _own_interrupt():
    """Running a kernel leaves its own answer to Ctrl-C behind, which later tests of this process would meet."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("_own_interrupt")
@pytest.mark.filterwarnings("default")  # what a kernel and its sockets warn of is not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path, data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_DATA_DIR", str(data_folder))
    monkeypatch.setenv("SGI_NOTEBOOK_LIMIT", ANSWERS)
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    written = {made.suffix for made in (tmp_path / "results").rglob("*") if made.is_file()}
    assert written == {".md", ".json", ".png", ".svg"}
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("text/markdown" in output.get("data", {}) for output in shown)
    assert any("image/svg+xml" in output.get("data", {}) for output in shown)
