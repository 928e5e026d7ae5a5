from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import peer_processes
from harness import time_alternately
from peer_processes import PeerError, peer, start_peer

ROOT = Path(__file__).parents[3]
COUNT = """
def count(texts, last):
    print("noise of a library")
    counts = []
    def work():
        print("more noise")
        counts.append(len(texts))
        if len(counts) == last:
            raise ValueError("the model is gone")
        return [sum(counts)]
    return work, "counter 1.2"

"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Use this environment as a peer's, and a worker with a function that counts its runs."""
    python = tmp_path / "counting" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("SGI_BENCH_PEERS", str(tmp_path))
    code, main, rest = peer_processes.WORKER.read_text(encoding="utf-8").partition("if __name__")
    monkeypatch.setattr(peer_processes, "WORKER", tmp_path / "worker.py")
    (tmp_path / "worker.py").write_text(f"{code}{COUNT}{main}{rest}", encoding="utf-8")


@pytest.mark.usefixtures("worker")
def test_a_peer_loads_once_and_runs_on_request():
    with ExitStack() as stack:
        other, name = start_peer(stack, "counting", "count", texts=["a", "b"], last=0)
        assert name == other.name == "counter 1.2"
        times = time_alternately({"peer": other.run}, repeats=2, warm=1)
        assert other.result() == [6]
    assert len(times["peer"].seconds) == 2


@pytest.mark.usefixtures("worker")
def test_an_error_in_the_work_of_a_peer_is_reported():
    with (
        pytest.raises(PeerError, match="ValueError: the model is gone"),
        peer("counting", "count", {"texts": [], "last": 1}) as other,
    ):
        other.run()


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("environment", "setting", "reason"),
    [("counting", {"last": 0}, "texts"), ("ragas", {}, "ragas: not installed")],
)
def test_a_peer_that_cannot_be_loaded_has_a_reason(environment, setting, reason):
    with ExitStack() as stack:
        other, note = start_peer(stack, environment, "count", **setting)
    assert other is None
    assert reason in note


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
