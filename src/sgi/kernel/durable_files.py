"""Writes files so that they survive a power loss, and temporary files that replace another when complete."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_UNSUPPORTED = {
    errno.EACCES,
    errno.EPERM,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EBADF,
    errno.EISDIR,
}
"""The error codes of systems that cannot flush a folder or do not let a program open one."""


def sync_file(descriptor: int) -> None:
    """Flush an open file to the disk."""
    if sys.platform == "darwin":  # where fsync alone leaves the data in the cache of the drive
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, if the system can (Windows cannot)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents, and flush their entries; ``mode`` applies only to the folder."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for one in missing:
        sync_folder(one.parent)


_MIN_AGE = 60.0
"""Seconds after the last change; a writer of a younger file may not have locked it yet, or has closed it."""


def open_part(folder: Path, mode: int = 0o666) -> tuple[Path, BinaryIO]:
    """Create a temporary file ``.sgi-….part`` in an existing folder; it is locked while it is open.

    Removes temporary files of killed processes.
    """
    remove_abandoned(folder)
    path = folder / f".sgi-{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags, mode), "wb")
    with suppress(OSError):  # a file system without locks
        _lock(file.fileno())
    return path, file


def mark_in_use(descriptor: int) -> None:
    """Share a lock on an open file until it is closed, so that `remove_unused` keeps it."""
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)


def remove_unused(path: Path) -> None:
    """Delete a file. Raises OSError if a process has locked it (on Windows: has opened it)."""
    if sys.platform == "win32":
        path.unlink()
        return
    with path.open("rb") as file:
        _lock(file.fileno())
        path.unlink()


@contextmanager
def replacing_file(
    target: Path, mode: int = 0o666, *, errors: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[BinaryIO]:
    """Context manager for a temporary file that replaces ``target`` if the block ends without an error.

    The replacement is atomic.

    Args:
        target: the path to replace; its folder must exist.
        mode: the permissions of a new file.
        errors: makes a context manager that converts errors of file operations, but not those of the block.
    """
    with errors():
        part, file = open_part(target.parent, mode)
    try:
        try:
            yield file
            with errors():
                file.flush()
                sync_file(file.fileno())
        finally:
            with suppress(OSError):  # an incomplete file need not be flushed
                file.close()
        with errors():
            part.replace(target)
            sync_folder(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that have ended."""
    for path in folder.glob(".sgi-*.part"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _MIN_AGE:
                remove_unused(path)


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed (Windows does this itself); raise BlockingIOError if it is locked."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
