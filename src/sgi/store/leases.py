"""Leases: one process at a time writes a run, and a dead one does not keep it.

A lease is a row that names its owner. On the owner's machine it holds as long as the owner's process lives,
whatever the clock says. From another machine that cannot be seen: there it holds until it expires, by the
clock of the database, some minutes after the owner's last write.
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
"""How long after the owner's last write a lease of another machine holds."""
_HELD: WeakSet[Lease] = WeakSet()
"""The leases of this process; one whose recorder is gone is not held any more."""
_CLOCKS = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
}


@dataclass(eq=False)
class Lease:
    """The right of this process to write a run.

    Attributes:
        run: its id.
        owner: a random token, of this lease alone.
    """

    run: str
    owner: str = field(default_factory=lambda: secrets.token_hex(8))

    def take(self, connection: Connection, moment: str, *, take_over: bool = False) -> None:
        """Take the lease, inside a transaction that writes.

        Args:
            connection: of the transaction.
            moment: the time, as the tables hold it.
            take_over: take it also from a process that lives.

        Raises:
            RunBusyError: another process has it.
            StoreError: the run was deleted.
        """
        runs = schema.runs
        query = sa.select(runs.c.id).where(runs.c.id == self.run).with_for_update()  # one after the other
        if connection.execute(query).first() is None:
            raise deleted_error(self.run)
        held = _lease_of(connection, self.run)
        if held is not None and not take_over and _is_held(held, _database_time(connection)):
            raise _busy_error(held)
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
        """Hold it for longer; part of each transaction that writes the run.

        Raises:
            StoreError: another process took it over, or the run was deleted.
        """
        leases = schema.leases
        later = sa.update(leases).where(leases.c.run == self.run, leases.c.owner == self.owner)
        if connection.execute(later.values(expires_at=_database_time(connection) + LEASE_SECONDS)).rowcount:
            return
        if (
            connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.id == self.run)).first()
            is None
        ):
            raise deleted_error(self.run)
        held = _lease_of(connection, self.run)
        by = "another process" if held is None else _owner(held)
        raise RunBusyError(
            f"The run {self.run} was taken over by {by}.", hint="What this process committed is stored."
        )

    def release(self, connection: Connection) -> bool:
        """Give it back; False if this process does not hold it any more."""
        leases = schema.leases
        mine = sa.delete(leases).where(leases.c.run == self.run, leases.c.owner == self.owner)
        _HELD.discard(self)
        return bool(connection.execute(mine).rowcount)


def deleted_error(run: str) -> StoreError:
    """The error for a run that is no longer there."""
    return StoreError(f"The run {run} was deleted meanwhile.", hint="Start a new one with `sgi run`.")


def _lease_of(connection: Connection, run: str) -> Row[tuple[object, ...]] | None:
    return connection.execute(sa.select(schema.leases).where(schema.leases.c.run == run)).first()


def _is_held(held: Row[tuple[object, ...]], now: float) -> bool:
    """Whether the owner lives; where that cannot be seen, whether its lease has not expired."""
    if held.machine != _machine():
        return bool(held.expires_at > now)
    if held.process == _process(os.getpid()):
        return any(lease.owner == held.owner for lease in _HELD)
    process = _process(held.pid)
    return bool(held.expires_at > now) if process is None else process == held.process


def _busy_error(held: Row[tuple[object, ...]]) -> RunBusyError:
    message = f"The run {held.run} is being written by {_owner(held)} since {held.since}."
    hint = "Wait until it ends, or end it; --take-over takes the run from it."
    return RunBusyError(message, hint=hint)


def _owner(held: Row[tuple[object, ...]]) -> str:
    return f"process {held.pid} on {held.host}"


def _database_time(connection: Connection) -> float:
    """Seconds since 1970 by the clock of the database, which all its clients share."""
    return float(connection.exec_driver_sql(_CLOCKS[connection.dialect.name]).scalar_one())


def _machine() -> str:
    """Equal where processes can see each other: the host, its boot, and the namespace of process ids."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _process(pid: int) -> str | None:
    """What tells a live process from a later one with the same id; empty if none lives, None if unknown."""
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
