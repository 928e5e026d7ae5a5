from __future__ import annotations

import sys
from pathlib import Path

import pytest

import peer_processes
from measured import by_turns
from peer_processes import NotInstalled, PeerFailed, peer

ROOT = Path(__file__).parents[3]
WORKER = """
import sys
sys.path.insert(0, {peers!r})
from answering import answer
def load(setting):
    print("noise of a library")
    done = []
    def work():
        print("more noise")
        done.append(len(setting["texts"]))
        if len(done) == setting["last"]:
            raise ValueError("the model is gone")
        return [sum(done)]
    return work, {{"version": "1.2"}}
answer(load)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch, benchmarks):
    """An environment that is this one, with a worker that counts its turns."""
    python = tmp_path / "environments" / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path / "environments"))
    monkeypatch.setattr(peer_processes, "WORKERS", tmp_path)
    script = WORKER.format(peers=str(benchmarks / "peers"))
    (tmp_path / "count.py").write_text(script, encoding="utf-8")


@pytest.mark.usefixtures("worker")
def test_a_peer_loads_once_and_works_when_told():
    with peer("counting", "count", {"texts": ["a", "b"], "last": 0}) as other:
        assert other.about == {"version": "1.2"}
        times = by_turns({"peer": other.go}, repeats=2, warm=1)
        assert other.result() == [6]
    assert len(times["peer"].seconds) == 2


@pytest.mark.usefixtures("worker")
def test_a_peer_that_dies_says_why():
    with (
        pytest.raises(PeerFailed, match="count failed: ValueError: the model is gone"),
        peer("counting", "count", {"texts": [], "last": 1}) as other,
    ):
        other.go()


@pytest.mark.usefixtures("worker")
def test_a_peer_that_never_loads_says_why():
    with pytest.raises(PeerFailed, match="KeyError: 'texts'"), peer("counting", "count", {}) as other:
        other.go()


def test_a_peer_without_an_environment_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path))
    with (
        pytest.raises(NotInstalled, match=r"ragas: not installed \(make bench-peers\)"),
        peer("ragas", "x", {}),
    ):
        pass


def test_every_environment_is_pinned_and_made():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (named,) = [line for line in makefile.splitlines() if line.startswith("PEERS :=")]
    files = {path.stem: path for path in (ROOT / "requirements" / "peers").glob("*.txt")}
    assert set(named.partition(":=")[2].split()) == set(files)
    for path in files.values():
        wanted = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert wanted
        assert all("==" in line for line in wanted), path
