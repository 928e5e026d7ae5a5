"""A disk that fails at the n-th call: the run says so, and the next one ends as if nothing had happened.

strace makes single system calls of the real command fail. After each: nothing that was stored is lost, no
part of an output file is left, no exit code 0 without the whole result, and the resumed run gives the same
bytes.
"""

import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from support.judged_runs import CountingServer, rows_file, start
from support.runs import add_run

ROWS = 6
SWEPT = 2
pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


def run(folder, *words, strace=()):
    before = ("strace", "-f", *strace) if strace else ()
    process = start(folder, *words, before=before)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())


def stored_runs(folder):
    """How many runs the database holds; it must be sound."""
    if not (folder / "runs.db").exists():
        return 0
    with closing(sqlite3.connect(folder / "runs.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return connection.execute("SELECT count(*) FROM runs").fetchone()[0] if "runs" in tables else 0


def replies(folder):
    path = folder / "cache" / "replies.db"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return connection.execute("SELECT count(*) FROM entries").fetchone()[0] if "entries" in tables else 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error"),
    [("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("fsync", "EIO")],
)
def test_a_call_that_fails_costs_no_more_than_the_run(tmp_path, call, error):
    chance = random.Random(call + error)
    with CountingServer(0.002) as server:
        judge = ("--judge", f"openai:m@{server.url}")
        words = ("rows.jsonl", "-m", "faithfulness,theta_rq", *judge, "-o", "scores.jsonl")
        whole = tmp_path / "whole"
        whole.mkdir()
        rows_file(whole, ROWS)
        assert run(whole, *words, strace=("-e", f"trace={call}", "-o", "calls")).returncode == 0
        calls = (whole / "calls").read_text().count(f" {call}(")
        wanted = (whole / "scores.jsonl").read_bytes()
        for number in sorted(chance.sample(range(1, calls + 1), min(SWEPT, calls))):
            folder = tmp_path / str(number)
            folder.mkdir()
            rows_file(folder, ROWS)
            fault = f"inject={call}:error={error}:when={number}"
            failed = run(folder, *words, strace=("-o", "/dev/null", "-e", f"trace={call}", "-e", fault))
            assert failed.returncode in {0, 2}, failed.stderr
            assert "Traceback" not in failed.stderr
            assert bool(failed.returncode) == failed.stderr.startswith(
                ("Error:", "Finished batches are stored.")
            )
            if failed.returncode == 0:  # SQLite moves transactions out of their file later
                assert (folder / "scores.jsonl").read_bytes() == wanted
            assert not list(folder.glob(".sgi-*.part"))
            known, asked = replies(folder), len(server.requests)
            resume = ("--resume", "last", "--trust-target", "-o", "scores.jsonl")
            resumed = run(folder, *(resume if stored_runs(folder) else words))
            assert resumed.returncode == 0, resumed.stderr
            assert (folder / "scores.jsonl").read_bytes() == wanted
            assert len(server.requests) - asked <= 2 * ROWS - known


def test_a_page_that_cannot_be_read_is_not_reported_as_damage(tmp_path):
    verify = "import sys; from sgi.store.database import open_database; open_database(sys.argv[1]).verify()"
    path, log = tmp_path / "runs.db", tmp_path / "calls"
    samples = [Sample(id=f"q{n}", question="x" * 300) for n in range(200)]
    with open_database(path) as database:
        add_run(database, samples=samples, scores={"sgi": [0.5] * len(samples)})
    command = (sys.executable, "-c", verify, str(path))
    subprocess.run(["strace", "-f", "-o", log, "-e", "trace=pread64", *command], check=True)
    fault = f"inject=pread64:error=EIO:when={log.read_text().count(' pread64(') // 2}"  # of the check
    failing = ["strace", "-f", "-o", "/dev/null", "-e", "trace=pread64", "-e", fault, *command]
    failed = subprocess.run(failing, capture_output=True, text=True, check=False)
    assert failed.stderr.splitlines()[-1] == (
        f"sgi.kernel.errors.StoreError: The database {path} cannot be used: disk I/O error. "
        "Check the disk and its free space; what was written before is kept, and you can resume the run."
    )
