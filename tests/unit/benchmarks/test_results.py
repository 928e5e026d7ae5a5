import json
import shutil
import subprocess
from datetime import UTC, datetime

import pytest

import results
from harness import Figure
from results import machine, versions, write

NOW = datetime(2026, 11, 22, 14, 30, tzinfo=UTC)
FIGURES = [
    Figure("embed", "texts/s", 400.0, 100.0, "peer", wanted=2.5, repeats={"ours": (390.0, 400.0, 410.0)}),
    Figure("geometry", "s", None, note="FAILED: no memory | no swap"),
]


def test_the_record_has_every_figure_with_repeats_and_the_machine(tmp_path):
    path = write(FIGURES, tmp_path / "results", NOW)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert path.name.startswith("2026-11-22-")
    assert record["date"] == "2026-11-22T14:30:00+00:00"
    assert record["figures"][0]["ratio"] == 4.0
    assert record["figures"][0]["met"] is True
    assert record["figures"][0]["repeats"] == {"ours": [390.0, 400.0, 410.0]}
    assert record["figures"][1]["met"] is None
    assert record["versions"]["numpy"] == versions()["numpy"]
    assert record["machine"] == machine()
    assert record["machine"]["cores"] >= 1
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "| embed | 400 texts/s | peer: 100 | 4 × | ≥ 2.5 × | yes |" in page
    assert "FAILED" in page


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_changed_result_files_do_not_make_the_revision_dirty(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    for file in (tmp_path / "code.py", folder / "figures.json"):
        file.write_text("1", encoding="utf-8")
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for arguments in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    monkeypatch.setattr(results, "CODE", tmp_path)
    clean = results.revision()
    assert len(clean) == 12
    (folder / "figures.json").write_text("2", encoding="utf-8")
    assert results.revision() == clean
    (tmp_path / "code.py").write_text("2", encoding="utf-8")
    assert results.revision() == f"{clean}-dirty"
