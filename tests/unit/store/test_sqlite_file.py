from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from sgi.store.sqlite_file import connect, write_ahead


def test_a_new_file_is_the_users_alone_and_an_old_one_keeps_its_mode(tmp_path):
    connect(tmp_path / "new").close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    (tmp_path / "old").touch(0o640)
    (tmp_path / "old").chmod(0o640)
    connect(tmp_path / "old").close()
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640


def test_no_transaction_begins_by_itself(tmp_path):
    with closing(connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE a (x)")
        connection.execute("INSERT INTO a VALUES (1)")
        assert not connection.in_transaction


SWITCH = """
import sys
from pathlib import Path
from sgi.store.sqlite_file import connect, write_ahead
sys.stdin.readline()
connection = connect(Path(sys.argv[1]))
write_ahead(connection, durable=True)
connection.execute("CREATE TABLE IF NOT EXISTS a (x)")
connection.close()
"""


def test_processes_that_switch_at_once_all_succeed(tmp_path):
    start = [sys.executable, "-c", SWITCH, str(tmp_path / "a.db")]
    running = [subprocess.Popen(start, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 6, errors


def test_a_switch_that_fails_otherwise_is_told(tmp_path):
    with closing(connect(tmp_path / "a.db")) as connection:
        (tmp_path / "a.db").write_bytes(b"no database" * 100)
        with pytest.raises(sqlite3.DatabaseError, match="not a"):
            write_ahead(connection, durable=True)


def test_another_connection_does_not_end_the_locks_of_the_first(tmp_path):
    """Otherwise a process that closes its own connection removes the log that this one still reads."""
    with closing(connect(tmp_path / "a.db")) as first:
        write_ahead(first, durable=True)
        first.execute("CREATE TABLE b (x)")
        connect(tmp_path / "a.db").close()
        subprocess.run([sys.executable, "-c", SWITCH, tmp_path / "a.db"], input=b"go\n", check=True)
        assert (tmp_path / "a.db-wal").exists()
        first.execute("SELECT * FROM a")
