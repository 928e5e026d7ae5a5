"""A command that is told to end says how to resume, and leaves no temporary file."""

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sgi.kernel.errors import StoreError
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
PATIENCE = 90.0
CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129}
ENDS = pytest.mark.parametrize(("sent", "code"), CODES.items())
ENDS_ALL = pytest.mark.parametrize(("sent", "code"), {signal.SIGINT: 130, **CODES}.items())


def command(folder, *words):
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait(holds, process):
    until = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.1)


@ENDS_ALL
def test_a_run_says_how_to_resume_and_leaves_no_temporary_file(tmp_path, data_folder, sent, code):
    lines = (data_folder / "halueval_qa.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[:2000]))  # of two answers each
    process = command(tmp_path, "-m", "sgi", "run", "rows.jsonl", "-m", "theta_rq", "-o", "out.csv")
    wait(lambda: batches(tmp_path), process)
    assert list(tmp_path.glob(".sgi-*.part"))
    process.send_signal(sent)
    _, err = process.communicate(timeout=PATIENCE)
    with open_database(tmp_path / "sgi.db", create=False) as database:
        (record,) = list_runs(database)
    assert process.returncode == code, err
    assert f"sgi run --resume {record.id}" in err
    assert (record.stopped, record.finished) == ("interrupted", False)
    assert not list(tmp_path.glob(".sgi-*.part"))


def batches(folder):
    """Whether some rows of a run are committed."""
    with suppress(StoreError), open_database(folder / "sgi.db", create=False) as database:
        return any(record.scored for record in list_runs(database))
    return False


ROW = json.dumps({"response": "a", "reference": "a"}) + "\n"
FILTER = ("score", "-m", "squad_em")
IGNORING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from sgi.cli.main import main
main()
"""


def ready(process, number=signal.SIGTERM):
    """Wait until the process catches a signal."""
    status = Path(f"/proc/{process.pid}/status")
    bit = 1 << (number - 1)
    wait(lambda: int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & bit, process)
    return process


@ENDS
def test_a_filter_ends_without_a_traceback(tmp_path, sent, code):
    process = ready(command(tmp_path, "-m", "sgi", *FILTER), sent)
    process.send_signal(sent)
    _, err = process.communicate(timeout=PATIENCE)
    # CPython ends by SIGINT if the interrupt met an `exec` of a text during an import, even if it is handled.
    assert process.returncode in {code, -signal.SIGINT}
    assert "Traceback" not in err


NAMING = """
import os
from sgi.cli.stop_signals import run_until_signal

class Name:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), {number})

def command():
    class Owner:
        name = Name()

run_until_signal(command)
"""


@ENDS_ALL
def test_a_signal_that_meets_the_making_of_a_class(tmp_path, sent, code):
    process = command(tmp_path, "-c", NAMING.format(number=int(sent)))
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (code, "")


CLEAN_UP_AFTER_A_SIGNAL = """
import os, signal
from sgi.cli.stop_signals import run_until_signal

def command():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        raise ValueError("the disk is full")

run_until_signal(command)
"""
ITS_OWN_CAUSE = """
from sgi.cli.stop_signals import run_until_signal

def command():
    error = ValueError("the disk is full")
    raise error from error

run_until_signal(command)
"""


@pytest.mark.parametrize("failing", [CLEAN_UP_AFTER_A_SIGNAL, ITS_OWN_CAUSE])
def test_an_error_is_shown(tmp_path, failing):
    process = command(tmp_path, "-c", failing)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "ValueError: the disk is full" in err


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    process = ready(command(tmp_path, "-c", IGNORING, *FILTER))
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(ROW, timeout=PATIENCE)
    assert (process.returncode, len(out.splitlines())) == (0, 1)
