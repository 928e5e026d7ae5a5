from __future__ import annotations

import sys
from pathlib import Path

import pytest

import peer_processes
from harness import time_alternately
from peer_processes import NotInstalledError, PeerError, peer

ROOT = Path(__file__).parents[3]
WORKER = """
import sys
sys.path.insert(0, {peers!r})
from worker import serve
def load(setting):
    print("noise of a library")
    counts = []
    def work():
        print("more noise")
        counts.append(len(setting["texts"]))
        if len(counts) == setting["last"]:
            raise ValueError("the model is gone")
        return [sum(counts)]
    return work, {{"version": "1.2"}}
serve(load)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch, benchmarks):
    """Use this environment as a peer's, with a worker that counts its runs."""
    python = tmp_path / "environments" / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path / "environments"))
    monkeypatch.setattr(peer_processes, "WORKERS", tmp_path)
    script = WORKER.format(peers=str(benchmarks / "peers"))
    (tmp_path / "count.py").write_text(script, encoding="utf-8")


@pytest.mark.usefixtures("worker")
def test_a_peer_loads_once_and_runs_on_request():
    with peer("counting", "count", {"texts": ["a", "b"], "last": 0}) as other:
        assert other.about == {"version": "1.2"}
        times = time_alternately({"peer": other.run}, repeats=2, warm=1)
        assert other.result() == [6]
    assert len(times["peer"].seconds) == 2


@pytest.mark.usefixtures("worker")
def test_an_error_in_the_work_of_a_peer_is_reported():
    with (
        pytest.raises(PeerError, match="count failed: ValueError: the model is gone"),
        peer("counting", "count", {"texts": [], "last": 1}) as other,
    ):
        other.run()


@pytest.mark.usefixtures("worker")
def test_an_error_while_a_peer_loads_is_reported():
    with pytest.raises(PeerError, match="KeyError: 'texts'"), peer("counting", "count", {}) as other:
        other.run()


def test_a_peer_without_an_environment_raises_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path))
    with (
        pytest.raises(NotInstalledError, match=r"ragas: not installed \(make bench-peers\)"),
        peer("ragas", "x", {}),
    ):
        pass


def test_every_environment_is_pinned_and_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (names,) = [line for line in makefile.splitlines() if line.startswith("PEERS :=")]
    files = {path.stem: path for path in (ROOT / "requirements" / "peers").glob("*.txt")}
    assert set(names.partition(":=")[2].split()) == set(files)
    for path in files.values():
        requirements = [
            line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
        ]
        assert requirements
        assert all("==" in line for line in requirements), path
