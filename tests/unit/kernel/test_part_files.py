from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sgi.kernel.durable_files import open_part

KILLED = """
import os, signal, sys
from pathlib import Path
from sgi.kernel.durable_files import open_part
path, file = open_part(Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def abandoned(tmp_path):
    """The file of a process that was killed an hour ago."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (path,) = tmp_path.glob(".sgi-*.part")
    os.utime(path, (0, 0))
    return path


def test_the_next_write_removes_the_file_of_a_process_that_was_killed(tmp_path, abandoned):
    path, file = open_part(tmp_path)
    file.close()
    assert list(tmp_path.iterdir()) == [path] != [abandoned]


def test_a_file_that_is_being_written_or_was_just_made_stays(tmp_path):
    old, file = open_part(tmp_path)
    os.utime(old, (0, 0))
    young = tmp_path / ".sgi-0000000000000000.part"
    young.touch()
    with file:
        path, other = open_part(tmp_path)
        other.close()
    assert set(tmp_path.iterdir()) == {old, young, path}
