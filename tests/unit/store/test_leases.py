"""One process writes a run; a dead one does not keep it, and no clock takes it from a live one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import RunBusyError
from sgi.kernel.registry import metric
from sgi.store import leases, schema
from sgi.store.run_queries import find_run
from sgi.store.writer import Setup, create_run, open_writer

HOLDER = """
import sys, time
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.writer import open_writer
with open_database(sys.argv[1]) as database:
    writer = open_writer(database, find_run(database, "last"))
    print("held", flush=True)
    time.sleep(120)
"""


def begun(database):
    return create_run(database, Setup("hash", "rows.jsonl", 4, {}, "spec", "sgi:1", {}, [metric("sgi")]))


def resumed(database, **more):
    return open_writer(database, find_run(database, "last"), **more)


def change(database, **values):
    with database.writing() as connection:
        connection.execute(sa.update(schema.leases).values(**values))


def held(database):
    with database.reading() as connection:
        return connection.execute(sa.select(schema.leases)).one()


@pytest.fixture
def holder(database, database_url):
    """A process that writes the run."""
    begun(database).stop("over")
    process = subprocess.Popen([sys.executable, "-c", HOLDER, database_url], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_is_told_who_writes_the_run(database, holder):
    with pytest.raises(RunBusyError, match=rf"{holder.pid} on .+ since 20\d\d-") as caught:
        resumed(database)
    assert "`take_over`" in caught.value.hint
    change(database, expires_at=0.0)  # a clock that jumped takes it from no live process
    with pytest.raises(RunBusyError, match=str(holder.pid)):
        resumed(database)
    resumed(database, take_over=True)
    assert held(database).pid == os.getpid()


def test_a_dead_process_does_not_keep_the_run(database, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert held(database).expires_at > time.time()
    resumed(database).stop("over")


def test_a_later_process_with_the_same_id_does_not_keep_the_run(database, holder):
    change(database, process=f"{holder.pid} 1")
    resumed(database)


def test_a_lease_of_another_machine_holds_until_it_expires(database):
    begun(database)
    change(database, machine="another", host="far", pid=7)
    with pytest.raises(RunBusyError, match="7 on far"):
        resumed(database)
    change(database, expires_at=time.time() - 1)
    resumed(database)


def test_a_write_holds_the_lease_for_longer(database):
    writer = begun(database)
    change(database, expires_at=0.0)
    writer.put_answers({})
    assert held(database).expires_at > time.time() + leases.LEASE_SECONDS / 2


def test_the_process_itself_keeps_a_run_as_long_as_it_writes_it(database):
    writer = begun(database)
    with pytest.raises(RunBusyError, match=str(os.getpid())):
        resumed(database)
    del writer  # as after an error that nobody could store
    resumed(database)


def test_who_lost_the_run_is_told_by_whom_and_leaves_it_alone(database):
    first = begun(database)
    second = resumed(database, take_over=True)
    with pytest.raises(RunBusyError, match=str(os.getpid())):
        first.put_answers({})
    with pytest.raises(RunBusyError):
        first.finish({})
    first.stop("it was taken over")
    assert find_run(database, "last").stopped is None
    second.stop("over")
    assert find_run(database, "last").stopped == "over"
    with pytest.raises(RunBusyError, match=first.run):
        first.put_answers({})
