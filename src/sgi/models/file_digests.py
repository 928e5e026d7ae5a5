"""Digests of files, computed again only if a file has changed."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from sgi.kernel.fork_safety import renew_in_child

if TYPE_CHECKING:
    from pathlib import Path

_MAX_FILES = 256

_State = tuple[int, int, int, int]


class FileDigests:
    """The sha256 of files; a file is hashed again if its size, its times or its inode have changed.

    ``hashed_bytes`` counts the bytes that were read.
    """

    def __init__(self) -> None:
        self.hashed_bytes = 0
        self._known: OrderedDict[Path, tuple[_State, str]] = OrderedDict()
        self._lock = Lock()
        renew_in_child(self)

    def sha256(self, path: Path) -> str:
        """Return the sha256 of a file as hexadecimal digits; raises OSError if it cannot be read."""
        with self._lock:  # two threads that need the same file hash it once
            state, digest = self._known.get(path, (None, ""))
            if state != _state(path):
                state, digest = self._hash(path)
            self._known[path] = state, digest
            self._known.move_to_end(path)
            if len(self._known) > _MAX_FILES:
                self._known.popitem(last=False)
            return digest

    def forget(self) -> None:
        """Forget all digests."""
        with self._lock:
            self._known.clear()

    def _hash(self, path: Path) -> tuple[_State, str]:
        before = _state(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.hashed_bytes += before[0]
        return before, digest

    def renew_after_fork(self) -> None:
        """Replace the lock: a thread that holds it does not exist in the child."""
        self._lock = Lock()


def _state(path: Path) -> _State:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


DIGESTS = FileDigests()
"""The digests of this process."""
