"""A child of a process whose threads use a cache or a database has connections of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sgi.store.cache import SqliteCache
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from support.runs import add_run

FORKS = 20
CACHE = """
import os, sys, threading
from sgi.store.cache import SqliteCache

cache, done = SqliteCache(sys.argv[1]), threading.Event()

def work(thread):
    step = 0
    while not done.is_set():
        cache.put_many({f"{thread}-{step}-{k}".encode(): b"v" * 200 for k in range(20)})
        step += 1

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
codes = []
for n in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        cache.put_many({f"child-{n}".encode(): b"kept"})
        os._exit(0 if cache.get_many([f"child-{n}".encode()]) else 1)
    codes.append(os.waitpid(child, 0)[1])
done.set()
for thread in threads:
    thread.join()
cache.close()
sys.exit(any(codes))
"""
DATABASE = """
import os, sys
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs

database = open_database(sys.argv[1])
before = len(list_runs(database))
child = os.fork()
if not child:
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET name = 'of the child'")
    os._exit(0)
code = os.waitpid(child, 0)[1]
database_is_fine = list_runs(database)[0].name == "of the child"
sys.exit(code or not database_is_fine)
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def test_a_child_of_busy_threads_never_waits_for_a_lock_it_inherited(tmp_path):
    path = tmp_path / "vectors.db"
    command = [sys.executable, "-W", "ignore", "-c", CACHE, str(path), str(FORKS)]
    subprocess.run(command, check=True, timeout=120)
    with SqliteCache(path) as cache:
        assert len(cache.get_many([f"child-{n}".encode() for n in range(FORKS)])) == FORKS
        assert cache._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_parent_and_child_have_connections_of_their_own(database_url):
    with open_database(database_url) as database:
        add_run(database)
    subprocess.run([sys.executable, "-c", DATABASE, database_url], check=True, timeout=60)
    with open_database(database_url) as database:
        assert list_runs(database)[0].name == "of the child"
