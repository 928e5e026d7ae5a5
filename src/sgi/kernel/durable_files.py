"""Files that outlive a power loss: their content and their folder's entry are on disk."""

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
"""What systems answer that cannot sync a folder, or do not let us open one."""


def sync_file(descriptor: int) -> None:
    """Return when all that was written to an open file is on the disk.

    Raises:
        OSError: the disk could not take it.
    """
    if sys.platform == "darwin":  # where fsync alone leaves the data in the cache of the drive
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Return when the entries of a folder are on the disk: new files, new names, removed ones.

    Does nothing where the system cannot sync a folder (Windows, some network file systems), or where the
    folder may not be read.

    Raises:
        OSError: the disk could not take them.
    """
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
    """Make a folder and the missing ones above it, with their entries on the disk.

    Args:
        folder: its path; one that is there is left as it is.
        mode: the permissions of the last one.

    Raises:
        OSError: it cannot be made.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for one in missing:
        sync_folder(one.parent)
