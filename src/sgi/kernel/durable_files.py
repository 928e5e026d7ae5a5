"""Writes files so that they survive a power loss: the content and the folder entry are on the disk."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
