"""Temporary files that take the place of another when they are whole."""

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
"""Seconds without a change. A writer may not have locked a younger file yet, or have closed it."""


def open_part(folder: Path, mode: int = 0o666) -> tuple[Path, BinaryIO]:
    """Make a temporary file in a folder, ``.sgi-….part``, that is locked as long as it is open.

    Removes the temporary files there whose process was killed.

    Args:
        folder: must exist.
        mode: permissions, as far as the user's umask allows.

    Returns:
        Its path, and the file open for writing.

    Raises:
        OSError: the file cannot be made.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, file = open_part(Path(folder))
    ...     file.close()
    ...     path.suffix
    '.part'
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
    """Write a file that replaces ``target`` when the block ends, and vanishes when it raises.

    The content is on the disk before the file is replaced, so a power loss leaves one of the two whole.

    Args:
        target: the file; its folder must exist.
        mode: permissions of a new file, as far as the user's umask allows.
        errors: makes a context for each operation on the file, to word its errors; the block is not in it.

    Raises:
        OSError: the file cannot be written.
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
            with suppress(OSError):  # what is thrown away need not be flushed
                file.close()
        with errors():
            part.replace(target)
            sync_folder(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files in a folder that no process writes any more."""
    for path in folder.glob(".sgi-*.part"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _MIN_AGE and not _is_locked(path):
                path.unlink()


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed. On Windows an open file cannot be removed, which does as well.

    Raises:
        BlockingIOError: a process has it locked.
    """
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
