"""Leases: one process at a time writes a run, and a dead process does not block it.

A lease is a row that names its owner. On the owner's machine it is valid while the owner's process lives.
Other machines cannot see the process: for them it expires some minutes after the owner's last write, by the
clock of the database.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import sqlalchemy as sa

from sgi.kernel.errors import RunBusyError, StoreError
from sgi.store import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

LEASE_SECONDS = 600.0
"""How long a lease of another machine is valid after the owner's last write."""
_HELD: WeakSet[Lease] = WeakSet()
"""The leases of this process, as weak references: a lease ends with its writer."""
_CLOCKS = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
}


_RENEWAL = (
    sa.update(schema.leases)
    .where(schema.leases.c.run == sa.bindparam("of_run"), schema.leases.c.owner == sa.bindparam("of_owner"))
    .values(expires_at=sa.bindparam("until"))
)
"""Built once, since each transaction of a run executes it."""


@dataclass(eq=False)
class Lease:
    """The exclusive right of this process to write a run; ``owner`` is a random token of this lease."""

    run: str
    owner: str = field(default_factory=lambda: secrets.token_hex(8))

    def take(self, connection: Connection, moment: str, *, take_over: bool = False) -> None:
        """Take the lease in the open transaction; with ``take_over``, also from a live process.

        Raises RunBusyError if another process has it, StoreError if the run was deleted.
        """
        runs = schema.runs
        query = sa.select(runs.c.id).where(runs.c.id == self.run).with_for_update()  # one after the other
        if connection.execute(query).first() is None:
            raise _deleted_error(self.run)
        held = _lease_of(connection, self.run)
        if held is not None and not take_over and _is_valid(held, _database_time(connection)):
            message = f"The run {self.run} is being written by {_owner(held)} since {held.since}."
            hint = "Wait until it ends, or stop it; `take_over` takes the run from it."
            raise RunBusyError(message, hint=hint)
        connection.execute(sa.delete(schema.leases).where(schema.leases.c.run == self.run))
        connection.execute(
            sa.insert(schema.leases).values(
                run=self.run,
                owner=self.owner,
                host=socket.gethostname(),
                machine=_machine(),
                process=_process(os.getpid()) or "",
                since=moment,
                pid=os.getpid(),
                expires_at=_database_time(connection) + LEASE_SECONDS,
            )
        )
        _HELD.add(self)

    def renew(self, connection: Connection) -> None:
        """Extend the lease; part of each transaction that writes the run.

        Raises StoreError if another process took it over, or the run was deleted.
        """
        until = _database_time(connection) + LEASE_SECONDS
        values = {"of_run": self.run, "of_owner": self.owner, "until": until}
        if connection.execute(_RENEWAL, values).rowcount:
            return
        query = sa.select(schema.runs.c.id).where(schema.runs.c.id == self.run)
        if connection.execute(query).first() is None:
            raise _deleted_error(self.run)
        held = _lease_of(connection, self.run)
        by = "another process" if held is None else _owner(held)
        raise RunBusyError(
            f"The run {self.run} was taken over by {by}.",
            hint="Batches that this process finished remain stored.",
        )

    def release(self, connection: Connection) -> bool:
        """Release the lease; return False if this process no longer holds it."""
        leases = schema.leases
        mine = sa.delete(leases).where(leases.c.run == self.run, leases.c.owner == self.owner)
        _HELD.discard(self)
        return bool(connection.execute(mine).rowcount)


def _deleted_error(run: str) -> StoreError:
    return StoreError(f"The run {run} was deleted meanwhile.", hint="Start a new one with `sgi run`.")


def _lease_of(connection: Connection, run: str) -> Row[tuple[object, ...]] | None:
    return connection.execute(sa.select(schema.leases).where(schema.leases.c.run == run)).first()


def _is_valid(held: Row[tuple[object, ...]], now: float) -> bool:
    if held.machine != _machine():
        return bool(held.expires_at > now)
    if held.process == _process(os.getpid()):
        return any(lease.owner == held.owner for lease in _HELD)
    process = _process(held.pid)
    return bool(held.expires_at > now) if process is None else process == held.process


def _owner(held: Row[tuple[object, ...]]) -> str:
    return f"process {held.pid} on {held.host}"


def _database_time(connection: Connection) -> float:
    return float(connection.exec_driver_sql(_CLOCKS[connection.dialect.name]).scalar_one())


def _machine() -> str:
    """Identify host, boot and namespace of process ids; equal for processes that can see each other."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _process(pid: int) -> str | None:
    """Identify a live process, also if its id is reused; empty if no process has the id, None if unknown."""
    if os.name != "posix":
        return f"{pid}" if pid == os.getpid() else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass  # it lives, and belongs to another user
    with suppress(OSError, IndexError):
        # The fields behind the name, which may hold anything: the state is the 3rd, the start the 22nd.
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return "" if fields[0] == "Z" else f"{pid} {fields[19]}"
    return f"{pid}"
