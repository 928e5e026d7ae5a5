"""A database that may only be read is read, with the transactions that a crash left beside it."""

import os
import subprocess
import sys

import pytest

from sgi.store.database import open_database
from support.runs import add_run
from support.unprivileged import sgi

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are told otherwise here")

CRASH = """
import os, sys
from sgi.store.database import open_database
database = open_database(sys.argv[1])
with database.writing() as connection:
    connection.exec_driver_sql("UPDATE runs SET name = 'renamed'")
os._exit(9)
"""


@pytest.fixture(
    params=[
        pytest.param("whole", marks=pytest.mark.slow),
        "after a crash",
        pytest.param("after a crash, with its index", marks=pytest.mark.slow),
    ]
)
def path(request, tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    with open_database(folder / "sgi.db") as database:
        add_run(database, name="first")
    name = "first"
    if request.param != "whole":
        subprocess.run([sys.executable, "-c", CRASH, str(folder / "sgi.db")], check=False)
        assert (folder / "sgi.db-wal").stat().st_size
        name = "renamed"
    if request.param == "after a crash":
        (folder / "sgi.db-shm").unlink()
    yield folder / "sgi.db", name
    folder.chmod(0o700)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode"), [(0o444, 0o555), pytest.param(0o644, 0o555, marks=pytest.mark.slow)]
)
def test_it_is_read_as_it_is_and_nothing_is_changed(tmp_path, path, file_mode, folder_mode):
    database, name = path
    for file in database.parent.iterdir():
        file.chmod(file_mode if file == database else 0o444)
    database.parent.chmod(folder_mode)
    before = database.read_bytes()
    for words in (["runs"], ["show", name, "--sample", "q1"]):
        result = sgi(tmp_path, *words, "--db", str(database))
        assert result.returncode == 0, (words, result.stderr)
        assert name in result.stdout
    refused = sgi(tmp_path, "runs", "rename", name, "other", "--db", str(database))
    assert (refused.returncode, "readonly" in refused.stderr) == (2, True), refused.stderr
    assert database.read_bytes() == before
