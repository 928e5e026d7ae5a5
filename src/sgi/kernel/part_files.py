"""Part files: temporary files that replace another file when they are complete."""

from __future__ import annotations

import os
import secrets
import sys
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, BinaryIO

from sgi.kernel.durable_files import sync_file, sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
            if path.stat().st_mtime < time.time() - _MIN_AGE and not _is_locked(path):
                path.unlink()


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed (Windows does this itself); raise BlockingIOError if it is locked."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            _lock(file.fileno())
        except BlockingIOError:
            return True
    return False
