"""Temporary files that take the place of another when they are whole."""

from __future__ import annotations

import os
import secrets
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
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
